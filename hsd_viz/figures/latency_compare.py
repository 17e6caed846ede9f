"""Figures of predicted latency beside measurements: stacks in a ranking, and one run by level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hsd_viz.calibration.basis import (
    Basis,
    Measured,
    basis_of,
    level_use,
    machine_words,
    measured,
    plan_machine,
    plan_measured,
    read_json,
    unseen,
)
from hsd_viz.calibration.estimate import estimate
from hsd_viz.figures.bars import compared
from hsd_viz.figures.palette import HUES, family
from hsd_viz.figures.style import Given, go, trace_of
from hsd_viz.latency.law import Law
from hsd_viz.latency.select import Choice, select
from hsd_viz.stack import StackError, parse
from hsd_viz.words import counted

TAGS = {
    "pick": "selected by the law",
    "fastest": "fastest measured",
    "single": "best single draft",
    "plain": "plain decoding",
}
#: Maximum rows of a ranking.
ROWS = 12


def ranking(
    plan: Any,
    dark: bool = False,
    *,
    measured: Mapping[str, Measured | float] | None = None,
    choice: Choice | None = None,
    source: str = "",
    rows: int = ROWS,
) -> go.Figure:
    """Plot stacks by ms per token, fastest first: predicted, and measured with intervals where available.

    ``plan`` is the JSON data or file of ``hsd-viz plan``, or a calibration (or an argument of
    :func:`~hsd_viz.calibration.basis.basis_of`), ranked by the law. ``measured`` adds ms per token by stack.
    Raises: ValueError: if ``plan`` is invalid.
    """
    if isinstance(plan, str | Path):
        plan, source = read_json(plan), source or f"from {Path(plan).name}"
    if isinstance(plan, Mapping) and "hierarchies" in plan:
        return compared(_from_plan(plan, measured or {}, source, rows), dark)
    basis = basis_of(plan, source)
    measured = basis.measured if measured is None else measured
    return compared(_from_basis(basis, measured, choice, rows), dark)


def levels(trace: Given, basis: Any = None, dark: bool = False, *, source: str = "") -> go.Figure:
    """Plot forward passes and time per emitted token by level: measured in the trace, and predicted by the law. Without
    ``basis`` the law uses this trace's acceptance and costs, so that differences are errors of the law.
    """
    trace = trace_of(trace)
    if not len(trace):
        raise ValueError("the trace has no emitted tokens")
    if basis is None:
        basis = Basis(estimate([trace]).calibration(), "estimated from this run")
    basis = basis_of(basis, source)
    prediction = Law(basis.calibration).predict(trace.stack)
    models = {c.name for c in trace.call_rows if c.kind in ("verify", "draft")}
    uses = level_use(trace)
    total = sum(u.ms for u in uses)
    forwards, times = [], []
    for use, n, share in zip(uses, prediction.forwards_per_token, prediction.share, strict=True):
        # Look-ups have the neutral colour, as in the other charts.
        looked = use.name not in models
        hue = HUES["baseline" if looked and family(use.name) == "draft" else family(use.name)]
        what, colours = "look-ups" if looked else "forwards", {"light": hue.light, "dark": hue.dark}
        forwards.append(_row(f"{use.name}, {what}", n, Measured(use.forwards)) | {"hue": colours})
        ms = share * prediction.ms_per_token
        parts = f"{use.ms / total:.0%} of the time, {share:.0%} predicted; calls only {use.calls:.2f} ms"
        times.append(_row(use.name, ms, Measured(use.ms)) | {"hue": colours, "note": parts})
    whole = measured([trace])[trace.stack]
    times.append(_row("all levels", prediction.ms_per_token, whole))
    spec = {
        "title": f"Prediction and run by level: {prediction.stack}",
        "groups": [
            {"title": "Forward passes per emitted token", "unit": "per token", "rows": forwards[::-1], "what": "level"},
            {"title": "Time per emitted token", "unit": "ms", "rows": [times[-1], *times[-2::-1]], "what": "level"},
        ],
        "text": "A level's time: its calls (forward passes, look-ups; shown alone in the Acceptance tab) plus "
        "sampling, verification and bookkeeping in its rounds.",
        "source": f"Measured in this trace ({counted(len(trace), 'token')} on {machine_words(trace)}); "
        f"predicted by the latency law; calibration {basis.source}.",
    }
    return compared(spec, dark)


def _from_basis(
    basis: Basis, measurements: Mapping[str, Measured | float], choice: Choice | None, rows: int
) -> dict[str, Any]:
    choice = choice or select(basis.calibration)
    law = Law(basis.calibration)
    found = {p.stack: p.ms_per_token for p in (*choice.ranked, choice.plain)}
    for stack in measurements:
        if stack not in found and (ms := _predicted(law, stack)) is not None:
            found[stack] = ms
    single = choice.best_single_draft
    tags = {choice.plain.stack: ["plain"]}
    if single is not None:
        tags.setdefault(single.stack, []).append("single")
    tags.setdefault(choice.picked.stack, []).insert(0, "pick")
    known = any(isinstance(run, Measured) and run.low is not None for run in measurements.values())
    where = "measured intervals: spread over runs" if known else ""
    spec = _ranking(found, measurements, tags, f"Predicted by the latency law; calibration {basis.source}", where, rows)
    if missed := unseen(basis.calibration):
        spec["text"] += f" Not measured, so excluded: {', '.join(missed)}."
        for row in spec["groups"][0]["rows"]:
            row["tags"] = [
                [tag, f"{words} of the calibration" if tag == "single" else words] for tag, words in row["tags"]
            ]
    return spec


def _from_plan(plan: Mapping[str, Any], more: Mapping[str, Measured | float], source: str, rows: int) -> dict[str, Any]:
    try:
        found = {str(row["stack"]): row.get("predicted_ms_per_token") for row in plan["hierarchies"]}
        tags: dict[str, list[str]] = {}
        fastest = plan.get("best_measured") if plan.get("best_measured") != plan.get("picked") else None
        for tag, stack in (
            ("pick", plan.get("picked")),
            ("fastest", fastest),
            ("single", plan.get("best_single_draft")),
            ("plain", _plain(found)),
        ):
            if stack:
                tags.setdefault(str(stack), []).append(tag)
    except (KeyError, TypeError, AttributeError):
        raise ValueError("not a plan: use the JSON output of 'hsd-viz plan'") from None
    place = plan_machine(plan)
    words = source or (f"calibrated and measured on {place}" if place else "from the given plan")
    where = f"measured on {plan['measured_on']}" if plan.get("measured_on") else ""
    return _ranking(found, {**plan_measured(plan), **more}, tags, f"Law and measurements, {words}", where, rows)


def _plain(stacks: Iterable[str]) -> str | None:
    for written in stacks:
        try:
            stack = parse(written)
        except StackError:
            continue
        if len(stack.parts) == 1:
            return written
    return None


def _predicted(law: Law, stack: str) -> float | None:
    try:
        return law.predict(stack).ms_per_token
    except ValueError:
        return None


def _ranking(
    found: Mapping[str, float | None], measurements, tags, source: str, where: str, most: int
) -> dict[str, Any]:
    rows = []
    for stack in dict.fromkeys([*found, *measurements]):
        row = _row(stack, found.get(stack), measurements.get(stack))
        row["tags"] = [[t, TAGS[t]] for t in tags.get(stack, ())]
        rows.append(row)
    # Sort by measured, else predicted.
    rows.sort(key=lambda r: r["measured"] if r["measured"] is not None else r["predicted"])
    kept = rows[:most] + [r for r in rows[most:] if r["tags"] or r["measured"] is not None]
    left = f" {counted(len(rows) - len(kept), 'slower stack')} not shown." if len(kept) < len(rows) else ""
    any_measured = any(r["measured"] is not None for r in rows)
    mixed = any_measured and any(r["measured"] is None for r in rows)
    order = (
        "measured, else predicted, latency" if mixed else "measured latency" if any_measured else "predicted latency"
    )
    return {
        "title": "Stacks, fastest first",
        "groups": [{"title": "", "unit": "ms per token", "rows": kept, "what": "stack"}],
        "text": f"Milliseconds per emitted token, without prefill, ordered by {order}.{left}",
        "source": f"{source}{'; ' + where if where else ''}.",
    }


def _row(label: str, predicted: float | None, run: Measured | float | None) -> dict[str, Any]:
    run = Measured(float(run)) if isinstance(run, int | float) else run
    ms, low, high = (None, None, None) if run is None else (run.ms_per_token, run.low, run.high)
    off = None if predicted is None or not ms else predicted / ms - 1
    return {"label": label, "predicted": predicted, "measured": ms, "low": low, "high": high, "off": off, "tags": []}
