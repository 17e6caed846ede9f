"""What-if figures of the latency law on slider values: one draft model, and a second one below it.

Costs are in target forward passes; verifying m tokens costs 1 + ``slope`` (m - 1) of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hsd_viz.figures.latency_sources import USUAL, basis_of, rate
from hsd_viz.figures.planes import axis, heat, mark, plane
from hsd_viz.figures.style import go
from hsd_viz.latency.affine import MOST
from hsd_viz.latency.inputs import Calibration, Edge
from hsd_viz.latency.whatif import SecondDraft, bounds, one_draft, second_draft

#: Cells per side of the map.
GRID = 25
LEAST_ACCEPTANCE = 0.3
TENTHS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
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


def what_if_second_draft(basis: Any = None, draft: str | None = None, dark: bool = False, **values: float) -> go.Figure:
    """Plot the gain in tokens/s of a second draft model below a larger one, over its cost and acceptance.

    ``basis`` and ``draft`` (the larger model) give calibrated values; ``values`` replace them: ``acceptance``, ``cost``
    and ``lookahead`` of the larger, ``second_acceptance``, ``second_cost`` and ``second_lookahead``, ``slope``,
    ``closeness``.
    """
    start: dict[str, Any] = {"acceptance": 0.85, "cost": 0.3, "second_acceptance": 0.6, "second_cost": 0.03}
    if unknown := set(values) - {*start, "lookahead", "second_lookahead", "slope", "closeness"}:
        raise TypeError(f"what_if_second_draft() has no option {', '.join(sorted(unknown))}")
    if basis is not None and draft is not None:
        found = basis_of(basis)
        start = second_draft_values(found.calibration, draft) | {"models": models_below(found.calibration, draft)}
        start["source"] = found.predicted
    for name in ("acceptance", "second_acceptance", "closeness"):
        _check_share(values.get(name, 0.5), name)
    return heat(second_draft_spec(**(start | values)), dark)


def _check_share(value: float, name: str) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name}={value} is out of range: use a number from 0 to below 1")


def one_draft_values(calibration: Calibration, name: str) -> dict[str, float]:
    """Return a calibrated draft model's acceptance, cost and slope as arguments of :func:`one_draft_spec`. The slope is
    that of verifying one more token over the first four.
    """
    cost = calibration.costs[calibration.target]
    curve = cost.verifying(5)
    slope = max(0.0, float(curve[5] - curve[1]) / 4 / float(curve[1] + cost.overhead))
    accepted = rate(calibration.edge(name, calibration.target))
    return {"acceptance": accepted, "cost": _cost(calibration, name), "slope": slope}


def second_draft_values(calibration: Calibration, name: str) -> dict[str, float]:
    """Return the arguments of :func:`second_draft_spec` for the draft model ``name`` and the largest one below it.
    ``closeness`` is absent where the smaller model was not measured below the target.
    """
    below, (cost, a) = list(models_below(calibration, name).items())[-1]
    found = one_draft_values(calibration, name) | {"second_acceptance": a, "second_cost": cost}
    least, most = bounds(a, found["acceptance"])
    if (below, calibration.target) in calibration.edges and most > least:
        direct = rate(calibration.edge(below, calibration.target))
        found["closeness"] = float(np.clip((direct - least) / (most - least), 0, 1))
    return found


def models_below(calibration: Calibration, name: str) -> dict[str, tuple[float, float]]:
    """Return (cost, acceptance by ``name``) of each draft model measured below ``name``, smallest first."""
    below = [d for d in calibration.models if (d, name) in calibration.edges and name != calibration.target]
    return {m: (_cost(calibration, m), rate(calibration.edge(m, name))) for m in below}


def _cost(calibration: Calibration, model: str) -> float:
    """Return a model's cost per token of a draft in one-token target forward passes, launch and overheads included."""
    cost, target = calibration.costs[model], calibration.costs[calibration.target]
    return cost.alone(USUAL) / USUAL / float(target.verifying(1)[1] + target.overhead)


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


def second_draft_spec(
    second_acceptance: float,
    second_cost: float,
    *,
    acceptance: float,
    cost: float,
    lookahead: int = 6,
    second_lookahead: int = 3,
    slope: float = SLOPE,
    closeness: float = 0.25,
    models: Mapping[str, tuple[float, float]] | None = None,
    source: str = CUSTOM,
) -> dict[str, Any]:
    """Return the gain of a second draft model below a larger one, over its cost and its acceptance by the larger.
    ``models`` are marked on the map: (cost, acceptance) by name. Other arguments as in
    :func:`hsd_viz.latency.whatif.second_draft`.
    """
    a, c = second_acceptance, second_cost
    fixed = {"cost": cost, "acceptance": acceptance, "slope": slope, "closeness": closeness}
    widest = max(cost, 0.05)
    acceptances, costs = np.linspace(LEAST_ACCEPTANCE, 0.99, GRID), np.linspace(0, widest, GRID)
    values = second_draft(acceptances, costs, **fixed).gain
    here = second_draft(np.array([a]), np.array([c]), **fixed)
    gain = _percent(float(here.gain[0, 0]))
    marks = [mark(c, a, "here", gain, f"your setting: {gain}")] if c <= widest else []
    for name, (at_cost, at_rate) in (models or {}).items():
        if at_cost <= widest and at_rate >= LEAST_ACCEPTANCE:
            marks.append(mark(at_cost, at_rate, "model", name, f"{name}, as calibrated"))
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if widest / s <= 6)
    ticks = [round(t, 3) for t in np.arange(0, widest + 1e-9, step)]
    x = axis("cost of the second draft, in target forward passes", 0, widest, ticks, "{:g}".format)
    y = axis("acceptance by the larger draft", LEAST_ACCEPTANCE, 0.99, TENTHS, "{:.0%}".format)
    return {
        "title": "Gain of a second draft by cost and acceptance",
        "x": x | {"values": [f"{v:.3f}" for v in costs]},
        "y": y | {"values": [f"{v:.0%}" for v in acceptances]},
        "cells": {
            "x": costs.round(5).tolist(),
            "y": acceptances.round(5).tolist(),
            "values": values.round(4).tolist(),
            "scale": "gain",
            "end": max(0.1, float(np.abs(values).max())),
            "phrase": "Cost {x}, acceptance {y}: {v} tokens/s with the second draft",
        },
        "contours": {"step": 0.05 if values.max() < 0.3 else 0.1 if values.max() < 0.8 else 0.5, "form": "+.0%"},
        "even": "breaks even",
        "regions": _regions(costs, acceptances, values, marks),
        "marks": marks,
        "picks": True,
        "verdict": {"figure": gain, "text": _two_words(here, c, fixed, (second_lookahead, lookahead))},
        "text": (
            "Gain in tokens/s over the best setting without a second draft, at the best lookaheads. "
            f"Assumed direct acceptance of the second draft by the target: {here.direct[0]:.0%}."
        ),
        "source": source,
    }


def _two_words(here: SecondDraft, c: float, fixed: dict[str, float], chosen: tuple[int, int]) -> str:
    gain, both, alone = float(here.gain[0, 0]), float(here.both[0, 0]), float(here.one[0, 0])
    g, h = (int(x) for x in here.lookaheads[0, 0])
    models = {"larger": (fixed["acceptance"], fixed["cost"]), "second": (float(here.direct[0]), c)}
    single = {
        f"the {name} draft only, lookahead {k}": time
        for name, values in models.items()
        for k, time in enumerate(one_draft(*values, slope=fixed["slope"]), 1)
    }
    best = min(single, key=single.__getitem__) if min(single.values()) < 1 else "plain decoding"
    verdict = "pays off" if gain > 0.005 else "breaks even" if gain > -0.005 else "does not pay off"
    said = (
        f"A second draft {verdict}: with lookaheads {g} and {h} a token takes {both:.2f} target forward passes; "
        f"the best without it, {best}, takes {alone:.2f}. "
    )
    if chosen != (g, h):
        said += f"With the selected lookaheads: {here.times[0, chosen[0] - 1, chosen[1] - 1, 0]:.2f}. "
    return said + _paying_range(c, fixed)


def _paying_range(c: float, fixed: dict[str, float]) -> str:
    """Return the acceptance range in which it pays off: a very good small model is better alone."""
    rates = np.linspace(LEAST_ACCEPTANCE, 0.99, 70)
    pays = np.flatnonzero(second_draft(rates, np.array([c]), **fixed).gain[:, 0] > 0)
    if not len(pays):
        return "At this cost no acceptance pays off."
    if pays[0] == 0 and pays[-1] == len(rates) - 1:
        return "At this cost it pays off at every acceptance shown."
    ends = [f"from {rates[pays[0]]:.0%}"] if pays[0] > 0 else []
    above = pays[-1] < len(rates) - 1
    ends += [f"{'to' if ends else 'up to'} {rates[pays[-1]]:.0%}"] if above else []
    alone = "; above that it is better alone" if above else ""
    return f"At this cost it pays off {' '.join(ends)} acceptance by the larger draft{alone}."


def _percent(share: float) -> str:
    return f"{'+' if share >= 0 else '−'}{abs(share) * 100:.0f} %"


def _regions(xs: np.ndarray, ys: np.ndarray, values: np.ndarray, marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Place the labels "pays off" and "does not pay off" in the middle of their regions, away from marks."""
    out = []
    for inside, text in ((values > 0.01, "pays off"), (values < -0.01, "does not pay off")):
        if inside.sum() < 0.06 * inside.size:
            continue
        rows, columns = np.nonzero(inside)
        x, y = float(xs[columns].mean()), float(ys[rows].mean())
        r, c = np.abs(ys - y).argmin(), np.abs(xs - x).argmin()
        near = any(
            abs(m["x"] - x) < 0.16 * (xs[-1] - xs[0]) and abs(m["y"] - y) < 0.08 * (ys[-1] - ys[0]) for m in marks
        )
        if inside[r, c] and not near:
            out.append({"x": x, "y": y, "text": text})
    return out
