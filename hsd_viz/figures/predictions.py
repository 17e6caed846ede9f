"""Figures of the latency law's predictions: stacks and levels beside measurements, and stacks on
other hardware.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from hsd_viz.errors import OF_ANOTHER_FORM, UserError
from hsd_viz.figures.bars import bars
from hsd_viz.figures.charts import FIRST_HOVER, INK, Figure, between, finish
from hsd_viz.figures.palette import HUES
from hsd_viz.figures.theme import Given, as_trace
from hsd_viz.latency import basis as calibrated
from hsd_viz.latency.basis import Basis, basis_of, read_json
from hsd_viz.latency.law import Law
from hsd_viz.latency.select import select
from hsd_viz.latency.traced_calibration import estimate
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.results.kinds import StackKind, Structure, structure_of
from hsd_viz.results.page import sentence
from hsd_viz.stack import TARGET
from hsd_viz.text import counted

TAGS = {
    "picked": "selected by the law",
    "best_measured": "fastest measured",
    "best_single_draft": "best single draft",
    "plain": "plain decoding",
}
#: Maximum rows of a ranking.
ROWS = 12


def ranking(plan: Any, dark: bool = False) -> Figure:
    """Plot stacks by ms per token, fastest first: predicted, and measured with intervals where
    available.

    ``plan`` is the JSON data or file of ``hsd-viz plan``, or a calibration (or an argument of
    :func:`~hsd_viz.latency.basis.basis_of`), ranked by the law.

    Raises:
        UserError: if ``plan`` is invalid.
    """
    source = ""
    if isinstance(plan, str | Path):
        source = f"from {Path(plan).name}"
        plan = read_json(plan)
    if isinstance(plan, Mapping) and "hierarchies" in plan:
        frame = plan_frame(plan)
        provenance = (
            source or f"calibrated and measured on {calibrated.place(plan.get('machine') or {})}"
        )
        measured_on = f"; measured on {plan['measured_on']}" if plan.get("measured_on") else ""
        note = f"Law and measurements, {provenance}{measured_on}."
    else:
        basis = basis_of(plan, source)
        frame = basis_frame(basis)
        note = basis.predicted
    # Sort by measured, else predicted.
    frame = frame.assign(ms=frame["dot"].fillna(frame["predicted"])).sort_values(
        "ms", ignore_index=True
    )
    rows = frame[(frame.index < ROWS) | frame["dot"].notna() | (frame["remark"] != "")]
    remainder = ""
    if len(rows) < len(frame):
        remainder = f" {counted(len(frame) - len(rows), 'slower stack')} not shown."
    text = f"Milliseconds per emitted token, without prefill, fastest first.{remainder}"
    return compared(rows, "Stacks, fastest first", text=text, note=note, dark=dark)


def plan_frame(plan: Mapping[str, Any]) -> pd.DataFrame:
    """Return the stacks of a plan's JSON data: ``stack, predicted, dot, low, high, remark``.

    Raises:
        UserError: if it is not a plan.
    """
    try:
        predicted = {
            str(row["stack"]): row.get("predicted_ms_per_token") for row in plan["hierarchies"]
        }
        stack_by_tag = {
            name: plan.get(name) for name in ("picked", "best_measured", "best_single_draft")
        }
        plain = next((stack for stack in predicted if " > " not in stack), None)
    except OF_ANOTHER_FORM:
        raise UserError("not a plan: use the JSON output of 'hsd-viz plan'") from None
    return _frame(predicted, calibrated.plan_measured(plan), {**stack_by_tag, "plain": plain})


def basis_frame(basis: Basis) -> pd.DataFrame:
    """Return the stacks ranked by the law on a calibration: ``stack, predicted, dot, low, high,
    remark``.
    """
    law = Law(basis.calibration)
    choice = select(basis.calibration)
    predicted: dict[str, float | None] = {
        p.stack: p.ms_per_token for p in (*choice.ranked, choice.plain)
    }
    for stack in basis.measured:
        with suppress(ValueError):  # never calibrated
            predicted.setdefault(stack, law.predict(stack).ms_per_token)
    single = choice.best_single_draft
    stack_by_tag = {
        "picked": choice.picked.stack,
        "best_single_draft": single and single.stack,
        "plain": choice.plain.stack,
    }
    return _frame(predicted, basis.measured, stack_by_tag)


def _frame(
    predicted: Mapping[str, float | None],
    runs: Mapping[str, Estimate],
    stack_by_tag: Mapping[str, Any],
) -> pd.DataFrame:
    rows = []
    for stack in dict.fromkeys([*predicted, *runs]):
        run = runs.get(stack, UNKNOWN)
        low, high = run.interval or (None, None)
        tags = [name for name, tagged in stack_by_tag.items() if tagged == stack]
        # One remark is enough where the fastest measured stack is the selected one.
        remark = ", ".join(
            TAGS[name] for name in tags if name != "best_measured" or "picked" not in tags
        )
        rows.append([stack, predicted.get(stack), run.value, low, high, remark])
    frame = pd.DataFrame(rows, columns=["stack", "predicted", "dot", "low", "high", "remark"])
    return frame.astype(dict.fromkeys(("predicted", "dot", "low", "high"), float))


def compared(
    frame: pd.DataFrame, title: str, *, text: str, note: str, dark: bool, sources: Any = "plain"
) -> Figure:
    """Return predicted ms per token as bars and measurements as dots with their intervals. The
    first column of the frame has the labels; ``predicted``, ``dot``, ``low`` and ``high`` follow;
    other columns are text.
    """
    errors = frame["predicted"] / frame["dot"] - 1
    rows = frame.iloc[:, :1].assign(
        predicted=frame["predicted"].map(_figure), measured=frame["dot"].map(_figure)
    )
    rows["law error"] = errors.map(_signed)
    if frame["low"].notna().any():
        rows["95 % interval"] = list(map(between, frame["low"], frame["high"]))
    texts = (
        frame.iloc[:, 1:]
        .drop(columns=["predicted", "ms"], errors="ignore")
        .rename(columns={"remark": ""})
    )
    rows = rows.join(texts).reset_index(drop=True)
    value = frame["predicted"].fillna(0.0).to_numpy()
    parts = pd.DataFrame({"row": range(len(rows)), "part": sources, "value": value})
    dots = "measured" if frame["dot"].notna().any() else ""
    return bars(
        rows,
        parts,
        title,
        "ms per token",
        text=text,
        note=note,
        dots=dots,
        faint="predicted by the latency law",
        dark=dark,
    )


def _figure(value: float) -> str:
    """Return a number with three digits, "–" where there is none."""
    return "–" if pd.isna(value) else f"{value:.3g}"


def _signed(share: float) -> str:
    """Return a share with its sign, "" where there is none."""
    return "" if pd.isna(share) else f"{share:+.0%}".replace("-", "−")


def levels(trace: Given, basis: Any = None, dark: bool = False) -> Figure:
    """Plot forward passes and time per emitted token by level: measured in the trace, and predicted
    by the law. Without ``basis`` the law uses this trace's acceptance and costs, so that
    differences are errors of the law.
    """
    trace = as_trace(trace)
    if not len(trace):
        raise UserError("the trace has no emitted tokens")
    basis = basis_of(basis or Basis(estimate([trace]), "estimated from this run"))
    prediction = Law(basis.calibration).predict(trace.stack)
    models = {c.name for c in trace.call_rows if c.kind in ("verify", "draft")}
    uses = calibrated.level_use(trace)
    sources = [TARGET]
    rows = [["all levels", prediction.ms_per_token, sum(use.ms for use in uses), "", ""]]
    for use, forwards, share in [
        *zip(uses, prediction.forwards_per_token, prediction.share, strict=True)
    ][::-1]:
        what = "forward passes" if use.name in models else "look-ups"
        counts = f"{forwards:.3g} / {use.forwards:.3g} {what} per token"
        rows.append(
            [
                use.name,
                share * prediction.ms_per_token,
                use.ms,
                counts,
                f"calls only {use.calls:.3g} ms",
            ]
        )
        # Look-ups have the neutral colour, as in the other charts.
        sources.append(use.name if use.name in models else "lookup")
    frame = pd.DataFrame(
        rows, columns=["level", "predicted", "dot", "predicted / measured", "calls"]
    )
    frame = frame.assign(low=np.nan, high=np.nan)
    text = (
        "A level's time: its calls (forward passes, look-ups), sampling, verification and "
        "bookkeeping in its rounds."
    )
    where = f"{counted(len(trace), 'token')} on {calibrated.machine_text(trace)}"
    note = (
        f"Measured in this trace ({where}); predicted by the "
        f"latency law; calibration {basis.source}."
    )
    title = f"Prediction and run by level: {prediction.stack}"
    return compared(frame, title, text=text, note=note, dark=dark, sources=sources)


# --- hardware that is not at hand -----------------------------------------------------------------

_SOURCES = (
    "predicted from step times and acceptances; every assumption is listed with the prediction"
)
#: The colour and the dash of the line of each structure, by its label. A hierarchy has the colour
#: of draft models of any name, other structures that of reports.
_LINES = {
    Structure.PLAIN.value: (StackKind.PLAIN.light, "dot"),
    Structure.DATABASE.value: (StackKind.DATABASE.light, "dash"),
    Structure.ONE_DRAFT.value: (StackKind.MODELS.light, "solid"),
    Structure.DRAFTS.value: (HUES["draft"].light, "longdash"),
    Structure.OVER_DATABASE.value: (StackKind.BOTH.light, "dashdot"),
}


def prediction(plan: Any, dark: bool = False, models: str = "") -> Figure:
    """Plot the speed-up over plain decoding by batch, a panel per context: the best stack of each
    kind, and the interval of the fastest as a band. ``plan`` is the result of
    :func:`hsd_viz.predict`. The axis of speed-ups does not begin at 0, so that differences are
    visible; the table has all intervals. ``models`` is what the title calls its models, by default
    their names.
    """
    frame = prediction_frame(plan)
    colours = {label: colour for label, (colour, _) in _LINES.items()}
    dashes = {label: dash for label, (_, dash) in _LINES.items()}
    figure = px.line(
        frame,
        x="batch",
        y="speedup",
        color="kind",
        line_dash="kind",
        facet_col="context",
        log_x=True,
        markers=True,
        custom_data=["hover"],
        color_discrete_map=colours,
        line_dash_map=dashes,
        category_orders={"kind": list(colours)},
    )
    figure.update_traces(hovertemplate=FIRST_HOVER)
    lines = figure.data
    for column, (_, of_context) in enumerate(frame.groupby("context"), start=1):
        band = interval_of_fastest(of_context)
        band.showlegend = column == 1
        figure.add_trace(band, row=1, col=column)
    # Behind the lines.
    figure.data = figure.data[len(lines) :] + figure.data[: len(lines)]
    ticks = sorted(frame["batch"].unique().tolist())
    figure.update_xaxes(tickvals=ticks, ticktext=[str(t) for t in ticks], title_text="batch")
    figure.update_yaxes(title_text="")
    figure.update_yaxes(title_text="speed, plain decoding = 1", col=1)
    figure.for_each_annotation(
        lambda a: a.update(text=f"context {int(a.text.partition('=')[2]):,}")
    )
    cards = f"{plan.tp} × {plan.gpu}" if plan.tp > 1 else plan.gpu
    rows = []
    for row in frame.itertuples():
        interval = between(row.speedup - row.down, row.speedup + row.up, "{:.2f}")
        rows.append([row.stack, row.batch, row.context, f"{row.speedup:.2f}", interval])
    return finish(
        figure,
        f"Predicted: {models or ', '.join(plan.models)} on {cards}",
        text=(
            f"{fastest_text(frame)} Lines: the best stack of each kind by batch. "
            "Band: the interval of the fastest. The axis does not begin at 0."
        ),
        note=" ".join(map(sentence, [*plan.answers(), _SOURCES])),
        table=[["stack", "batch", "context", "speed-up", "interval"], *rows],
        dark=dark,
        height=360,
    )


def interval_of_fastest(frame: pd.DataFrame) -> go.Scatter:
    """Return a band over the batches of one context: the interval of the largest speed-up."""
    best = frame.loc[frame.groupby("batch")["speedup"].idxmax()]
    low = best["speedup"] - best["down"]
    high = best["speedup"] + best["up"]
    batches = best["batch"].tolist()
    return go.Scatter(
        x=batches + batches[::-1],
        y=[*low, *high[::-1]],
        name="interval of the fastest",
        mode="none",
        fill="toself",
        fillcolor=INK.grid,
        hoverinfo="skip",
    )


def fastest_text(frame: pd.DataFrame) -> str:
    """Describe the fastest kinds at the first batch and context of a :func:`prediction_frame`: all
    whose intervals overlap with that of the largest speed-up.
    """
    first = frame[frame["context"] == frame["context"].min()]
    first = first[first["batch"] == first["batch"].min()]
    first = first.sort_values("speedup", ascending=False)
    best = first.iloc[0]
    lowest = best["speedup"] - best["down"]
    contenders = first[first["speedup"] + first["up"] >= lowest]
    names = [f"{row.kind} {row.speedup:.2f}\N{NO-BREAK SPACE}×" for row in contenders.itertuples()]
    where = f"At batch {best['batch']}, context {best['context']:,}"
    if len(names) == 1:
        return f"{where}: {names[0]} plain decoding is fastest."
    return (
        f"{where}: {', '.join(names[:-1])} and {names[-1]} plain decoding are not separable, "
        "because their intervals overlap."
    )


def prediction_frame(plan: Any) -> pd.DataFrame:
    """Return the best stack of each kind by batch and context: ``kind, stack, batch, context,
    speedup, up, down``.
    """
    frame = pd.DataFrame(map(_prediction_row, plan.rows))
    best = frame.groupby(["kind", "batch", "context"])["speedup"].idxmax()
    return frame.loc[best].sort_values(["context", "kind", "batch"], ignore_index=True)


def _prediction_row(row: Any) -> dict[str, Any]:
    speedup = row.speedup_over_plain.value
    low, high = row.speedup_over_plain.ends
    label = row.stack if row.fits else f"{row.stack} (does not fit)"
    return {
        "kind": structure_of(row.levels).value,
        "stack": row.stack,
        "batch": row.batch,
        "context": row.context,
        "speedup": speedup,
        "up": high - speedup,
        "down": speedup - low,
        "hover": f"{label}<br>batch {row.batch}: {speedup:.2f} times plain decoding",
    }
