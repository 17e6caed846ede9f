"""Figures of one run."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hsd_viz.bench.replay import BUDGETS, alone, available_databases
from hsd_viz.figures import panels
from hsd_viz.figures.bars import panel
from hsd_viz.figures.palette import ink, label
from hsd_viz.figures.panels import Panel
from hsd_viz.figures.style import INKS, QUIET, Given, figure, go, trace_of
from hsd_viz.trace import RoundRow, Trace

#: Decoding time without a call: sampling, verification, draft trees, bookkeeping.
BETWEEN = "between calls"
#: Target rounds averaged by :func:`throughput`.
WINDOW = 8


def target_rounds(trace: Trace) -> list[RoundRow]:
    """Return the target's rounds in order."""
    return [r for r in trace.round_rows if r.parent is None]


def by_source(trace: Given, dark: bool = False) -> go.Figure:
    """Plot emitted tokens by source."""
    trace = trace_of(trace)
    rows = sorted(trace.metrics()["emitted_by_source"].items(), key=lambda row: row[1])
    total = max(1, len(trace))
    bar = _bars([label(source) for source, _ in rows], [n for _, n in rows], "%{x} tokens")
    bar.update(marker_color=[ink(s, dark) for s, _ in rows], text=[f"{n} ({n / total:.0%})" for _, n in rows])
    words = ", ".join(f"{label(source)} {n} ({n / total:.0%})" for source, n in reversed(rows))
    axis = {"title": {"text": "emitted tokens"}, "rangemode": "tozero"}
    return figure([bar], "Tokens by source", words, dark, xaxis=axis, showlegend=False)


def acceptance(trace: Given, dark: bool = False) -> go.Figure:
    """Plot drafted and accepted tokens per target round, and the running mean acceptance length."""
    trace = trace_of(trace)
    rounds = target_rounds(trace)
    emitted = Counter(token.round for token in trace.token_rows)
    running, total = [], 0
    for place, row in enumerate(rounds, start=1):
        total += emitted[row.id]
        running.append(total / place)
    x = list(range(1, len(rounds) + 1))
    drafted, accepted = [r.drafted for r in rounds], [r.accepted for r in rounds]
    strong, muted, *_ = INKS[dark]
    mean = {"line": {"color": strong, "width": 2}, "hovertemplate": "%{y:.2f} tokens per round so far"}
    plain = {"line": {"color": muted, "width": 1, "dash": "dot"}, "hovertemplate": "%{y:.0f}"}
    count = {"hovertemplate": "%{y} tokens"}
    quiet = {"color": QUIET[dark], "line": {"color": muted, "width": 0.5}}
    data = [
        go.Bar(name="drafted", x=x, y=drafted, marker=quiet, **count),
        go.Bar(name="accepted", x=x, y=accepted, marker_color=ink("context", dark), width=0.5, **count),
        go.Scatter(name="mean acceptance length", x=x, y=running, mode="lines", **mean),
        go.Scatter(name="plain decoding", x=x, y=[1.0] * len(x), mode="lines", **plain),
    ]
    words = (
        f"rounds {len(rounds)}, tokens drafted {sum(drafted)}, accepted {sum(accepted)}; "
        f"maximum per round: drafted {max(drafted, default=0)}, accepted {max(accepted, default=0)}; "
        f"final mean acceptance length {running[-1] if running else 0:.2f}, plain decoding 1.00"
    )
    axes = {
        "xaxis": {"title": {"text": "round"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "tokens"}, "rangemode": "tozero"},
        "margin": {"t": 44, "b": 78},  # room for the legend below the axis
    }
    title = "Drafted and accepted tokens per round"
    about = {"text": panels.rates(trace)}
    return figure(data, title, words, dark, about=about, barmode="overlay", hovermode="x unified", **axes)


def time_rows(trace: Trace) -> list[tuple[str, str, float]]:
    """Return (level, kind of call, ms per emitted token) without prefill, and the time between calls as the first. They
    sum to the decoding time.
    """
    metrics = trace.metrics()
    calls = [c for c in metrics["calls_by_level"] if c["kind"] != "prefill"]
    tokens = max(1, metrics["tokens"])
    sums: Counter[tuple[str, str]] = Counter()
    for call in calls:
        sums[call["name"], call["kind"]] += call["seconds"]
    rows = [(name, kind, 1e3 * s / tokens) for (name, kind), s in sorted(sums.items(), key=lambda row: row[1])]
    rest = max(0.0, metrics["seconds"] - sum(sums.values()))
    return [(BETWEEN, "", 1e3 * rest / tokens), *rows] if rows else []


def time_spent(trace: Given, dark: bool = False) -> go.Figure:
    """Plot decoding time by level: forward passes and look-ups, and time between calls. Sums to the decode without
    prefill.
    """
    rows = time_rows(trace_of(trace))
    lookup = ink("lookup", dark)
    millis = [ms for *_, ms in rows]
    bar = _bars([f"{name}: {kind}" if kind else name for name, kind, _ in rows], millis, "%{x:.4f} ms per token")
    bar.update(marker_color=[ink(name, dark) if kind in ("verify", "draft") else lookup for name, kind, _ in rows])
    bar.update(text=[f"{ms:.3f}" if ms < 0.1 else f"{ms:.2f}" for ms in millis])
    said = ", ".join(f"{name} {kind}".strip() + f" {ms:.3f}" for name, kind, ms in rows)
    axis = {"title": {"text": "ms per emitted token"}, "rangemode": "tozero"}
    words = f"in ms per emitted token: {said}"
    return figure([bar], "Decoding time", words, dark, xaxis=axis, showlegend=False)


def throughput_points(trace: Trace, window: int = WINDOW) -> list[tuple[float, int, float]]:
    """Return (seconds after prefill, tokens so far, tokens/s over ``window`` rounds) after each target round."""
    emitted = Counter(token.round for token in trace.token_rows)
    prefill, total, found = trace.meta.get("prefill_ns", 0), 0, [(0.0, 0)]
    for row in sorted(target_rounds(trace), key=lambda r: r.start_ns):
        total += emitted[row.id]
        found.append((max(0, row.start_ns + row.duration_ns - prefill) / 1e9, total))
    points = []
    for place, (at, count) in enumerate(found[1:], start=1):
        before, had = found[max(0, place - window)]
        points.append((at, count, (count - had) / (at - before) if at > before else 0.0))
    return points


def throughput(trace: Given, dark: bool = False, *, window: int = WINDOW) -> go.Figure:
    """Plot tokens per second over time, averaged over ``window`` target rounds, and the speed of the whole decode."""
    if window < 1:
        raise ValueError(f"window={window} is out of range: use a whole number from 1")
    trace = trace_of(trace)
    points, whole = throughput_points(trace, window), trace.metrics()["tokens_per_second"] or 0.0
    ink_, *_, accent, _ = INKS[dark]
    xs, counts, ys = zip(*points, strict=True) if points else ((), (), ())
    title = "Decoding speed over time"
    line = go.Scatter(x=xs, y=ys, mode="lines", line={"color": accent, "width": 2}, customdata=counts)
    line.update(name=f"over the last {window} rounds", hovertemplate="%{y:.0f} tokens/s after %{customdata} tokens")
    mean = go.Scatter(x=[0, *xs[-1:]], y=[whole] * (1 + bool(xs)), mode="lines", name="whole decode")
    mean.update(line={"color": ink_, "width": 1.5, "dash": "dash"}, hovertemplate="%{y:.0f} tokens/s")
    span = f"from {min(ys):.0f} to {max(ys):.0f} tokens/s" if points else "no rounds"
    words = f"{span} over {window} rounds; {whole:.0f} tokens/s over the whole decode, prefill excluded"
    axes: dict[str, Any] = {
        "xaxis": {"title": {"text": "time after prefill, seconds"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "tokens per second"}, "rangemode": "tozero"},
        "margin": {"t": 44, "b": 78},
    }
    return figure([line, mean], title, words, dark, hovermode="x unified", **axes)


def acceptance_by_position(trace: Given, dark: bool = False, *, level: int | None = None) -> go.Figure:
    """Plot draft tokens by position and verdict, with the conditional acceptance at each position. ``level`` is the
    verifier's (default: the target).
    """
    return panel(_acceptance(trace, level, 0), dark)


def accepted_per_round(trace: Given, dark: bool = False, *, level: int | None = None) -> go.Figure:
    """Plot a histogram of rounds by number of accepted draft tokens. ``level`` is the verifier's (default: the
    target).
    """
    return panel(_acceptance(trace, level, 1), dark)


def acceptance_by_source(trace: Given, dark: bool = False, *, level: int | None = None) -> go.Figure:
    """Plot draft tokens by source and verdict, with each source's acceptance rate. ``level`` is the verifier's
    (default: the target).
    """
    return panel(_acceptance(trace, level, 2), dark)


def acceptance_by_match(trace: Given, dark: bool = False, *, level: int | None = None) -> go.Figure:
    """Plot draft tokens by the number of text tokens that a database matched. ``level`` is the verifier's (default: the
    target).
    """
    return panel(_acceptance(trace, level, 3), dark)


def matched_keys(trace: Given, dark: bool = False) -> go.Figure:
    """Plot the keys that database drafts came from, by length and database."""
    return panel(panels.keys_hit(trace_of(trace)), dark)


def drafters_alone(trace: Given, dark: bool = False, *, budget: int = BUDGETS[-1]) -> go.Figure:
    """Plot tokens per target forward pass of each drafter alone, replayed on the run's text without a model. ``budget``
    is the maximum number of draft tokens per round.
    """
    trace = trace_of(trace)
    if not len(trace):
        raise ValueError("the trace has no emitted tokens")
    return panel(panels.saved_alone(trace, alone(trace, available_databases(trace), budget), budget), dark)


def _acceptance(trace: Given, level: int | None, place: int) -> Panel:
    trace = trace_of(trace)
    levels = sorted({r.level for r in trace.round_rows})
    if level is not None and level not in levels:
        raise ValueError(f"level {level} did not verify: use one of {', '.join(map(str, levels)) or 'none'}")
    found = panels.acceptance_panels(trace, level)
    return found[place if len(found) > 1 else 0]


def _bars(names: list[str], values: list, words: str) -> go.Bar:
    """Return horizontal bars whose width looks the same for any number of them."""
    bar = go.Bar(orientation="h", y=names, x=values, width=min(0.72, 0.18 * len(names)), textposition="auto")
    return bar.update(hovertemplate=f"%{{y}}: {words}<extra></extra>", cliponaxis=False)
