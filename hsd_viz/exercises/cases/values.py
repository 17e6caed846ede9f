"""Values of which inputs are made: fractions, rows, and all sequences of a kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from hsd_viz.exercises.check import ExerciseCase

#: What the function of an exercise yields: cases, or the arguments of a call.
Inputs: TypeAlias = Iterator[ExerciseCase | Sequence[Any]]


def parts(*numerators: int, of: int) -> list[Fraction]:
    """Return fractions of one denominator."""
    return [Fraction(n, of) for n in numerators]


def sequences(values: Sequence[Any], sizes: Iterable[int]) -> list[tuple[Any, ...]]:
    """Return all sequences of these values of these sizes, the shortest first."""
    listed: list[tuple[Any, ...]] = []
    for size in sizes:
        listed += product(values, repeat=size)
    return listed


def _laws() -> list[list[Fraction]]:
    """Return all distributions over three tokens in quarters."""
    laws = []
    for row in product(range(5), repeat=3):
        if sum(row) == 4:
            laws.append(parts(*row, of=4))
    return laws


def _ratios() -> list[tuple[list[Fraction]]]:
    """Return the ratios p / q of the tokens of drafts of up to three tokens."""
    values = [Fraction(1, 4), Fraction(2, 3), Fraction(1), Fraction(3)]
    return [(list(row),) for row in sequences(values, range(4))]


def _cost_curve(slope: float) -> dict[int, float]:
    """Return the cost of a pass by its number of tokens."""
    return {k: 2.0 + slope * k for k in range(1, 17)}


ONE = Fraction(1)
EIGHTHS = parts(*range(9), of=8)
ALPHAS = parts(*range(6), of=5)
LAWS = _laws()
#: Distributions with ties and zeros.
THREE = [
    parts(2, 1, 1, of=4),
    parts(1, 3, 0, of=4),
    parts(0, 2, 2, of=4),
    parts(1, 1, 2, of=4),
]
PAIRS = list(product(LAWS, repeat=2))
RATIOS = _ratios()
CURVES = [_cost_curve(0.0), _cost_curve(0.15), _cost_curve(2.0)]
