"""A learner's numbers beside the answers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hsd_viz.errors import UserError
from hsd_viz.exercises import PredictedCurve, reveal


def test_the_answer_is_not_shown_before_each_question_has_a_number():
    prediction = reveal({"a": 1.0, "b": None}, {"a": 1.25, "b": 3.5}, between=(1, 8))

    assert repr(prediction) == (
        "Your numbers first: replace each None by a number from 1 to 8, and run this cell again."
    )


@pytest.mark.parametrize(
    ("guess", "verdict"),
    [(0.5, "right"), (0.504, "right"), (0.62, "0.12 too high"), (0.1, "0.40 too low")],
)
def test_a_number_is_compared_at_the_places_that_are_shown(guess, verdict):
    prediction = reveal({"p": guess}, {"p": Fraction(1, 2)}, between=(0, 1), unit="of all")

    assert repr(prediction) == f"p: 0.50 of all. You said {guess:.2f} of all: {verdict}."


def test_whole_numbers_have_no_decimal_places():
    prediction = reveal({"tokens": 3}, {"tokens": 1}, between=(0, 4), step=1)

    assert repr(prediction) == "tokens: 1. You said 3: 2 too high."


def test_the_answers_may_be_points_of_a_curve():
    curve = PredictedCurve(
        measured={1: 1.0, 8: 3.5},
        places=(8,),
        naive={1: 1, 8: 8},
        names=("measured", "naive"),
        axes=("tokens", "cost"),
    )

    prediction = reveal({"cost": 4.0}, {"cost": 3.5}, between=(1, 8), curve=curve)

    assert prediction.curve is curve
    assert repr(prediction) == "cost: 3.50. You said 4.00: 0.50 too high."


def test_a_question_without_a_place_for_a_number_is_refused():
    with pytest.raises(UserError, match="give a number for each of: a, b"):
        reveal({"a": 1}, {"a": 1, "b": 2}, between=(0, 4))
