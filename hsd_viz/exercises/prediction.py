"""Predictions: numbers that a learner states before a cell shows what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hsd_viz.errors import UserError


@dataclass(frozen=True)
class PredictedCurve:
    """The measured curve that the answers are points of. A page draws a handle for each of them,
    and the curve with the answers.

    Attributes:
        measured: its values by place; the first one is known.
        places: the place of each answer, in the order of the questions.
        naive: the line on which the handles are at first, as values by place.
        names: of the curve and of the naive line.
        axes: the labels of the places and of the values.
    """

    measured: Mapping[float, float]
    places: Sequence[float]
    naive: Mapping[float, float]
    names: tuple[str, str]
    axes: tuple[str, str]


@dataclass(frozen=True)
class Prediction:
    """Questions with a number as their answer, and what a learner expects.

    Attributes:
        answers: the answer by question.
        guesses: the learner's number by question; ``None`` until there is one.
        between: the least and the largest number that can be expected.
        step: the distance of two such numbers.
        unit: what the numbers count; empty for a pure number.
        curve: the curve that the answers are points of, if they are.
    """

    answers: Mapping[str, float]
    guesses: Mapping[str, float | None]
    between: tuple[float, float]
    step: float
    unit: str = ""
    curve: PredictedCurve | None = None

    @property
    def digits(self) -> int:
        """The decimal places of a number."""
        return len(f"{self.step:g}".partition(".")[2])

    def words(self, value: float) -> str:
        """Return a number with its unit."""
        return f"{value:.{self.digits}f} {self.unit}".rstrip()

    def verdict(self, question: str) -> str:
        """Return how far the learner's number is from the answer; it must have been given."""
        difference = round(float(self.guesses[question] or 0), self.digits)
        difference -= round(self.answers[question], self.digits)
        if abs(difference) < self.step / 2:
            return "right"
        return f"{abs(difference):.{self.digits}f} too {'high' if difference > 0 else 'low'}"

    def __repr__(self) -> str:
        if None in self.guesses.values():
            low, high = (f"{end:g}" for end in self.between)
            return (
                f"Your numbers first: replace each None by a number from {low} to {high}, "
                "and run this cell again."
            )
        lines = []
        for question, answer in self.answers.items():
            guess = self.words(self.guesses[question] or 0)
            lines.append(
                f"{question}: {self.words(answer)}. You said {guess}: {self.verdict(question)}."
            )
        return "\n".join(lines)


def reveal(
    guesses: Mapping[str, float | None],
    answers: Mapping[str, float],
    *,
    between: tuple[float, float],
    step: float = 0.01,
    unit: str = "",
    curve: PredictedCurve | None = None,
) -> Prediction:
    """Return a prediction: its text is the answers beside the learner's numbers, once each question
    has one.

    Raises:
        UserError: if the questions of ``guesses`` and ``answers`` differ.
    """
    if list(guesses) != list(answers):
        raise UserError(f"give a number for each of: {', '.join(answers)}")
    numbers = {question: float(answer) for question, answer in answers.items()}
    return Prediction(numbers, dict(guesses), between, step, unit, curve)
