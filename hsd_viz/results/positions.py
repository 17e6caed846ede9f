"""Counts and rates by the position of a token in its draft."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

#: A number of rounds, or a share of them.
Weight = TypeVar("Weight", int, float)


def reaching(
    weight_by_depth: Collection[tuple[int, Weight]], places: Iterable[int]
) -> list[Weight]:
    """Return the weight of the depths of at least k, for each k of ``places``.

    Args:
        weight_by_depth: pairs of a depth and its weight; a depth may occur several times.
        places: the values of k.
    """
    totals = []
    for place in places:
        total: Weight = 0
        for depth, weight in weight_by_depth:
            if depth >= place:
                total += weight
        totals.append(total)
    return totals


def at_least(histogram: Sequence[float]) -> list[float]:
    """Return the sums of a histogram from k on, k = 1, 2, ...; its first count is that of 0."""
    return reaching([*enumerate(histogram)], range(1, len(histogram)))


def rates_at(counts: Iterable[tuple[float, float]]) -> list[float]:
    """Return the acceptance at each position from the numbers of drafts that accepted its token and
    that reached it; 0 if none reached it.
    """
    return [accepted / reached if reached else 0.0 for accepted, reached in counts]
