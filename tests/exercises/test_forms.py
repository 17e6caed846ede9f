"""Predictions and quizzes, from code and through their widgets."""

from __future__ import annotations

import ipywidgets as w
import pytest

from hsd_viz.exercises import predict_first, quiz
from hsd_viz.exercises.forms import FOLDER


def form_of(shown) -> tuple[w.Widget, w.Button, w.HTML]:
    data, _ = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data and "text/plain" in data
    _, entry, button, answer = shown._form.children
    return entry, button, answer


def test_the_result_is_computed_once_the_guess_is_locked():
    calls = []
    guess = predict_first("How many?", reveal=lambda: calls.append(1) or "seven")
    assert calls == [] and "seven" not in repr(guess)
    guess.lock("3.5")
    assert guess.guess == 3.5 and calls == [1] and "seven" in repr(guess)
    with pytest.raises(ValueError, match=r"3\.5 is locked"):
        guess.lock(4)


@pytest.mark.parametrize(
    ("written", "number"), [("2 times", 2), ("1.5×", 1.5), ("1/2", 0.5), ("50%", 0.5), (" 75 % ", 0.75), (0, 0)]
)
def test_numbers_are_read_as_people_write_them(written, number):
    assert predict_first("?", reveal=lambda: 7, guess=written).guess == number


@pytest.mark.parametrize(
    ("options", "bad"),
    [*(((), bad) for bad in ("many", "nan", "inf", "1/0", "1/2/3", "", None)), (("rises", "falls"), "rise")],
)
def test_a_bad_guess_is_refused_and_nothing_revealed(options, bad):
    guess = predict_first("?", reveal=lambda: 1, options=options)
    assert f"Append .lock(…) to the cell, with {'one of ' if options else 'a number'}" in repr(guess)
    with pytest.raises(ValueError, match="is not a"):
        guess.lock(bad)
    assert guess.guess is None and guess.revealed is None


@pytest.mark.parametrize(
    ("options", "bad", "good"), [((), "many", "3"), (("rises", "falls"), None, "falls")], ids=["number", "option"]
)
def test_the_form_locks_the_guess_and_shows_the_result_beside_it(options, bad, good):
    guess = predict_first("How many?", reveal=lambda: "<seven>", options=options)
    entry, button, answer = form_of(guess)
    entry.value = bad
    button.click()
    assert guess.guess is None and "is not a" in answer.value
    entry.value = good
    button.click()
    assert str(guess.guess).startswith(good) and entry.disabled and button.disabled
    assert answer.value.startswith(f"Your guess: {guess.guess}. The result:") and "&lt;seven&gt;" in answer.value


def test_every_quiz_has_one_right_answer_and_feedback_and_not_always_in_the_same_place():
    """In a notebook jupyterquiz draws and answers them: tests/notebooks."""
    places = set()
    for path in FOLDER.glob("*.json"):
        for question in quiz(path.stem).questions:
            answers = question["answers"]
            assert [bool(a.get("correct")) for a in answers].count(True) == 1 and all(a["feedback"] for a in answers)
            assert question["type"] in ("multiple_choice", "numeric")
            if question["type"] == "multiple_choice":
                places.add([a["correct"] for a in answers].index(True))
    assert places == {0, 1, 2}


def test_outside_a_notebook_the_questions_are_printed(capsys):
    quiz("7")._ipython_display_()
    printed = capsys.readouterr().out
    assert printed.startswith("1. ") and "\n   1) " in printed


def test_missing_and_broken_quizzes_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown quiz '9': use one of 1, 2"):
        quiz("9")
    (tmp_path / "broken.json").write_text("[")
    with pytest.raises(ValueError, match="not a quiz"):
        quiz(tmp_path / "broken.json")
