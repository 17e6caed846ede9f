"""What pages ask: each line to choose has words, and each field its arguments."""

from __future__ import annotations

import pytest

from hsd_viz.exercises import EXERCISES
from hsd_viz.exercises.completion import completion_of
from hsd_viz.exercises.questions import QUESTIONS
from hsd_viz.views.lesson_exercises import fields_of

OF_LESSONS = [number for number in EXERCISES if number[0].isdigit()]
each_question = pytest.mark.parametrize("number", QUESTIONS)


def test_each_exercise_of_a_lesson_has_a_question():
    assert list(QUESTIONS) == OF_LESSONS
    for question in QUESTIONS.values():
        assert "?" in question.asked


@each_question
def test_the_words_are_those_of_the_lines_to_choose_and_differ(number):
    completion = completion_of(number)
    assert completion is not None

    lines = {choice.line for choice in completion.choices}
    assert lines == set(QUESTIONS[number].lines)
    words = [choice.words for choice in completion.choices]
    assert len(set(words)) == len(words)
    assert all(words)


@pytest.mark.parametrize("number", [n for n, question in QUESTIONS.items() if question.reasons])
def test_each_line_to_choose_has_a_reason_of_its_own(number):
    question = QUESTIONS[number]

    assert set(question.reasons) == set(question.lines)
    assert len(set(question.reasons.values())) == len(question.reasons)


@pytest.mark.parametrize("number", [n for n, question in QUESTIONS.items() if question.values])
def test_fields_name_their_values_and_have_different_results(number):
    fields = fields_of(EXERCISES[number])

    assert len(fields) == 2
    (first, one), (second, other) = fields
    assert one != other
    assert first != second
    assert "{" not in first


def test_an_exercise_without_a_question_asks_for_the_calls_of_its_function():
    (asked, expected), *_ = fields_of(EXERCISES["P2"])

    assert asked.startswith("emitted(drafted=")
    assert asked.endswith(") =")
    assert isinstance(expected, int)
