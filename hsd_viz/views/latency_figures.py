"""The law on a handful of figures, as they stand on sliders: shares, and costs in target forwards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hsd_viz.latency.acceptance import Edge
from hsd_viz.latency.affine import MOST
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost
from hsd_viz.latency.vectorised import Law


def one(acceptance: float, cost: float, slope: float) -> np.ndarray:
    """Target forwards of time per token with one draft model, ``[MOST]`` by lookahead; catching up counts as one token, as on the map."""
    law = _law(
        {"draft": LevelCost((cost,)), "target": LevelCost((1.0, 1.0 + slope))},
        {("draft", "target"): Edge(tail=acceptance)},
    )
    return law.plane(None, ("draft",), (1,), 0, MOST)


def stacked(a: float, c: float, b: float, cost: float, slope: float, g: int, h: int) -> float:
    """The same with two, at given lookaheads."""
    costs = {
        "second": LevelCost((c,)),
        "larger": LevelCost((cost, cost * (1 + slope))),
        "target": LevelCost((1.0, 1.0 + slope)),
    }
    law = _law(costs, {("second", "larger"): Edge(tail=a), ("larger", "target"): Edge(tail=b)})
    return law.predict(f"second:{g} > larger:{h} > target").ms_per_token


def _law(costs: dict[str, LevelCost], edges: dict[tuple[str, str], Edge]) -> Law:
    law = Law(Calibration(tuple(costs), costs, edges))
    law.reach = 1
    return law


def direct(a: float, b: float, closeness: float) -> float:
    """How the target takes the second draft's own tokens, as :func:`~hsd_viz.latency.whatif.second_draft` has it."""
    least, most = bounds(a, b)
    return least + closeness * (most - least)


def bounds(a: float, b: float) -> tuple[float, float]:
    return max(0.0, a + b - 1), 1 - abs(a - b)


def first(pays: Callable[[float], bool]) -> float | None:
    """The least acceptance that pays, to 1 %; acceptance can only help."""
    if not pays(0.995):
        return None
    low, high = 0.0, 0.995
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def beneath(calibration: Calibration, model: str) -> list[str]:
    """Draft models that were measured before ``model``, smallest first."""
    return [d for d in calibration.models if (d, model) in calibration.edges and model != calibration.target]


def ratio(calibration: Calibration, model: str) -> float:
    """What a token of a model costs, in target forwards of one token, overheads included."""
    cost, target = calibration.costs[model], calibration.costs[calibration.target]
    return float(cost.drafting(1)[1]) / float(target.verifying(1)[1] + target.overhead)


def slope_of(calibration: Calibration) -> float:
    """By how much verifying one more token adds to a target forward, over the first four."""
    cost = calibration.costs[calibration.target]
    curve = cost.verifying(5)
    return max(0.0, float(curve[5] - curve[1]) / 4 / float(curve[1] + cost.overhead))
