"""Stacked bars of tokens by source: database subsets, database orders, and kinds of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hsd_viz.figures import drafting_published as published
from hsd_viz.figures.drafting_data import PLAIN, Supply, method, only_source, study_of
from hsd_viz.figures.latency_sources import temperature_words
from hsd_viz.figures.palette import HUES, family, label
from hsd_viz.stack import DATABASES

DRAFTERS = {
    "db": "db: longest matching suffix, one scored tree",
    "hd": "hd: Hierarchy Drafting (HD) as published",
}
COLUMNS = ("tokens per forward pass", "tokens from multi-token rounds", "drafting, µs per round")
_FULL = set(DATABASES)
_RATIO = "A multi-token round emitted more than one token; their share of all tokens is the paper's acceptance ratio."


def ablation_spec(
    data: Any, *, temperature: float | None = None, beside: bool = True, source: str = ""
) -> dict[str, Any]:
    """Every database subset: tokens per target forward pass by source, share from multi-token rounds, drafting latency.

    ``data`` is an ablation (:mod:`benchmarks.ablation`), its file, or traces. ``beside`` adds the published figures on
    their own scale. Raises: ValueError: if ``data`` has no database stack.
    """
    study = study_of(data, source)
    rows = _sourced(study.at(temperature))
    order = {frozenset(p.what.split(", ")): k for k, p in enumerate(published.DATABASES)}
    groups, used = [], []
    for name, words in DRAFTERS.items():
        subsets = [r for r in rows if _usual_order(r, name)]
        subsets.sort(key=lambda r: order[frozenset(r.databases)])
        used += subsets
        if subsets:
            groups.append({"title": words, "rows": [supply_row(r, ", ".join(r.databases)) for r in subsets]})
    others = [r for r in rows if not groups and r.stack != PLAIN]
    if others:
        used = others
        groups.append({"title": "", "rows": [supply_row(r, r.stack) for r in others]})
    if not groups:
        raise ValueError("no stack with a database was measured")
    end = max(r.length for r in used)
    groups = [
        {
            **g,
            "unit": "tokens per target forward pass, by source",
            "end": end,
            "what": "stack" if others else "databases",
        }
        for g in groups
    ]
    credit = ""
    if beside and not others:
        groups.append(_published_databases())
        credit = " " + published.CREDIT
    title = "Tokens by source" if others else "Contribution of each database"
    return {
        "title": f"{title}, {temperature_words(rows[0].temperature)}",
        "text": "Bar length: tokens per target forward pass, split into the target's own token and accepted "
        "draft tokens by "
        f"first source. Plain decoding has the first part only. {_RATIO}",
        "hues": _hues(used, "published" if credit else None),
        "columns": list(COLUMNS),
        "groups": groups,
        "source": f"Measured: {study.source}.{credit}",
    }


def order_spec(data: Any, *, temperature: float | None = None, beside: bool = True, source: str = "") -> dict[str, Any]:
    """All three databases in each of the six orders. Arguments and errors as in :class:`DatabaseAblation`."""
    study = study_of(data, source)
    rows = [r for r in _sourced(study.at(temperature)) if set(r.databases) == _FULL and method(r.stack)[:2] in DRAFTERS]
    rows = [r for r in rows if "window" not in r.stack]
    if not rows:
        raise ValueError("no stack with all three databases was measured")
    end = max(r.length for r in rows)
    groups = []
    for name, words in DRAFTERS.items():
        some = sorted((r for r in rows if method(r.stack).startswith(name)), key=lambda r: _place(r.databases))
        if some:
            lines = [supply_row(r, " → ".join(r.databases)) for r in some]
            groups.append(
                {"title": words, "rows": lines, "unit": "tokens per target forward pass, by source", "end": end}
            )
    if beside:
        groups.append(_published_orders())
    return {
        "title": f"Database order, {temperature_words(rows[0].temperature)}",
        "text": "The paper's order is most local first. hd stops at seven drafts, so earlier databases "
        "displace later ones. "
        "db merges all drafts in one scored tree; each database distributes the probability left over by "
        "earlier ones.",
        "hues": _hues(rows),
        "columns": list(COLUMNS),
        "groups": [{**g, "what": "order"} for g in groups],
        "source": f"Measured: {study.source}." + (f" {published.CREDIT}" if beside else ""),
    }


def category_spec(
    data: Any,
    *,
    stacks: Sequence[str] | None = None,
    first: Sequence[str] | int | None = None,
    rule: str = "",
    temperature: float | None = None,
    words: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Mean acceptance length by kind of text for ``stacks`` of a bench report (default: those with a draft).

    ``data`` is a report, an ablation or a file of either. With ``first`` (stack names, or a number per kind of text),
    rows are sorted by speed-up, else by length, and all others are collapsed; ``rule`` describes the selection. Raises:
    ValueError: if the data have no categories.
    """
    study = study_of(data)
    rows = [r for r in study.at(temperature) if r.categories and r.length > 1]
    if stacks is not None:
        rows = [_named(rows, s) for s in stacks]
    if not rows:
        raise ValueError("no results by category: use a report of 'hsd-viz bench' or an ablation")
    sure = any(c[1] for r in rows for c in r.categories.values())
    fast = any(c[2] for r in rows for c in r.categories.values())
    sources = {r.stack: only_source(r.stack) or "any" for r in rows}
    if "any" in sources.values():
        # Baselines share one colour, so they share one label.
        sources = {stack: "any" if family(source) == "baseline" else source for stack, source in sources.items()}
    groups = []
    for name in rows[0].categories:
        lines, rest = [], []
        there = [row for row in rows if name in row.categories]
        if first is not None:
            there.sort(key=lambda row: -((row.categories[name][2] if fast else None) or row.categories[name][0]))
        opened = (
            there[:first]
            if isinstance(first, int)
            else there
            if first is None
            else [r for r in there if r.stack in first]
        )
        for row in there:
            line = _category_row(row, name, sources[row.stack], sure, fast)
            (lines if row in opened else rest).append(line)
        note = (words or {}).get(name)
        title = f"{name}: {note}" if note else name
        unit = "tokens per target forward pass"
        groups.append({"title": title, "rows": lines, "more": rest, "unit": unit})
    end = max(c[0] for r in rows for c in r.categories.values())
    columns = ["tokens per forward pass", *(["95 % interval"] if sure else []), *(["speed-up"] if fast else [])]
    return {
        "title": f"Results by kind of text, {temperature_words(rows[0].temperature)}",
        "text": "Bar length: tokens per target forward pass. Compare groups for the effect of the text, rows "
        "for the effect of "
        "the method." + (f" Shown: {rule}; the table has all." if rule else ""),
        "hues": _hues([], *dict.fromkeys(sources.values())),
        "columns": columns,
        "groups": [{**g, "end": end, "what": "stack"} for g in groups],
        "source": f"Measured: {study.source}.",
    }


def _category_row(row: Supply, name: str, source: str, sure: bool, fast: bool) -> dict[str, Any]:
    """Return a stack's row for one kind of text: with an interval if ``sure``, with a speed-up if ``fast``."""
    length, interval, speed = row.categories[name]
    cells = [f"{length:.2f}"]
    cells += [f"{interval[0]:.1f} to {interval[1]:.1f}" if interval else "–"] if sure else []
    cells += [f"{speed:.2f} ×" if speed else "–"] if fast else []
    return {"label": row.method, "parts": _parts(length, {source: length - 1}), "cells": cells}


# --- rows -------------------------------------------------------------------------------------------------------------


def supply_row(row: Supply, name: str) -> dict[str, Any]:
    """Return a row: the bar's parts and the values of :data:`COLUMNS`."""
    cells = [
        f"{row.length:.2f}",
        "–" if row.ratio is None else percent(row.ratio),
        "–" if row.draft is None else f"{1e6 * row.draft:.0f}",
    ]
    return {"label": name, "parts": _parts(row.length, row.accepted), "cells": cells}


def _parts(length: float, accepted: Mapping[str, float] | None) -> list[list[Any]]:
    """Return (hue, tokens, text) from the left: the target's own token, then drafts by source."""
    accepted = {"any": length - 1} if accepted is None else accepted
    own = length - sum(accepted.values())
    names = sorted(accepted, key=lambda s: (DATABASES.index(s) if s in DATABASES else len(DATABASES), s))
    parts = [("target", own), *((s, accepted[s]) for s in names if accepted[s] > 0)]
    return [[s, round(v, 4), f"{_words(s)}: {v:.2f} tokens per forward pass"] for s, v in parts]


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _words(source: str) -> str:
    return {"target": "the target's own token", "any": "accepted drafts"}.get(source) or label(source)


def _hues(rows: Sequence[Supply], *more: str | None) -> dict[str, Any]:
    names = {s for r in rows for s in r.accepted or {}} | {s for s in more if s not in (None, "any", "published")}
    found = {"target": _own()}
    for source in (*(s for s in DATABASES if s in names), *sorted(names - _FULL)):
        hue = HUES[family(source)]
        found[source] = {"label": label(source), "light": hue.light, "dark": hue.dark}
    found |= {"any": _any("accepted drafts from baselines or several sources")} if "any" in more else {}
    return found | ({"published": _any("published")} if "published" in more else {})


def _own() -> dict[str, Any]:
    return {"label": "the target's own token", "light": HUES["target"].light, "dark": HUES["target"].dark, "own": True}


def _any(words: str) -> dict[str, Any]:
    return {"label": words, "light": HUES["baseline"].light, "dark": HUES["baseline"].dark}


def _sourced(rows: Sequence[Supply]) -> list[Supply]:
    known = [r for r in rows if r.accepted is not None]
    if not known:
        raise ValueError("a bench report has no tokens by database: use an ablation or traces")
    return known


def _usual_order(row: Supply, name: str) -> bool:
    """Whether a stack is this drafter with databases in the usual order and nothing else."""
    wanted = tuple(d for d in DATABASES if d in row.databases)
    return bool(wanted) and row.stack == f"{name}[{','.join(wanted)}] > target"


def _place(databases: Sequence[str]) -> tuple[int, ...]:
    return tuple(DATABASES.index(d) for d in databases)


def _named(rows: Sequence[Supply], stack: str) -> Supply:
    for row in rows:
        if stack in (row.stack, row.method):
            return row
    raise ValueError(f"'{stack}' was not measured: use one of {', '.join(r.method for r in rows)}")


def _published_databases() -> dict[str, Any]:
    rows = []
    for p in published.DATABASES:
        ratio, ms = p.figures["acceptance_ratio"], p.figures["draft_ms"]
        rows.append(
            {
                "label": p.what,
                "parts": [["published", ratio, p.source, percent(ratio)]],
                "cells": ["–", percent(ratio), f"{1000 * ms:,.0f}"],
            }
        )
    return {
        "title": "Published HD results, for comparison",
        "unit": "tokens from multi-token rounds",
        "what": "databases",
        "end": 1.0,
        "rows": rows,
    }


def _published_orders() -> dict[str, Any]:
    rows = []
    for p in published.ORDERS:
        parts = [
            [s, v, f"{label(s)}: {percent(v)} of all tokens; {p.source}", percent(v)]
            for s, v in p.figures["shares"].items()
        ]
        name = p.what.replace(", ", " → ")
        rows.append(
            {
                "label": name,
                "parts": parts,
                "cells": [f"{p.figures['speedup']:.2f} ×"],
            }
        )
    unit = "share of all tokens, by source"
    return {
        "title": "Published HD results, for comparison",
        "unit": unit,
        "end": 1.0,
        "rows": rows,
        "columns": ["speed-up"],
    }
