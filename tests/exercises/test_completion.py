"""Solutions with one line left out: one choice is right, the others are known mistakes."""

from __future__ import annotations

import pytest

from hsd_viz.exercises import EXERCISES, check
from hsd_viz.exercises.completion import Choice, Completion, completion_of
from hsd_viz.exercises.editions import Program, solutions

each_exercise = pytest.mark.parametrize("number", EXERCISES)


def completed(number: str, completion: Completion, choice: Choice):
    """Return the function of an exercise with a choice as its missing line."""
    lines = [*completion.before, completion.indent + choice.line, *completion.after]
    program: Program = solutions()[number]
    names = dict(program.names)
    exec("\n".join([program.before, *lines]), names)
    return names[program.name]


@each_exercise
def test_exactly_the_right_line_completes_the_solution(number):
    completion = completion_of(number)
    assert completion is not None

    passed = []
    for choice in completion.choices:
        if check(number, completed(number, completion, choice)):
            passed.append(choice)

    assert [choice.mistake for choice in passed] == [""]


@each_exercise
def test_choices_differ_and_are_in_the_same_order_each_time(number):
    completion = completion_of(number)
    assert completion is not None

    lines = [choice.line for choice in completion.choices]

    assert len(set(lines)) == len(lines) >= 2
    assert completion_of(number) == completion


def test_an_exercise_of_a_lesson_has_at_least_three_choices():
    for number in EXERCISES:
        if number[0].isdigit():
            completion = completion_of(number)
            assert completion is not None
            assert len(completion.choices) >= 3


def test_the_right_line_is_not_always_in_the_same_place():
    places = set()
    for number in EXERCISES:
        completion = completion_of(number)
        assert completion is not None
        places.add([choice.mistake for choice in completion.choices].index(""))
    assert places == {0, 1, 2, 3}
