"""What-if figures of the latency law, as plain data: one draft model, and a second one below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hsd_viz.figures import latency_figures as law
from hsd_viz.figures.latency_sources import rate
from hsd_viz.figures.surface_specs import axis, legend, mark
from hsd_viz.latency.affine import MOST
from hsd_viz.latency.inputs import Calibration, Edge
from hsd_viz.latency.whatif import second_draft

#: Cells per side of the map.
GRID = 25
LEAST_ACCEPTANCE = 0.3
TENTHS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Added cost per verified token, in target forward passes.
SLOPE = 0.02
CUSTOM = "Latency law on the slider values; nothing was measured."


def one_draft_values(calibration: Calibration, name: str) -> dict[str, float]:
    """Return a calibrated draft model's acceptance, cost and slope as arguments of :func:`one_draft_spec`."""
    accepted = rate(calibration.edge(name, calibration.target))
    return {"acceptance": accepted, "cost": law.ratio(calibration, name), "slope": law.slope_of(calibration)}


def second_draft_values(calibration: Calibration, name: str) -> dict[str, float]:
    """Return the arguments of :func:`second_draft_spec` for the draft model ``name`` and the largest one below it.

    ``closeness`` is absent where the smaller model was not measured below the target.
    """
    below = law.beneath(calibration, name)[-1]
    a, b = rate(calibration.edge(below, name)), rate(calibration.edge(name, calibration.target))
    found = {
        "acceptance": b,
        "cost": law.ratio(calibration, name),
        "slope": law.slope_of(calibration),
        "second_acceptance": a,
        "second_cost": law.ratio(calibration, below),
    }
    least, most = law.bounds(a, b)
    if (below, calibration.target) in calibration.edges and most > least:
        direct = rate(calibration.edge(below, calibration.target))
        found["closeness"] = float(np.clip((direct - least) / (most - least), 0, 1))
    return found


def models_below(calibration: Calibration, name: str) -> dict[str, tuple[float, float]]:
    """Return (cost, acceptance by ``name``) of each draft model measured below ``name``."""
    return {m: (law.ratio(calibration, m), rate(calibration.edge(m, name))) for m in law.beneath(calibration, name)}


def one_draft_spec(
    acceptance: float, cost: float, *, lookahead: int = 4, slope: float = SLOPE, source: str = CUSTOM
) -> dict[str, Any]:
    """Return the speed over plain decoding by lookahead, for a draft model's acceptance and cost (in target forward
    passes); verifying m tokens costs 1 + ``slope`` (m - 1).
    """
    a, c, g = acceptance, cost, lookahead
    speed = 1 / law.one(a, c, slope)
    best = int(speed.argmax())
    steps = list(range(1, MOST + 1))
    top = _nice_top(max(1.2, float(speed.max()) * 1.12))
    marks = [
        mark(best + 1, float(speed[best]), "best"),
        mark(g, float(speed[g - 1]), "here", f"{speed[g - 1]:.2f}"),
    ]
    ticks = [round(t, 2) for t in np.arange(0, top + 1e-9, 0.25 if top <= 2 else 0.5 if top <= 4 else 1.0)]
    return {
        "name": "Speed over plain decoding by lookahead",
        "x": axis("lookahead of the draft model, tokens", 0.5, MOST + 0.5, steps),
        "y": axis("speed, plain decoding = 1", 0, top, ticks, lambda t: f"{t:g}"),
        "lines": [
            {
                "points": [[s, float(v)] for s, v in zip(steps, speed.round(4), strict=True)],
                "kind": "law",
                "phrase": "Lookahead {x}: {v} times the speed of plain decoding",
            },
            {"points": [[0.5, 1.0], [MOST + 0.5, 1.0]], "kind": "reference", "label": "plain decoding"},
        ],
        "marks": marks,
        "legend": [["best", "best lookahead"], ["here", "your setting"]],
        "picks": True,
        "verdict": {"figure": f"{speed[g - 1]:.2f} ×", "text": _one_words(speed, a, c, g, slope)},
        "source": source,
    }


def _one_words(speed: np.ndarray, a: float, c: float, g: int, slope: float) -> str:
    best = int(speed.argmax()) + 1
    tokens = Edge(tail=a).tokens(g)
    said = [f"Lookahead {g}: {tokens:.2f} tokens per target forward pass, {_times(speed[g - 1])}."]
    if speed[best - 1] <= 1:
        said.append("No lookahead pays off: remove the draft model.")
    elif best != g:
        said.append(f"Best lookahead: {best}, {_times(speed[best - 1])}.")
    else:
        said.append("This is the best lookahead.")
    least = law.first(lambda rate: (1 / law.one(rate, c, slope)).max() > 1)
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
    a, c, b = second_acceptance, second_cost, acceptance
    fixed = {"cost": cost, "acceptance": b, "slope": slope, "closeness": closeness}
    widest = max(cost, 0.05)
    acceptances = np.linspace(LEAST_ACCEPTANCE, 0.99, GRID)
    costs = np.linspace(0, widest, GRID)
    values = second_draft(acceptances, costs, **fixed).gain
    here = second_draft(np.array([a]), np.array([c]), **fixed)
    gain = float(here.gain[0, 0])
    marks = []
    if c <= widest:
        marks.append(mark(c, a, "here", _percent(gain), f"your setting: {_percent(gain)}"))
    for name, (at_cost, at_rate) in (models or {}).items():
        if at_cost <= widest and at_rate >= LEAST_ACCEPTANCE:
            marks.append(mark(at_cost, at_rate, "model", name, f"{name}, as calibrated"))
    return {
        "name": "Gain of a second draft by cost and acceptance",
        "x": {
            **axis("cost of the second draft, in target forward passes", 0, widest, _ticks(widest), lambda t: f"{t:g}"),
            "values": _words_of(costs, "{:.3f}"),
        },
        "y": {
            **axis("acceptance by the larger draft", LEAST_ACCEPTANCE, 0.99, TENTHS, lambda t: f"{t:.0%}"),
            "values": _words_of(acceptances, "{:.0%}"),
        },
        "cells": _gain_cells(costs, acceptances, values),
        "contours": {"step": 0.05 if values.max() < 0.3 else 0.1 if values.max() < 0.8 else 0.5, "form": "+.0%"},
        "even": "breaks even",
        "regions": _regions(costs, acceptances, values, marks),
        "marks": marks,
        "legend": legend(marks),
        "picks": True,
        "verdict": {
            "figure": _percent(gain),
            "text": _two_words(here, a, c, b, cost, slope, fixed, (second_lookahead, lookahead)),
        },
        "text": (
            "Gain in tokens/s over the best setting without a second draft, at the best lookaheads. "
            f"Assumed direct acceptance of the second draft by the target: {law.direct(a, b, closeness):.0%}."
        ),
        "source": source,
    }


def _gain_cells(costs: np.ndarray, acceptances: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """Return the cells of a gain."""
    return {
        "x": costs.round(5).tolist(),
        "y": acceptances.round(5).tolist(),
        "values": values.round(4).tolist(),
        "scale": "gain",
        "end": max(0.1, float(np.abs(values).max())),
        "phrase": "Cost {x}, acceptance {y}: {v} tokens/s with the second draft",
    }


def _two_words(
    here: Any, a: float, c: float, b: float, cost: float, slope: float, fixed: dict[str, float], chosen: tuple[int, int]
) -> str:
    gain, both, one = float(here.gain[0, 0]), float(here.both[0, 0]), float(here.one[0, 0])
    g, h = (int(x) for x in here.lookaheads[0, 0])
    single = {f"the larger draft only, lookahead {k + 1}": v for k, v in enumerate(law.one(b, cost, slope))}
    direct = law.direct(a, b, fixed["closeness"])
    single |= {f"the second draft only, lookahead {k + 1}": v for k, v in enumerate(law.one(direct, c, slope))}
    best = min(single, key=single.get) if min(single.values()) < 1 else "plain decoding"
    verdict = "pays off" if gain > 0.005 else "breaks even" if gain > -0.005 else "does not pay off"
    said = [
        f"A second draft {verdict}: with lookaheads {g} and {h} a token takes {both:.2f} target forward passes; "
        f"the best without it, {best}, takes {one:.2f}."
    ]
    own = law.stacked(a, c, b, cost, slope, *chosen)
    if chosen != (g, h):
        said.append(f"With the selected lookaheads: {own:.2f}.")
    said.append(_paying_range(c, fixed))
    return " ".join(said)


def _paying_range(c: float, fixed: dict[str, float]) -> str:
    """Return the acceptance range in which it pays off: a very good small model is better alone."""
    rates = np.linspace(LEAST_ACCEPTANCE, 0.99, 70)
    pays = np.flatnonzero(second_draft(rates, np.array([c]), **fixed).gain[:, 0] > 0)
    if not len(pays):
        return "At this cost no acceptance pays off."
    low, high = rates[pays[0]], rates[pays[-1]]
    ends = (pays[0] > 0, pays[-1] < len(rates) - 1)
    words = {
        (
            True,
            True,
        ): f"from {low:.0%} to {high:.0%} acceptance by the larger draft; above that it is better alone",
        (True, False): f"from {low:.0%} acceptance by the larger draft",
        (
            False,
            True,
        ): f"up to {high:.0%} acceptance by the larger draft; above that it is better alone",
        (False, False): "at every acceptance shown",
    }
    return f"At this cost it pays off {words[ends]}."


def _times(speed: float) -> str:
    return f"{speed:.2f} times the speed of plain decoding"


def _percent(share: float) -> str:
    return f"{'+' if share >= 0 else '−'}{abs(share) * 100:.0f} %"


def _nice_top(value: float) -> float:
    step = 0.25 if value <= 2 else 0.5 if value <= 4 else 1.0
    return float(np.ceil(value / step) * step)


def _ticks(widest: float) -> list[float]:
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if widest / s <= 6)
    return [round(t, 3) for t in np.arange(0, widest + 1e-9, step)]


def _words_of(values: np.ndarray, form: str) -> list[str]:
    return [form.format(v) for v in values]


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
