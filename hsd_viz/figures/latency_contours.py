"""Contours of a grid: marching squares (Lorensen & Cline 1987, in the plane), joined into polylines."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

Point = tuple[float, float]
#: Edges crossed in a square by corners above the level: (0, 0) is bit 1, (0, 1) bit 2, (1, 1) bit 4, (1, 0) bit 8.
_CROSSED = {
    1: "WS",
    2: "SE",
    3: "WE",
    4: "EN",
    6: "SN",
    7: "WN",
    8: "NW",
    9: "NS",
    11: "NE",
    12: "EW",
    13: "ES",
    14: "SW",
}


def contours(xs: ArrayLike, ys: ArrayLike, values: ArrayLike, level: float) -> list[list[Point]]:
    """Return the lines where ``values`` ``[len(ys), len(xs)]`` equal ``level``, longest first; closed lines repeat
    their start.
    """
    xs, ys, values = np.asarray(xs, float), np.asarray(ys, float), np.asarray(values, float)
    above = values >= level
    neighbours: dict[tuple, list[tuple]] = {}
    for r, c in np.ndindex(len(ys) - 1, len(xs) - 1):
        corners = above[r, c] + 2 * above[r, c + 1] + 4 * above[r + 1, c + 1] + 8 * above[r + 1, c]
        for sides in _sides(int(corners), values[r : r + 2, c : c + 2].mean() >= level):
            one, other = (_edge(side, r, c) for side in sides)
            neighbours.setdefault(one, []).append(other)
            neighbours.setdefault(other, []).append(one)
    lines = [[_cross(edge, xs, ys, values, level) for edge in chain] for chain in _chains(neighbours)]
    return sorted(lines, key=len, reverse=True)


def _sides(corners: int, middle: bool) -> list[str]:
    """Return a square's segments; saddles are resolved by the mean of their corners."""
    if corners == 5:
        return ["WN", "SE"] if middle else ["WS", "EN"]
    if corners == 10:
        return ["WS", "EN"] if middle else ["WN", "SE"]
    return [_CROSSED[corners]] if corners in _CROSSED else []


def _edge(side: str, r: int, c: int) -> tuple[int, int, bool]:
    """A grid edge: its first corner, and whether it is along a row. Shared by the two adjacent squares."""
    return {"S": (r, c, True), "N": (r + 1, c, True), "W": (r, c, False), "E": (r, c + 1, False)}[side]


def _cross(edge: tuple[int, int, bool], xs, ys, values, level: float) -> Point:
    r, c, along = edge
    r2, c2 = (r, c + 1) if along else (r + 1, c)
    first, second = values[r, c], values[r2, c2]
    share = (level - first) / (second - first)
    return float(xs[c] + share * (xs[c2] - xs[c])), float(ys[r] + share * (ys[r2] - ys[r]))


def _chains(neighbours: dict[tuple, list[tuple]]) -> list[list[tuple]]:
    left = {edge: list(others) for edge, others in neighbours.items()}
    chains = []
    # Open lines first, from their ends; the rest are closed.
    for start in [*(e for e, others in neighbours.items() if len(others) == 1), *neighbours]:
        chain = [start]
        while left[chain[-1]]:
            following = left[chain[-1]].pop()
            left[following].remove(chain[-1])
            chain.append(following)
        if len(chain) > 1:
            chains.append(chain)
    return chains
