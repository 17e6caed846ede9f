"""Figures of drafting latency against acceptance, of the resulting speed, and of both by temperature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hsd_viz.figures import drafting_data as published
from hsd_viz.figures.drafting_data import PLAIN, Study, Supply, lookups_only, percent, study_of
from hsd_viz.figures.latency_sources import temperature_words
from hsd_viz.figures.planes import axis, plane, round_step
from hsd_viz.figures.style import go

#: Approximate number of equal-speed curves.
ISOS = 10
_short = "{:g}".format
_KINDS = {"db": "strong", "hd": "second", "hd + window": "second"}
_LEGEND = {
    "strong": "db, this project's drafter",
    "second": "hd, Hierarchy Drafting (HD) as published",
    "plain": "baselines, with their published settings",
    "there": "published by the HD authors, on another machine",
}


def drafting_plane(
    data: Any, dark: bool = False, *, temperature: float | None = None, beside: bool = True, source: str = ""
) -> go.Figure:
    """Plot drafting latency per round against the share of tokens from multi-token rounds, one mark per method.
    ``data`` is an ablation, its file, or traces (a bench report lacks the share); ``beside`` adds the published
    figures. Raises: ValueError: if the share is unknown.
    """
    study = study_of(data, source)
    rows = [r for r in methods(study.at(temperature)) if r.ratio is not None and r.draft]
    if not rows:
        raise ValueError(
            "the data have no tokens by round: use an ablation or traces of stacks with a database or a baseline"
        )
    points = []
    for r in rows:
        words = f"{r.method}: {_time(r.draft)} per round, {percent(r.ratio)} of tokens from multi-token rounds."
        points.append(_point(1e3 * r.draft, r.ratio, r.method, words))
    table = [["method", "drafting, ms per round", "tokens from multi-token rounds"]]
    table += [[r.method, f"{1e3 * r.draft:.3f}", percent(r.ratio)] for r in sorted(rows, key=lambda r: r.draft)]
    for p in published.METHODS if beside else ():
        ms, ratio, speed = (p.figures[k] for k in ("draft_ms", "acceptance_ratio", "speedup"))
        words = (
            f"{p.what}, published: {ms:g} ms per step, {percent(ratio)}, {speed:g} times the speed of plain decoding."
        )
        points.append(_point(ms, ratio, p.what, words) | {"kind": "there"})
        table.append([f"{p.what}, published", f"{ms:g}", percent(ratio)])
    xs = [p["x"] for p in points]
    shares = [t / 10 for t in range(0, 11, 2)]
    spec = {
        "title": f"Drafting latency against acceptance, {temperature_words(rows[0].temperature)}",
        "x": _decades("drafting latency, ms per round", min(xs), max(xs)),
        "y": axis("tokens from multi-token rounds", 0, 1, shares, percent),
        "points": points,
        "legend": _legend(points),
        "text": "Up is better: more tokens come from multi-token rounds. Left is better: drafting takes less time. The "
        "best drafters are at the top left.",
        "table": table,
        "source": study.words(beside),
    }
    return plane(spec, dark)


def speed_plane(data: Any, dark: bool = False, *, temperature: float | None = None, source: str = "") -> go.Figure:
    """Plot acceptance length over drafting latency, with curves of equal speed by the HD authors' cost model. That is
    tokens / (step + drafting), with the target's one-token step from the plain row of ``data``: a bench report, an
    ablation, or traces with a plain run. Raises: ValueError: if plain decoding was not measured.
    """
    study = study_of(data, source)
    at = study.at(temperature)
    plain = next((r for r in at if r.stack == PLAIN and r.speed), None)
    if plain is None:
        raise ValueError("plain decoding was not measured: the target's step time is unknown")
    rows = [r for r in methods(at) if r.draft]
    if not rows:
        raise ValueError("no stack with a database or a baseline was measured")
    step = 1 / plain.speed
    points: list[dict[str, Any]] = []
    table = [["method", "µs per round", "tokens per forward pass", "on the curves", "measured, tokens/s"]]
    for r in rows:
        expected = r.length / (step + r.draft)
        spent = f" Measured {r.speed:.0f}: verifying a draft costs more than one token." if r.speed else ""
        words = (
            f"{r.method}: {_time(r.draft)} and {r.length:.2f} tokens per round, {expected:.0f} tokens/s on "
            f"the curves.{spent}"
        )
        points.append(_point(1e6 * r.draft, r.length, r.method, words))
        speed = "–" if r.speed is None else f"{r.speed:.0f}"
        table.append([r.method, f"{1e6 * r.draft:.0f}", f"{r.length:.2f}", f"{expected:.0f}", speed])
    top = math.ceil(2 * max(r.length for r in rows) + 0.6) / 2
    reached = [p["x"] for p in points]
    latency = _decades("drafting latency, µs per round", min(reached), max(*reached, 1e6 * step))
    xs = np.geomspace(*latency["range"], 60)
    isos = []
    for speed in _levels(plain.speed, top / (step + 1e-6 * xs[0])):
        curve = [[round(float(x), 3), round(speed * (step + 1e-6 * float(x)), 4)] for x in xs]
        isos.append({"label": f"{speed:.0f}", "points": [p for p in curve if 1 <= p[1] <= top]})
    lengths = [1 + 0.5 * k for k in range(int(2 * (top - 1)) + 1)]
    lengths = lengths if len(lengths) < 8 else [v for v in lengths if v == int(v)]
    spec = {
        "title": f"Speed by latency and acceptance, {temperature_words(rows[0].temperature)}",
        "x": latency,
        "y": axis("tokens per target forward pass", 1, top, lengths, _short),
        "points": points,
        "isos": [i for i in isos if len(i["points"]) > 1],
        "legend": [*_legend(points), ["iso", "equal speed, in tokens/s"]],
        "text": f"A target step takes {1e3 * step:.2f} ms ({plain.speed:.0f} tokens/s). On the left drafting is cheap, "
        "the curves are flat and only acceptance counts. On the right slower drafting needs more tokens for the same "
        "speed. The curves omit the cost of verifying several tokens; the table has both.",
        "table": table,
        "source": f"{study.words()} Curves: tokens / (step + drafting), the HD authors' cost model.",
    }
    return plane(spec, dark)


def temperature_curves(
    data: Any,
    dark: bool = False,
    *,
    metric: str = "length",
    stacks: Sequence[str] | None = None,
    beside: bool = True,
    source: str = "",
) -> go.Figure:
    """Plot acceptance length or speed-up (``metric="speedup"``) over temperature, one line per method. ``data`` is an
    ablation, or several reports of different temperatures; ``beside`` adds the published speed-up. Raises: ValueError:
    if there is only one temperature.
    """
    if metric not in ("length", "speedup"):
        raise ValueError(f"unknown metric '{metric}': use 'length' or 'speedup'")
    study = study_of(data, source)
    if len(study.temperatures) < 2:
        raise ValueError("only one temperature was measured: use an ablation, or reports of several temperatures")
    curves = _curves(study, metric, stacks)
    lines, points = [], []
    for name, curve in curves.items():
        lines.append({"points": curve, "kind": "plain" if _KINDS.get(name, "plain") == "plain" else "strong"})
        words = [f"{name} at temperature {t:g}: {v:.2f}." for t, v in curve]
        points += [point | {"kind": _KINDS.get(name, "plain")} for point in _along(curve, name, words)]
    for p in published.TEMPERATURES if metric == "speedup" and beside else ():
        curve = [[t, v] for t, v in p.figures["speedup"].items()]
        lines.append({"points": curve, "kind": "there"})
        words = [f"{p.what}, published, temperature {t:g}: {v:.2f}." for t, v in curve]
        points += [point | {"kind": "there"} for point in _along(curve, f"{p.what}, published", words)]
    top = math.ceil(2 * max(p["y"] for p in points) + 0.2) / 2
    low = math.floor(10 * min(1.0, *(p["y"] for p in points))) / 10
    ticks = [v / 2 for v in range(math.ceil(2 * low), int(2 * top) + 1)]
    temperatures = study.temperatures
    what = "tokens per target forward pass" if metric == "length" else "speed, plain decoding = 1"
    table = [["method", *(f"T = {t:g}" for t in temperatures)]]
    values = {name: {t: f"{v:.2f}" for t, v in curve} for name, curve in curves.items()}
    table += [[name, *(found.get(t, "–") for t in temperatures)] for name, found in values.items()]
    spec = {
        "title": "Acceptance length by temperature" if metric == "length" else "Speed-up by temperature",
        "x": axis("temperature (0: greedy)", temperatures[0] - 0.04, temperatures[-1] + 0.04, temperatures, _short),
        "y": axis(what, low, top, ticks, _short),
        "lines": lines,
        "points": points,
        "legend": _legend(points),
        "aligned": True,
        "text": "A higher temperature rejects likely drafts more often, regardless of the method. The loss depends on "
        "the entropy of the model.",
        "table": table,
        "source": study.words(beside and metric == "speedup"),
    }
    return plane(spec, dark)


def methods(rows: Sequence[Supply]) -> list[Supply]:
    """Return one row per method: drafters with all databases, without ablation subsets and orders."""
    found = {}
    for row in rows:
        if lookups_only(row.stack) and not row.method.startswith(("db[", "hd[")):
            found.setdefault(row.method, row)
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
        raise ValueError("no stack was measured at two temperatures")
    return curves


def _legend(points: Sequence[dict[str, Any]]) -> list[list[str]]:
    return [[kind, words] for kind, words in _LEGEND.items() if any(p["kind"] == kind for p in points)]


def _along(curve: Sequence[Sequence[float]], name: str, words: Sequence[str]) -> list[dict[str, Any]]:
    """Return the points of a curve; the last one is labelled."""
    ends = [""] * (len(curve) - 1) + [name]
    return [_point(t, v, end, said) for (t, v), end, said in zip(curve, ends, words, strict=True)]


def _point(x: float, y: float, name: str, words: str) -> dict[str, Any]:
    at = {"x": round(float(x), 5), "y": round(float(y), 4)}
    return at | {"label": name, "kind": _KINDS.get(name, "plain"), "words": words}


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} µs"


def _decades(label: str, low: float, high: float) -> dict[str, Any]:
    """Return a logarithmic axis with 1, 2 and 5 of each decade."""
    low, high = low / 1.4, high * 1.5
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**k for k in decades for m in (1, 2, 5) if low <= m * 10.0**k <= high]
    return axis(label, low, high, ticks, _short) | {"log": True}


def _levels(least: float, most: float) -> list[float]:
    """Return round speeds between two values."""
    step = round_step((most - least) / ISOS)
    return [float(v) for v in np.arange(math.ceil(0.6 * least / step) * step, most, step)]
