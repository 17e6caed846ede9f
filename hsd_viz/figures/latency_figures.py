"""The latency law on slider values: acceptance rates, and costs in target forward passes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hsd_viz.latency.affine import MOST
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.vectorised import Law


def one(acceptance: float, cost: float, slope: float) -> np.ndarray:
    """Return time per token with one draft model, in target forward passes, ``[MOST]`` by lookahead.

    Catching up counts as one token, as in the map.
    """
    law = _law(
        {"draft": LevelCost((cost,)), "target": LevelCost((1.0, 1.0 + slope))},
        {("draft", "target"): Edge(tail=acceptance)},
    )
    return law.plane(None, ("draft",), (1,), 0, MOST)


def stacked(a: float, c: float, b: float, cost: float, slope: float, g: int, h: int) -> float:
    """Return time per token with two draft models at given lookaheads, in target forward passes."""
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
    """Return the target's acceptance of second-draft tokens (see :func:`~hsd_viz.latency.whatif.second_draft`)."""
    least, most = bounds(a, b)
    return least + closeness * (most - least)


def bounds(a: float, b: float) -> tuple[float, float]:
    return max(0.0, a + b - 1), 1 - abs(a - b)


def first(pays: Callable[[float], bool]) -> float | None:
    """Return the lowest acceptance that pays off, to 1 %."""
    if not pays(0.995):
        return None
    low, high = 0.0, 0.995
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def beneath(calibration: Calibration, model: str) -> list[str]:
    """Return draft models measured below ``model``, smallest first."""
    return [d for d in calibration.models if (d, model) in calibration.edges and model != calibration.target]


def ratio(calibration: Calibration, model: str) -> float:
    """Return a model's cost per token in one-token target forward passes, overheads included."""
    cost, target = calibration.costs[model], calibration.costs[calibration.target]
    return float(cost.drafting(1)[1]) / float(target.verifying(1)[1] + target.overhead)


def slope_of(calibration: Calibration) -> float:
    """Return the added cost of verifying one more token, in target forward passes, over the first four."""
    cost = calibration.costs[calibration.target]
    curve = cost.verifying(5)
    return max(0.0, float(curve[5] - curve[1]) / 4 / float(curve[1] + cost.overhead))
