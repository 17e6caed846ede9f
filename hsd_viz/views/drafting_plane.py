"""Drafting latency against acceptance: what a draft costs to find, what it brings, and what both make of the speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets

from hsd_viz.views import drafting_published as published
from hsd_viz.views.drafting_bars import CSS, percent
from hsd_viz.views.drafting_data import PLAIN, Study, Supply, lookups_only, method, study_of
from hsd_viz.views.latency_sources import temperature_words
from hsd_viz.views.scripts import joined

#: Curves of equal speed: about so many.
ISOS = 10
_KINDS = {"db": "strong", "hd": "second", "hd + window": "second"}
_LEGEND = {
    "strong": "db, this project's drafter",
    "second": "hd, Hierarchy Drafting as published",
    "plain": "other look-ups, with their published settings",
    "there": "published by HD's authors, on another machine",
    "iso": "equal speed, in tokens/s",
}


class DraftPlane(anywidget.AnyWidget):
    """Points, lines and curves of equal value on axes; all figures stand in a table, too."""

    _esm = joined("dom.js", "figure.js", "draft_plane.js")
    _css = CSS

    spec = traitlets.Dict().tag(sync=True)


class LatencyAcceptance(DraftPlane):
    """The motivation of Hierarchy Drafting as a figure: drafting latency per round against the share of tokens from rounds of
    several, one mark a method.

    ``data`` is an ablation or traces (a bench report does not have the share). ``beside`` adds the published figures.
    Raises ``ValueError`` with one sentence.
    """

    def __init__(self, data: Any, *, temperature: float | None = None, beside: bool = True, source: str = "") -> None:
        study = study_of(data, source)
        rows = [r for r in methods(study.at(temperature)) if r.ratio is not None and r.draft]
        if not rows:
            raise ValueError(
                "these data do not say which round a token came from: give an ablation or traces of stacks with a database or a rival"
            )
        points = [
            _point(
                1e3 * r.draft,
                r.ratio,
                r.method,
                f"{r.method}: {_time(r.draft)} a round, {percent(r.ratio)} of tokens from rounds of several.",
            )
            for r in rows
        ]
        table = [["method", "drafting, ms a round", "tokens from rounds of several"]]
        table += [[r.method, f"{1e3 * r.draft:.3f}", percent(r.ratio)] for r in sorted(rows, key=lambda r: r.draft)]
        for p in published.METHODS if beside else ():
            ms, ratio, speed = (p.figures[k] for k in ("draft_ms", "acceptance_ratio", "speedup"))
            words = (
                f"{p.what}, published: {ms:g} ms a step, {percent(ratio)}, {speed:g} times as fast as plain decoding."
            )
            points.append({**_point(ms, ratio, p.what, words), "kind": "there"})
            table.append([f"{p.what}, published", f"{ms:g}", percent(ratio)])
        xs = [p["x"] for p in points]
        super().__init__(
            spec={
                "title": f"Drafting latency against acceptance, {temperature_words(rows[0].temperature)}",
                "x": {"label": "drafting latency, ms a round", "log": True, **_decades(min(xs), max(xs))},
                "y": {
                    "label": "tokens from rounds of several",
                    "range": [0, 1],
                    "ticks": [[t / 10, f"{10 * t} %"] for t in range(0, 11, 2)],
                },
                "points": points,
                "legend": [
                    [k, _LEGEND[k]]
                    for k in ("strong", "second", "plain", "there")
                    if any(p["kind"] == k for p in points)
                ],
                "text": "Up is better: more of the text comes from rounds that brought several tokens. Left is better: less time is spent "
                "before the target can begin. A good drafter stands at the top left.",
                "table": table,
                "source": f"Measured: {study.source}." + (f" {published.CREDIT}" if beside else ""),
                "shape": 0.62,
            }
        )


class SpeedPlane(DraftPlane):
    """Speed as the authors' cost model has it, tokens / (step + drafting), over drafting latency and acceptance length.

    The step is the target's own, of one token, from the plain row of ``data`` (a bench report, an ablation, or traces with a plain one).
    Every look-up method that was measured is a mark. Raises ``ValueError`` with one sentence.
    """

    def __init__(self, data: Any, *, temperature: float | None = None, source: str = "") -> None:
        study = study_of(data, source)
        at = study.at(temperature)
        plain = next((r for r in at if r.stack == PLAIN and r.speed), None)
        if plain is None:
            raise ValueError("plain decoding was not measured: the target's step time is not known")
        rows = [r for r in methods(at) if r.draft]
        if not rows:
            raise ValueError("no stack with a database or a rival was measured")
        step = 1 / plain.speed
        points, table = [], [["method", "µs a round", "tokens per forward", "on the curves", "measured, tokens/s"]]
        for r in rows:
            expected = r.length / (step + r.draft)
            spent = f" Measured {r.speed:.0f}: checking a draft costs more than checking one token." if r.speed else ""
            words = f"{r.method}: {_time(r.draft)} and {r.length:.2f} tokens a round, {expected:.0f} tokens/s on the curves.{spent}"
            points.append(_point(1e6 * r.draft, r.length, r.method, words))
            speed = "–" if r.speed is None else f"{r.speed:.0f}"
            table.append([r.method, f"{1e6 * r.draft:.0f}", f"{r.length:.2f}", f"{expected:.0f}", speed])
        top = math.ceil(2 * max(r.length for r in rows) + 0.6) / 2
        span = _decades(min(p["x"] for p in points), max(max(p["x"] for p in points), 1e6 * step))
        xs = np.geomspace(*span["range"], 60)
        isos = []
        for speed in _levels(plain.speed, top / (step + 1e-6 * span["range"][0])):
            curve = [[round(float(x), 3), round(speed * (step + 1e-6 * float(x)), 4)] for x in xs]
            isos.append({"label": f"{speed:.0f}", "points": [p for p in curve if 1 <= p[1] <= top]})
        lengths = [1 + 0.5 * k for k in range(int(2 * (top - 1)) + 1)]
        lengths = lengths if len(lengths) < 8 else [v for v in lengths if v == int(v)]
        super().__init__(
            spec={
                "title": f"What latency and acceptance make of the speed, {temperature_words(rows[0].temperature)}",
                "x": {"label": "drafting latency, µs a round", "log": True, **span},
                "y": {
                    "label": "tokens per forward of the target",
                    "range": [1, top],
                    "ticks": [[v, f"{v:g}"] for v in lengths],
                },
                "points": points,
                "isos": [i for i in isos if len(i["points"]) > 1],
                "legend": [
                    [k, _LEGEND[k]] for k in ("strong", "second", "plain") if any(p["kind"] == k for p in points)
                ]
                + [["iso", _LEGEND["iso"]]],
                "text": f"The target needs {1e3 * step:.2f} ms for a step of its own ({plain.speed:.0f} tokens/s). On the left drafting "
                "costs next to nothing of that, and the curves are flat: only acceptance counts. On the right every curve bends upwards: "
                "a slow look-up must bring more tokens to come out even. The curves leave out what "
                "checking several tokens costs; the table has both.",
                "table": table,
                "source": f"Measured: {study.source}. Curves: tokens / (step + drafting), the cost model of HD's authors.",
                "shape": 0.62,
            }
        )


class TemperatureCurves(DraftPlane):
    """Acceptance length, or speed-up (``metric="speedup"``), over the temperature, one line a method.

    ``data`` is an ablation, or several reports of different temperatures. The speed-up stands ``beside`` the published one.
    Raises ``ValueError`` with one sentence.
    """

    def __init__(
        self,
        data: Any,
        *,
        metric: str = "length",
        stacks: Sequence[str] | None = None,
        beside: bool = True,
        source: str = "",
    ) -> None:
        if metric not in ("length", "speedup"):
            raise ValueError(f"the metric '{metric}' is unknown: it is 'length' or 'speedup'")
        study = study_of(data, source)
        if len(study.temperatures) < 2:
            raise ValueError("one temperature makes no curve: give an ablation, or reports of several temperatures")
        curves = _curves(study, metric, stacks)
        lines, points, legend = [], [], []
        for name, curve in curves.items():
            kind = _KINDS.get(name, "plain")
            lines.append({"points": curve, "kind": "strong" if kind != "plain" else "plain"})
            points += [
                {
                    **_point(t, v, name if t == curve[-1][0] else "", f"{name} at temperature {t:g}: {v:.2f}."),
                    "kind": kind,
                }
                for t, v in curve
            ]
        if metric == "speedup" and beside:
            for p in published.TEMPERATURES:
                curve = [[t, v] for t, v in p.figures["speedup"].items()]
                lines.append({"points": curve, "kind": "there"})
                words = [f"{p.what}, published, temperature {t:g}: {v:.2f}." for t, v in curve]
                ends = [f"{p.what}, published" if t == curve[-1][0] else "" for t, _ in curve]
                points += [{**_point(*c, e, w), "kind": "there"} for c, w, e in zip(curve, words, ends, strict=True)]
        shown = {p["kind"] for p in points}
        legend = [[k, _LEGEND[k]] for k in ("strong", "second", "plain", "there") if k in shown]
        top = math.ceil(2 * max(p["y"] for p in points) + 0.2) / 2
        low = math.floor(10 * min(1.0, *(p["y"] for p in points))) / 10
        ticks = [v / 2 for v in range(math.ceil(2 * low), int(2 * top) + 1)]
        temperatures = study.temperatures
        what = "tokens per forward of the target" if metric == "length" else "speed, plain decoding = 1"
        table = [["method", *(f"T = {t:g}" for t in temperatures)]]
        table += [
            [n, *(f"{dict(map(tuple, c))[t]:.2f}" if t in dict(map(tuple, c)) else "–" for t in temperatures)]
            for n, c in curves.items()
        ]
        low_t, high_t = temperatures[0], temperatures[-1]
        super().__init__(
            spec={
                "title": "What sampling leaves of it" if metric == "length" else "Speed over the temperature",
                "x": {
                    "label": "temperature (0: greedy)",
                    "range": [low_t - 0.04, high_t + 0.04],
                    "ticks": [[t, f"{t:g}"] for t in temperatures],
                },
                "y": {"label": what, "range": [low, top], "ticks": [[v, f"{v:g}"] for v in ticks]},
                "lines": lines,
                "points": points,
                "legend": legend,
                "aligned": True,
                "text": "The higher the temperature, the more often a likely draft is passed over for an unlikely token, whatever the "
                "method. How much that costs depends on how sure of itself the model is.",
                "table": table,
                "source": f"Measured: {study.source}."
                + (f" {published.CREDIT}" if metric == "speedup" and beside else ""),
                "shape": 0.7,
            }
        )


# --- parts ------------------------------------------------------------------------------------------------------------


def methods(rows: Sequence[Supply]) -> list[Supply]:
    """One row a method: the drafters with all that they have; subsets and orders belong to the ablations."""
    found = {}
    for row in rows:
        name = method(row.stack)
        if lookups_only(row.stack) and ("[" not in name or not any(name.startswith(f"{d}[") for d in ("db", "hd"))):
            found.setdefault(name, row)
    return list(found.values()) or [r for r in rows if lookups_only(r.stack)]


def _curves(study: Study, metric: str, stacks: Sequence[str] | None) -> dict[str, list[list[float]]]:
    curves: dict[str, list[list[float]]] = {}
    for temperature in study.temperatures:
        at = study.at(temperature)
        plain = next((r.speed for r in at if r.stack == PLAIN), None)
        chosen = methods(at) if stacks is None else [r for r in at if r.stack in stacks or r.method in stacks]
        for row in chosen:
            value = row.length if metric == "length" else row.speed / plain if row.speed and plain else None
            if value is not None:
                curves.setdefault(row.method, []).append([temperature, round(value, 4)])
    curves = {name: curve for name, curve in curves.items() if len(curve) > 1}
    if not curves:
        raise ValueError("no stack was measured at two temperatures: there is no curve to draw")
    return curves


def _point(x: float, y: float, name: str, words: str) -> dict[str, Any]:
    return {
        "x": round(float(x), 5),
        "y": round(float(y), 4),
        "label": name,
        "kind": _KINDS.get(name, "plain"),
        "words": words,
    }


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} µs"


def _decades(low: float, high: float) -> dict[str, Any]:
    """Range and ticks of a logarithmic axis: 1, 2 and 5 of each decade."""
    low, high = low / 1.4, high * 1.5
    ticks = [
        m * 10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)
    ]
    return {"range": [low, high], "ticks": [[t, f"{t:g}"] for t in ticks if low <= t <= high]}


def _levels(least: float, most: float) -> list[float]:
    """Round speeds between two."""
    raw = (most - least) / ISOS
    unit = 10 ** math.floor(math.log10(raw))
    step = unit * next(k for k in (1, 2, 5, 10) if k * unit >= raw)
    return [float(v) for v in np.arange(math.ceil(0.6 * least / step) * step, most, step)]
