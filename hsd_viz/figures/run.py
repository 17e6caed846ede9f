"""Figures of one run, beside those that the page draws itself (:class:`hsd_viz.views.Panels`)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hsd_viz.figures.bars import bars
from hsd_viz.figures.charts import INK, Figure, finish
from hsd_viz.figures.palette import label, pale
from hsd_viz.figures.theme import Given, as_trace
from hsd_viz.trace import Trace


def acceptance(trace: Given, dark: bool = False) -> Figure:
    """Plot drafted and accepted tokens per target round, and the running mean acceptance length."""
    trace = as_trace(trace)
    rounds = trace.rounds[trace.rounds["parent"].isna()].reset_index(drop=True)
    emitted = rounds["id"].map(trace.tokens.groupby("round").size()).fillna(0).astype(int)
    number = np.arange(1, len(rounds) + 1)
    figure = go.Figure(layout={"barmode": "overlay", "hovermode": "x unified"})
    figure.add_bar(
        x=number,
        y=rounds["drafted"],
        name="drafted",
        marker_color=pale(INK.muted),
        hovertemplate="%{y} tokens",
    )
    figure.add_bar(
        x=number,
        y=rounds["accepted"],
        name="accepted",
        marker_color=INK.accent,
        width=0.5,
        hovertemplate="%{y} tokens",
    )
    figure.add_scatter(
        x=number,
        y=emitted.cumsum() / number,
        name="mean acceptance length",
        mode="lines",
        line={"color": INK.text},
        hovertemplate="%{y:.2f} tokens per round so far",
    )
    figure.add_scatter(
        x=number,
        y=np.ones(len(rounds)),
        name="plain decoding",
        mode="lines",
        line={"color": INK.muted, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.update_xaxes(title_text="round", rangemode="tozero").update_yaxes(
        title_text="tokens", rangemode="tozero"
    )
    table = [
        ["whole run", "number"],
        *([name, rounds[name].sum()] for name in ("drafted", "accepted")),
    ]
    title = "Drafted and accepted tokens per round"
    return finish(
        figure, title, text=rates(trace), table=[*table, ["rounds", len(rounds)]], dark=dark
    )


def rates(trace: Trace) -> str:
    """Return a sentence with the rates of the run at the target; "" without drafts."""
    m = trace.metrics()
    rate = m["acceptance_rate"]
    conditional = m["conditional_acceptance"]
    length = m["mean_acceptance_length"]
    if rate is None or conditional is None:
        return ""
    return (
        f"Acceptance rate {rate:.0%} (accepted / drafted), conditional acceptance "
        f"{conditional:.0%} (accepted / "
        f"examined), mean acceptance length {length:.2f} (tokens per target forward pass). The "
        "line is the running "
        "mean over rounds."
    )


def by_source(trace: Given, dark: bool = False) -> Figure:
    """Plot emitted tokens by source."""
    trace = as_trace(trace)
    counts = trace.tokens.groupby("source").size().sort_values(ascending=False)
    share = [f"{n} ({n / len(trace):.0%})" for n in counts]
    rows = pd.DataFrame({"source": [label(s) for s in counts.index], "tokens": share})
    parts = pd.DataFrame(
        {"row": range(len(counts)), "part": counts.index, "value": counts.to_numpy()}
    )
    text = (
        "A token counts for the source that proposed it first; the "
        "target's own are corrections and bonus tokens."
    )
    return bars(
        rows, parts, "Tokens by source", "emitted tokens", legend=False, text=text, dark=dark
    )
