"""Stacked bars of tokens by source: database subsets and kinds of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from hsd_viz.calibration.basis import temperature_words
from hsd_viz.figures.bars import stacked
from hsd_viz.figures.drafting_data import PLAIN, Supply, only_source, percent, study_of
from hsd_viz.figures.palette import family, in_order, key_of, label
from hsd_viz.figures.style import go
from hsd_viz.stack import DATABASES

DRAFTERS = {"db": "db: longest matching suffix, one scored tree", "hd": "hd: Hierarchy Drafting (HD) as published"}
COLUMNS = ["tokens per forward pass", "tokens from multi-token rounds", "drafting, µs per round"]
_LENGTH, _BY_SOURCE = "tokens per target forward pass", "tokens per target forward pass, by source"
#: Subsets in the order of the HD paper: all, pairs, single databases.
SUBSETS = [names for n in (3, 2, 1) for names in combinations(DATABASES, n)]
_RATIO = "A multi-token round emitted more than one token; their share of all tokens is the paper's acceptance ratio."


def _drawn(spec: Mapping[str, Any], dark: bool) -> go.Figure:
    """Return the stacked bars of some groups, with all their rows as a table."""
    columns = spec["columns"]
    groups = [
        {**g, "rows": [{**row, "value": " · ".join(row["cells"])} for row in g["rows"]]}
        for g in spec["groups"]
        if g["rows"]
    ]
    table = [[spec["groups"][0]["what"], *columns]]
    for group in spec["groups"]:
        for row in (*group["rows"], *group.get("more", ())):
            # Rows of several groups are named after them.
            name = f"{group['title']}: {row['label']}" if len(spec["groups"]) > 1 else row["label"]
            table.append([name, *(["–"] * len(columns) if "columns" in group else row["cells"])])
    listed = [f"{g['title']}: " + "; ".join(f"{r['label']} {r['value']}" for r in g["rows"]) for g in groups]
    note = f"After each bar: {' · '.join(columns)}. {spec['source']}"
    words = f"{spec['text']} {'. '.join(listed)}. {spec['source']}"
    about = {"text": spec["text"], "table": table}
    fig = stacked(groups, spec["hues"], spec["title"], words, dark, note, about)
    fig.spec = spec
    return fig


def database_ablation(
    data: Any, dark: bool = False, *, temperature: float | None = None, source: str = ""
) -> go.Figure:
    """Plot tokens per target forward pass by source, for every database subset. ``data`` is an ablation
    (:mod:`benchmarks.ablation`), its file, or traces. Raises: ValueError: if ``data`` has no database stack.
    """
    study = study_of(data, source)
    rows = _sourced(study.at(temperature))
    order = {frozenset(names): k for k, names in enumerate(SUBSETS)}
    usual = lambda r, name: bool(d := in_order(r.databases)) and r.stack == f"{name}[{','.join(d)}] > target"
    found = {
        words: sorted((r for r in rows if usual(r, name)), key=lambda r: order[frozenset(r.databases)])
        for name, words in DRAFTERS.items()
    }
    found = {words: subsets for words, subsets in found.items() if subsets}
    others = [] if found else [r for r in rows if r.stack != PLAIN]
    if not found and not others:
        raise ValueError("no stack with a database was measured")
    found = found or {"": others}
    used = [r for subsets in found.values() for r in subsets]
    shared = {"unit": _BY_SOURCE, "end": max(r.length for r in used), "what": "stack" if others else "databases"}
    groups = [
        {"title": words, "rows": [supply_row(r, r.stack if others else ", ".join(r.databases)) for r in subsets]}
        | shared
        for words, subsets in found.items()
    ]
    title = "Tokens by source" if others else "Contribution of each database"
    spec = {
        "title": f"{title}, {temperature_words(rows[0].temperature)}",
        "text": "Bar length: tokens per target forward pass, split into the target's own token and accepted draft "
        f"tokens by first source. Plain decoding has the first part only. {_RATIO}",
        "hues": _hues(used),
        "columns": COLUMNS,
        "groups": groups,
        "source": study.words(),
    }
    return _drawn(spec, dark)


def by_category(
    data: Any,
    dark: bool = False,
    *,
    stacks: Sequence[str] | None = None,
    first: Sequence[str] | int | None = 6,
    rule: str = "",
    temperature: float | None = None,
    words: Mapping[str, str] | None = None,
) -> go.Figure:
    """Plot mean acceptance length by kind of text for ``stacks`` of a bench report or an ablation.

    By default the ``first`` stacks of each kind of text by speed-up, else by length (a number, or names); ``None``: all
    stacks. ``rule`` describes that selection, ``words`` add a note to a kind of text. Raises: ValueError: if the data
    have no categories.
    """
    first = None if stacks else first
    study = study_of(data)
    rows = [r for r in study.at(temperature) if r.categories and r.length > 1]
    if stacks is not None:
        rows = [_named(rows, s) for s in stacks]
    if not rows:
        raise ValueError("no results by category: use a report of 'hsd-viz bench' or an ablation")
    figures = [c for r in rows for c in r.categories.values()]
    sure, fast = any(c[1] for c in figures), any(c[2] for c in figures)
    sources = {r.stack: only_source(r.stack) or "any" for r in rows}
    if "any" in sources.values():
        # Baselines share one colour, so they share one label.
        sources = {stack: "any" if family(source) == "baseline" else source for stack, source in sources.items()}
    end, groups = max(c[0] for c in figures), []
    for name in rows[0].categories:
        lines, rest = [], []
        there = [row for row in rows if name in row.categories]
        if first is not None:
            there.sort(key=lambda row: -((row.categories[name][2] if fast else None) or row.categories[name][0]))
        for place, row in enumerate(there):
            opened = first is None or (place < first if isinstance(first, int) else row.stack in first)
            (lines if opened else rest).append(_category_row(row, name, sources[row.stack], sure, fast))
        note = (words or {}).get(name)
        group = {"title": f"{name}: {note}" if note else name, "rows": lines, "more": rest}
        groups.append(group | {"unit": _LENGTH, "end": end, "what": "stack"})
    spec = {
        "title": f"Results by kind of text, {temperature_words(rows[0].temperature)}",
        "text": "Bar length: tokens per target forward pass. Compare groups for the effect of the text, rows for the "
        "effect of the method." + (f" Shown: {rule}; the table has all." if rule else ""),
        "hues": _hues([], *sources.values()),
        "columns": ["tokens per forward pass", *["95 % interval"] * sure, *["speed-up"] * fast],
        "groups": groups,
        "source": study.words(),
    }
    return _drawn(spec, dark)


def _category_row(row: Supply, name: str, source: str, sure: bool, fast: bool) -> dict[str, Any]:
    """Return a stack's row for one kind of text: with an interval if ``sure``, with a speed-up if ``fast``."""
    length, interval, speed = row.categories[name]
    cells = [f"{length:.2f}"]
    cells += [f"{interval[0]:.1f} to {interval[1]:.1f}" if interval else "–"] if sure else []
    cells += [f"{speed:.2f} ×" if speed else "–"] if fast else []
    return {"label": row.method, "parts": _parts(length, {source: length - 1}), "cells": cells}


def supply_row(row: Supply, name: str) -> dict[str, Any]:
    """Return a row: the bar's parts and the values of :data:`COLUMNS`."""
    ratio = "–" if row.ratio is None else percent(row.ratio)
    cells = [f"{row.length:.2f}", ratio, "–" if row.draft is None else f"{1e6 * row.draft:.0f}"]
    return {"label": name, "parts": _parts(row.length, row.accepted), "cells": cells}


def _parts(length: float, accepted: Mapping[str, float] | None) -> list[list[Any]]:
    """Return (hue, tokens, text) from the left: the target's own token, then drafts by source."""
    accepted = {"any": length - 1} if accepted is None else accepted
    names = {"target": "the target's own token", "any": "accepted drafts"}
    parts = {"target": length - sum(accepted.values())}
    parts |= {s: accepted[s] for s in in_order(accepted) if accepted[s] > 0}
    return [[s, round(v, 4), f"{names.get(s) or label(s)}: {v:.2f} tokens per forward pass"] for s, v in parts.items()]


def _hues(rows: Sequence[Supply], *more: str | None) -> dict[str, Any]:
    grey = {"any": "accepted drafts from baselines or several sources"}
    names = {s for r in rows for s in r.accepted or {}} | {s for s in more if s is not None}
    found: dict[str, Any] = {"target": key_of("target") | {"label": "the target's own token", "shape": "pale"}}
    found |= {source: key_of(source) for source in in_order(names - grey.keys())}
    return found | {name: key_of("lookup") | {"label": words} for name, words in grey.items() if name in more}


def _sourced(rows: Sequence[Supply]) -> list[Supply]:
    known = [r for r in rows if r.accepted is not None]
    if not known:
        raise ValueError("a bench report has no tokens by database: use an ablation or traces")
    return known


def _named(rows: Sequence[Supply], stack: str) -> Supply:
    for row in rows:
        if stack in (row.stack, row.method):
            return row
    raise ValueError(f"'{stack}' was not measured: use one of {', '.join(r.method for r in rows)}")
