"""Views without scripts: what a static page can show of each, as plain HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.card import card, escape, line, table
from hsd_viz.trace import Trace

#: Rows and tokens that a static form shows.
ROWS, TOKENS = 40, 600
_VERDICTS = {
    "accepted": "text-decoration:underline",
    "correction": "outline:1px dashed",
    "bonus": "border-bottom:1px dotted",
}
_NOTE = "Static form of an interactive view: run the notebook to use it."


def still(view: Any) -> str:
    """Return a view's static form: its title, description and values."""
    return f"{_content(view)}{line(_NOTE)}"


def _content(view: Any) -> str:
    name = type(view).__name__
    trace = getattr(view, "trace", None)
    if isinstance(trace, Trace):
        return _tokens(trace) if hasattr(view, "ghosts") else trace._repr_html_()
    if drawn := getattr(getattr(view, "plot", view), "drawn", None):
        return _chart(drawn["layout"])
    if spec := getattr(view, "spec", None):
        return _chart({"meta": {**spec, "note": spec.get("source")}})
    if picked := getattr(view, "picked", None):
        gain = picked.get("over_plain")
        speed = f"{1 + gain:.2f} times the speed of plain decoding, as predicted." if gain is not None else ""
        return card("Fastest stack", picked.get("stack", ""), line(speed), line(picked.get("words", "")))
    if rows := (getattr(view, "data", None) or {}).get("table"):
        runs = view.data["runs"]
        head = ["", *(f"{run['letter']}: {run['stack']}" for run in runs)]
        cells = [[row["name"], *(cell["value"] for cell in row["cells"])] for row in rows]
        return card("Comparison", f"{len(runs)} runs", table(head, cells))
    if hasattr(view, "shown") and hasattr(view, "parts"):
        return card("Stack", view.shown)
    if hasattr(view, "epsilon"):
        return card("Verification rules", "", table(("token", "p"), [*zip(view.tokens, view.p, strict=True)]))
    if hasattr(view, "cols"):
        return "".join(_content(child) for child in view.children)
    return card(name, "")


def _chart(layout: Mapping[str, Any]) -> str:
    """Return the words and values of a chart."""
    meta = layout.get("meta") or {}
    title = meta.get("title") or (layout.get("title") or {}).get("text") or "Figure"
    head, *rows = meta.get("table") or [()]
    values = table(head, rows[:ROWS]) if rows else ""
    verdict = line(meta.get("verdict", {}).get("text", ""))
    return card(title, "", verdict, line(meta.get("text", "")), values, line(meta.get("note", "")))


def _tokens(trace: Trace) -> str:
    """Return the text with each token's verdict as its decoration and its source as its title."""
    from hsd_viz.figures.palette import label

    about = lambda t: escape(f"{label(t.source)}, {t.kind}")
    spans = [
        f'<span style="{_VERDICTS.get(t.kind, "")}" title="{about(t)}">{escape(t.text)}</span>'
        for t in trace.token_rows[:TOKENS]
    ]
    more = f" … {len(trace) - TOKENS} more tokens" if len(trace) > TOKENS else ""
    key = "Underlined: accepted. Dashed frame: correction. Dotted: bonus. Plain: no draft."
    stack = trace.stack or "?"
    pre = f'<pre style="white-space:pre-wrap">{"".join(spans)}{escape(more)}</pre>'
    return card("Tokens", stack, pre, line(key))
