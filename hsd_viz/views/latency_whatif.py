"""What-if sliders over the latency law: acceptance, cost, and a second draft model."""

from __future__ import annotations

from typing import Any

import numpy as np

from hsd_viz.latency.affine import MOST
from hsd_viz.latency.inputs import Edge
from hsd_viz.latency.whatif import second_draft
from hsd_viz.views import latency_figures as law
from hsd_viz.views.latency_plot import axis, legend, lines_of, mark
from hsd_viz.views.latency_sliders import WhatIf, slider, slope_slider, start_menu, step_slider
from hsd_viz.views.latency_sources import basis_of, rate

#: Cells per side of the map.
GRID = 25
LEAST_ACCEPTANCE = 0.3
TENTHS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class OneDraftWhatIf(WhatIf):
    """One draft model: speed over plain decoding by lookahead, for a given acceptance and cost.

    ``basis``, if given, adds the calibrated model pairs as presets.
    """

    def __init__(self, basis: Any = None, *, source: str = "") -> None:
        calibration = None if basis is None else basis_of(basis).calibration
        pairs = [] if calibration is None else [d for d, v in calibration.edges if v == calibration.target]
        sliders = {
            "acceptance": slider("acceptance by the target", 0.7, 0.0, 0.99, 0.01, ".0%"),
            "cost": slider("cost of the draft model, in target forward passes", 0.15, 0.0, 1.0, 0.01, ".2f"),
            "lookahead": step_slider("lookahead, tokens", 4),
            "slope": slope_slider(),
        }
        super().__init__(basis, source, sliders, start_menu("Draft model", [(d, d) for d in pairs]) if pairs else None)
        if pairs:
            self._start.value = pairs[-1]
        else:
            self._draw()

    def _fill(self, name: str) -> None:
        calibration = self._basis.calibration
        accepted = rate(calibration.edge(name, calibration.target))
        self.set(acceptance=accepted, cost=law.ratio(calibration, name), slope=law.slope_of(calibration))

    def _choose(self, point: list[float]) -> None:
        self.set(lookahead=int(point[0]))

    def _spec(self) -> dict[str, Any]:
        a, c, g, slope = (self.value(k) for k in ("acceptance", "cost", "lookahead", "slope"))
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
            "hint": "Hover over a lookahead or use the arrow keys; click or press Enter to select it.",
            "verdict": {"figure": f"{speed[g - 1]:.2f} ×", "text": self._words(speed, a, c, g, slope)},
            "source": self._source(self._start is not None and bool(self._start.value)),
            "shape": 0.56,
        }

    def _words(self, speed: np.ndarray, a: float, c: float, g: int, slope: float) -> str:
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


class SecondDraftWhatIf(WhatIf):
    """The gain of a small draft model below a larger one, over its cost and acceptance.

    ``basis``, if given, adds the calibrated models as presets for the larger draft and marks those below it on the map.
    """

    def __init__(self, basis: Any = None, *, source: str = "") -> None:
        calibration = None if basis is None else basis_of(basis).calibration
        larger = []
        if calibration is not None:
            larger = [
                m
                for m in calibration.models
                if law.beneath(calibration, m) and (m, calibration.target) in calibration.edges
            ]
        sliders = {
            "acceptance": slider("larger draft: acceptance by the target", 0.85, 0.3, 0.99, 0.01, ".0%"),
            "cost": slider("larger draft: cost, in target forward passes", 0.3, 0.02, 1.0, 0.01, ".2f"),
            "lookahead": step_slider("larger draft: lookahead", 6),
            "slope": slope_slider(),
            "second_acceptance": slider(
                "second draft: acceptance by the larger", 0.6, LEAST_ACCEPTANCE, 0.99, 0.01, ".0%"
            ),
            "second_cost": slider("second draft: cost, in target forward passes", 0.03, 0.0, 1.0, 0.005, ".3f"),
            "second_lookahead": step_slider("second draft: lookahead", 3),
            # Two acceptances bound the third: 1 - acceptance is a distance between models.
            "closeness": slider("target's direct acceptance: 0 lowest, 1 highest", 0.25, 0.0, 1.0, 0.01, ".2f"),
        }
        super().__init__(
            basis, source, sliders, start_menu("Larger draft", [(m, m) for m in larger]) if larger else None
        )
        if larger:
            self._start.value = larger[-1]
        else:
            self._draw()

    def _fill(self, name: str) -> None:
        calibration = self._basis.calibration
        below = law.beneath(calibration, name)[-1]
        a, b = rate(calibration.edge(below, name)), rate(calibration.edge(name, calibration.target))
        closeness = self.value("closeness")
        if (below, calibration.target) in calibration.edges:
            least, most = law.bounds(a, b)
            direct = rate(calibration.edge(below, calibration.target))
            closeness = float(np.clip((direct - least) / (most - least), 0, 1)) if most > least else closeness
        self.set(
            acceptance=b,
            cost=law.ratio(calibration, name),
            slope=law.slope_of(calibration),
            second_acceptance=a,
            second_cost=law.ratio(calibration, below),
            closeness=closeness,
        )

    def _choose(self, point: list[float]) -> None:
        self._filling = True
        if self._start is not None:
            self._start.value = ""
        self._filling = False
        self.set(second_cost=point[0], second_acceptance=point[1])

    def _spec(self) -> dict[str, Any]:
        a, c = self.value("second_acceptance"), self.value("second_cost")
        b, cost, slope, closeness = (self.value(k) for k in ("acceptance", "cost", "slope", "closeness"))
        fixed = {"cost": cost, "acceptance": b, "slope": slope, "closeness": closeness}
        widest = max(cost, 0.05)
        acceptances = np.linspace(LEAST_ACCEPTANCE, 0.99, GRID)
        costs = np.linspace(0, widest, GRID)
        found = second_draft(acceptances, costs, **fixed)
        here = second_draft(np.array([a]), np.array([c]), **fixed)
        gain = float(here.gain[0, 0])
        named = self._start.value if self._start is not None else ""
        marks = [mark(c, a, "here", _percent(gain), f"your setting: {_percent(gain)}")] if c <= widest else []
        marks += self._calibrated(named, widest)
        values = found.gain
        steps = [0.2, 0.1, 0.05, 0.02] if values.max() < 0.3 else [1.0, 0.5, 0.3, 0.2, 0.1]
        levels = [level for level in (*steps, -0.05, -0.1, -0.2) if values.min() < level < values.max()]
        lines = lines_of(costs, acceptances, values, levels, _percent)
        lines += [
            {**line, "main": True} for line in lines_of(costs, acceptances, values, [0.0], lambda _: "breaks even")
        ]
        return {
            "name": "Gain of a second draft by cost and acceptance",
            "x": {
                **axis(
                    "cost of the second draft, in target forward passes", 0, widest, _ticks(widest), lambda t: f"{t:g}"
                ),
                "values": _words_of(costs, "{:.3f}"),
            },
            "y": {
                **axis("acceptance by the larger draft", LEAST_ACCEPTANCE, 0.99, TENTHS, lambda t: f"{t:.0%}"),
                "values": _words_of(acceptances, "{:.0%}"),
            },
            "cells": {
                "x": costs.round(5).tolist(),
                "y": acceptances.round(5).tolist(),
                "values": values.round(4).tolist(),
                "scale": "gain",
                "end": max(0.1, float(np.abs(values).max())),
                "phrase": "Cost {x}, acceptance {y}: {v} tokens/s with the second draft",
                "ends": ["slower with it", "no change", "faster with it"],
            },
            "contours": lines,
            "regions": _regions(costs, acceptances, values, marks),
            "marks": marks,
            "legend": legend(marks),
            "picks": True,
            "hint": "Click the map, or use the arrow keys and Enter, to place the second draft.",
            "verdict": {"figure": _percent(gain), "text": self._words(here, a, c, b, cost, slope, fixed)},
            "text": (
                "Gain in tokens/s over the best setting without a second draft, at the best lookaheads. "
                f"Assumed direct acceptance of the second draft by the target: {law.direct(a, b, closeness):.0%}."
            ),
            "source": self._source(bool(named)),
            "shape": 0.72,
        }

    def _calibrated(self, named: str, widest: float) -> list[dict[str, Any]]:
        """Return the marks of the calibrated models below model ``named`` that are on the map."""
        if not named:
            return []
        calibration, marks = self._basis.calibration, []
        for m in law.beneath(calibration, named):
            x, y = law.ratio(calibration, m), rate(calibration.edge(m, named))
            if x <= widest and y >= LEAST_ACCEPTANCE:
                marks.append(mark(x, y, "model", m, f"{m}, as calibrated"))
        return marks

    def _words(
        self, here: Any, a: float, c: float, b: float, cost: float, slope: float, fixed: dict[str, float]
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
        own = law.stacked(a, c, b, cost, slope, self.value("second_lookahead"), self.value("lookahead"))
        if (self.value("second_lookahead"), self.value("lookahead")) != (g, h):
            said.append(f"With the selected lookaheads: {own:.2f}.")
        said.append(self._range(c, fixed))
        return " ".join(said)

    def _range(self, c: float, fixed: dict[str, float]) -> str:
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
