"""Acceptance length and speed-up by temperature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hsd_viz.figures.drafting_data import PLAIN, Study, Supply, lookups_only, study_of
from hsd_viz.figures.planes import axis, plane
from hsd_viz.figures.style import go

_short = "{:g}".format
_KINDS = {"db": "strong", "hd": "second", "hd + window": "second"}
_LEGEND = {
    "strong": "db, this project's drafter",
    "second": "hd, Hierarchy Drafting (HD) as published",
    "plain": "baselines, with their published settings",
}


def temperature_curves(
    data: Any,
    dark: bool = False,
    *,
    metric: str = "length",
    stacks: Sequence[str] | None = None,
    source: str = "",
) -> go.Figure:
    """Plot acceptance length or speed-up (``metric="speedup"``) over temperature, one line per method. ``data`` is an
    ablation, or several reports of different temperatures. Raises: ValueError: if there is only one temperature.
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
        "source": study.words(),
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
