"""Predictions and quizzes, from code and through their widgets."""

from __future__ import annotations

import json

import ipywidgets as w
import pytest

from hsd_viz.exercises import predict_first, quiz
from hsd_viz.exercises.forms import FOLDER

WIDGET = "application/vnd.jupyter.widget-view+json"


def widgets(root: w.Widget, kind: type) -> list:
    found = [root] if isinstance(root, kind) else []
    for child in getattr(root, "children", ()):
        found += widgets(child, kind)
    return found


def form_of(shown) -> w.Widget:
    data, _ = shown._repr_mimebundle_()
    assert WIDGET in data and "text/plain" in data
    return shown._form


def test_the_result_is_computed_once_the_guess_is_locked():
    calls = []
    guess = predict_first("How many?", reveal=lambda: calls.append(1) or "seven")
    assert calls == [] and "seven" not in repr(guess)
    guess.lock("3.5")
    assert guess.guess == 3.5 and calls == [1] and "seven" in repr(guess)
    with pytest.raises(ValueError, match=r"3\.5 is locked"):
        guess.lock(4)


def test_a_guess_can_be_given_at_once():
    assert predict_first("How many?", reveal=lambda: 7, guess=7).revealed == 7


@pytest.mark.parametrize(
    ("written", "number"), [("2 times", 2), ("1.5×", 1.5), ("1/2", 0.5), ("50%", 0.5), (" 75 % ", 0.75), (0, 0)]
)
def test_numbers_are_read_as_people_write_them(written, number):
    assert predict_first("?", reveal=lambda: 7, guess=written).guess == number


def test_percent_and_fractions_answer_a_quiz_and_the_text_form_says_how_to_lock():
    assert quiz("3").answer(1, "3/4").correct and quiz("3").answer(1, "75 %").correct
    assert "Append .lock(…) to the cell, with a number" in repr(predict_first("?", reveal=int))
    assert "with one of 'rises', 'falls'" in repr(predict_first("?", reveal=int, options=["rises", "falls"]))


@pytest.mark.parametrize(
    ("options", "bad"),
    [*(((), bad) for bad in ("many", "nan", "inf", "1/0", "1/2/3", "", None)), (("rises", "falls"), "rise")],
)
def test_a_bad_guess_is_refused_and_nothing_revealed(options, bad):
    guess = predict_first("?", reveal=lambda: 1, options=options)
    with pytest.raises(ValueError, match="is not a"):
        guess.lock(bad)
    assert guess.guess is None and guess.revealed is None


def test_the_form_locks_the_guess_and_shows_the_result_beside_it():
    guess = predict_first("How many?", reveal=lambda: "seven")
    form = form_of(guess)
    [entry], [button], [output] = widgets(form, w.Text), widgets(form, w.Button), widgets(form, w.Output)
    entry.value = "many"
    button.click()
    assert guess.guess is None and any("not a number" in label.value for label in widgets(form, w.HTML))
    entry.value = "3"
    button.click()
    assert guess.guess == 3 and entry.disabled and button.disabled
    assert "seven" in output.outputs[0]["text"]
    assert any("Your guess: 3.0" in label.value for label in widgets(form, w.HTML))


def test_a_form_with_options_has_no_choice_at_first():
    guess = predict_first("?", reveal=lambda: 1, options=["rises", "falls"])
    form = form_of(guess)
    [entry], [button] = widgets(form, w.RadioButtons), widgets(form, w.Button)
    button.click()
    assert guess.guess is None
    entry.value = "falls"
    button.click()
    assert guess.guess == "falls"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_every_quiz_has_one_right_answer_and_feedback(name):
    for n, question in enumerate(quiz(name).questions, 1):
        asked = quiz(name)
        right = [a for a in question["answers"] if a.get("correct")]
        assert len(right) == 1 and all(a["feedback"] for a in question["answers"])
        feedback = asked.answer(n, right[0].get("answer", right[0].get("value")))
        assert feedback.correct and asked.correct == 1
        wrong = (
            123456
            if question["type"] == "numeric"
            else next(a["answer"] for a in question["answers"] if not a["correct"])
        )
        assert not asked.answer(n, wrong).correct and asked.correct == 0
        assert asked.answers[n][0] == wrong


def test_the_right_answer_is_not_always_in_the_same_place():
    places = {
        [a["correct"] for a in q["answers"]].index(True)
        for path in FOLDER.glob("*.json")
        for q in json.loads(path.read_text(encoding="utf-8"))
        if q["type"] == "multiple_choice"
    }
    assert places == {0, 1, 2}


def test_outside_a_notebook_the_questions_are_printed(capsys):
    """In a notebook jupyterquiz draws them: tests/notebooks and tests/browser/test_lab.py."""
    quiz("7")._ipython_display_()
    assert capsys.readouterr().out.startswith("0 of 3 correct\n1. ")


def test_bad_quizzes_and_answers_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown quiz '9': use one of 1, 2"):
        quiz("9")
    (tmp_path / "broken.json").write_text("[")
    with pytest.raises(ValueError, match="not a quiz"):
        quiz(tmp_path / "broken.json")
    with pytest.raises(ValueError, match="use multiple_choice or numeric"):
        quiz([{"question": "?", "type": "essay", "answers": []}])
    with pytest.raises(ValueError, match="is not an option"):
        quiz("2").answer(2, "none")
    with pytest.raises(ValueError, match="questions 1 to 3"):
        quiz("2").answer(4, 1)
    with pytest.raises(ValueError, match="questions 1 to 3, not 'a'"):
        quiz("2").answer("a", 1)


def test_ranges_of_numbers_are_read():
    asked = quiz(
        [
            {
                "question": "?",
                "type": "numeric",
                "answers": [{"type": "range", "range": [1, 2], "correct": True, "feedback": "yes"}],
            }
        ]
    )
    assert asked.answer(1, 1.5).correct and not asked.answer(1, 2).correct
