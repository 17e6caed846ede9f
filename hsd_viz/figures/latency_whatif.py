"""The latency law of one draft model on slider values, in target forward passes: verifying m tokens costs
1 + ``slope`` (m - 1) of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hsd_viz.calibration.basis import USUAL, basis_of, rate
from hsd_viz.figures.planes import axis, mark, plane
from hsd_viz.figures.style import go
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import MOST, Law

#: Added cost per verified token, in target forward passes.
SLOPE = 0.02
CUSTOM = "Latency law on the slider values; nothing was measured."


def what_if_one_draft(
    acceptance: float | None = None,
    cost: float | None = None,
    dark: bool = False,
    *,
    lookahead: int = 4,
    slope: float = SLOPE,
    basis: Any = None,
    draft: str | None = None,
) -> go.Figure:
    """Plot speed over plain decoding by lookahead, for a draft model's acceptance and cost (in target forward passes).
    With ``basis`` and ``draft`` these come from a calibrated draft model.
    """
    if basis is not None and draft is not None:
        found = basis_of(basis)
        values = one_draft_values(found.calibration, draft)
        return plane(one_draft_spec(**values, lookahead=lookahead, source=found.predicted), dark)
    if acceptance is None or cost is None:
        raise ValueError("what_if_one_draft() needs acceptance and cost, or basis and draft")
    _check_share(acceptance, "acceptance")
    return plane(one_draft_spec(acceptance, cost, lookahead=lookahead, slope=slope), dark)


def _check_share(value: float, name: str) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name}={value} is out of range: use a number from 0 to below 1")


def one_draft_values(calibration: Calibration, name: str) -> dict[str, float]:
    """Return a calibrated draft model's acceptance, cost and slope as arguments of :func:`one_draft_spec`. The slope is
    that of verifying one more token over the first four.
    """
    cost = calibration.costs[calibration.target]
    one = cost.verifying(1)
    slope = max(0.0, (cost.verifying(5) - one) / 4 / (one + cost.overhead))
    accepted = rate(calibration.edge(name, calibration.target))
    return {"acceptance": accepted, "cost": _cost(calibration, name), "slope": slope}


def _cost(calibration: Calibration, model: str) -> float:
    """Return a model's cost per token of a draft in one-token target forward passes, launch and overheads included."""
    cost, target = calibration.costs[model], calibration.costs[calibration.target]
    return cost.alone(USUAL) / USUAL / (target.verifying(1) + target.overhead)


def one_draft(acceptance: float, cost: float, *, slope: float = SLOPE) -> np.ndarray:
    """Return time per token by lookahead, ``[MOST]``, for a draft model that costs ``cost`` per token."""
    costs = {"draft": LevelCost((cost,)), "target": LevelCost((1.0, 1.0 + slope))}
    law = Law(Calibration(("draft", "target"), costs, {("draft", "target"): Edge(tail=acceptance)}))
    return np.array([law.ms((None, ("draft",)), (g,)) for g in range(1, MOST + 1)])


def one_draft_spec(
    acceptance: float,
    cost: float,
    *,
    lookahead: int = 4,
    slope: float = SLOPE,
    step_ms: float | None = None,
    source: str = CUSTOM,
) -> dict[str, Any]:
    """Return the speed over plain decoding by lookahead, for a draft model's acceptance and cost; ``step_ms`` is the
    time of a forward pass of the target, if known.
    """
    speed = 1 / one_draft(acceptance, cost, slope=slope)
    best, own = int(speed.argmax()), float(speed[lookahead - 1])
    steps = list(range(1, MOST + 1))
    top = max(1.2, float(speed.max()) * 1.12)
    step = 0.25 if top <= 2 else 0.5 if top <= 4 else 1.0
    ticks = [round(step * k, 2) for k in range(int(np.ceil(top / step)) + 1)]
    points = [[s, float(v)] for s, v in zip(steps, speed.round(4), strict=True)]
    words = _one_words(speed, acceptance, cost, lookahead, slope)
    if step_ms is not None:
        words += f" In time: {step_ms / own:.2f} ms per token, plain decoding {step_ms:.2f} ms."
    phrase = "Lookahead {x}: {v} times the speed of plain decoding"
    return {
        "title": "Speed over plain decoding by lookahead",
        "x": axis("lookahead of the draft model, tokens", 0.5, MOST + 0.5, steps),
        "y": axis("speed, plain decoding = 1", 0, ticks[-1], ticks, "{:g}".format),
        "lines": [
            {"points": points, "kind": "law", "phrase": phrase},
            {"points": [[0.5, 1.0], [MOST + 0.5, 1.0]], "kind": "reference", "label": "plain decoding"},
        ],
        "marks": [mark(best + 1, float(speed[best]), "best"), mark(lookahead, own, "here", f"{own:.2f}")],
        "legend": [["best", "best lookahead"], ["here", "your setting"]],
        "picks": True,
        "verdict": {"figure": f"{own:.2f} ×", "text": words},
        "source": source,
    }


def first(pays: Callable[[float], bool]) -> float | None:
    """Return the lowest acceptance that pays off, to 1 %."""
    if not pays(0.995):
        return None
    low, high = 0.0, 0.995
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def _one_words(speed: np.ndarray, a: float, c: float, g: int, slope: float) -> str:
    best = int(speed.argmax()) + 1
    times = lambda place: f"{speed[place - 1]:.2f} times the speed of plain decoding"
    said = [f"Lookahead {g}: {Edge(tail=a).tokens(g):.2f} tokens per target forward pass, {times(g)}."]
    if speed[best - 1] <= 1:
        said.append("No lookahead pays off: remove the draft model.")
    elif best != g:
        said.append(f"Best lookahead: {best}, {times(best)}.")
    else:
        said.append("This is the best lookahead.")
    least = first(lambda rate: (1 / one_draft(rate, c, slope=slope)).max() > 1)
    said.append(
        f"At this cost a draft pays off from an acceptance of {least:.0%}."
        if least is not None
        else "At this cost no acceptance pays off."
    )
    return " ".join(said)
