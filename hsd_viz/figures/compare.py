"""Figures that compare two or more runs of one prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hsd_viz.figures.run import target_rounds, throughput_points
from hsd_viz.figures.style import INKS, Given, figure, go, legend_room, trace_of
from hsd_viz.trace import Trace
from hsd_viz.words import counted

DASHES = ("solid", "dash", "dot", "dashdot")
MOST = len(DASHES)
#: Tokens of the last, open class of :func:`tokens_per_forward`.
LONGEST = 12


def race(traces: Iterable[Given], dark: bool = False) -> go.Figure:
    """Plot emitted tokens over the time after prefill, one line per run."""
    runs = _runs(traces)
    data = []
    for (name, trace), style in zip(runs, _styles(dark), strict=False):
        points = throughput_points(trace)
        xs, ys = [0.0, *(1e3 * at for at, *_ in points)], [0, *(count for _, count, _ in points)]
        hover = "%{y} tokens after %{x:.0f} ms"
        data.append(go.Scatter(x=xs, y=ys, name=name, line=style | {"shape": "hv"}, mode="lines", hovertemplate=hover))
    words = "; ".join(f"{name}: {_end(trace)}" for name, trace in runs)
    return _lines(data, "Tokens over time", words, dark, "time after prefill, ms", "emitted tokens")


def emission_times(trace: Trace) -> list[float]:
    """Return the time of each emitted token in ms after prefill: the end of its target round."""
    prefill = trace.meta.get("prefill_ns", 0)
    ends = {r.id: (r.start_ns + r.duration_ns - prefill) / 1e6 for r in target_rounds(trace)}
    return [ends[token.round] for token in trace.token_rows]


def race_deltas(traces: Iterable[Given], dark: bool = False) -> go.Figure:
    """Plot how far each run is ahead of the first at every output position, in ms; below zero it is behind."""
    runs = _runs(traces)
    first, start = runs[0][0], emission_times(runs[0][1])
    data, said = [], []
    for (name, trace), style in list(zip(runs, _styles(dark), strict=False))[1:]:
        ahead = [a - b for a, b in zip(start, emission_times(trace), strict=False)]
        xs = list(range(1, len(ahead) + 1))
        hover = f"position %{{x}}: %{{y:.0f}} ms ahead of {first.split(':')[0]}"
        data.append(go.Scatter(x=xs, y=ahead, name=name, line=style, mode="lines", hovertemplate=hover))
        said.append(f"{name} is {abs(ahead[-1]):.0f} ms {'ahead' if ahead[-1] >= 0 else 'behind'} at position {xs[-1]}")
    fig = _lines(data, f"Time ahead of {first}", "; ".join(said), dark, "output position, tokens", "ms ahead")
    return fig.add_hline(y=0, line={"color": INKS[dark][1], "width": 1.5, "dash": "dot"})


def tokens_per_forward(traces: Iterable[Given], dark: bool = False) -> go.Figure:
    """Plot the share of target rounds by number of emitted tokens, the target's own included."""
    runs = _runs(traces)
    counts = [rounds_by_tokens(trace) for _, trace in runs]
    classes = range(min(map(min, counts)), max(map(max, counts)) + 1)
    names = [f"{k}+" if k == LONGEST else str(k) for k in classes]
    data = []
    patterns = ("", "/", ".", "x")
    for (name, _), count, style, shape in zip(runs, counts, _styles(dark), patterns, strict=False):
        n = count.total()
        marker = {"color": style["color"], "pattern": {"shape": shape, "fgcolor": INKS[dark][3], "fillmode": "overlay"}}
        bar = go.Bar(x=names, y=[count[k] / n for k in classes], name=name, marker=marker)
        bar.update(customdata=[count[k] for k in classes])
        data.append(bar.update(hovertemplate=f"%{{customdata}} of {counted(n, 'round')}: %{{y:.0%}}"))
    words = "; ".join(f"{name}: {trace.metrics()['mean_acceptance_length']:.2f} on average" for name, trace in runs)
    fig = _lines(data, "Tokens per target forward pass", words, dark, "emitted tokens", "share of rounds")
    return fig.update_layout(barmode="group").update_yaxes(tickformat=".0%").update_xaxes(type="category")


def rounds_by_tokens(trace: Trace) -> Counter[int]:
    """Return the number of target rounds by emitted tokens; :data:`LONGEST` counts all longer ones."""
    emitted = Counter(token.round for token in trace.token_rows)
    return Counter(min(emitted[r.id], LONGEST) for r in target_rounds(trace))


def _runs(given: Iterable[Given]) -> list[tuple[str, Trace]]:
    """Return the runs with their names. Raises: ValueError: if they cannot be compared."""
    traces = [trace_of(one) for one in ([given] if isinstance(given, Trace | str) else given)]
    if not 2 <= len(traces) <= MOST:
        raise ValueError(f"{counted(len(traces), 'run')} cannot be compared: use 2 to {MOST} runs of one prompt")
    if not all(trace.token_rows for trace in traces):
        raise ValueError("a run without emitted tokens cannot be compared")
    if len({str(trace.meta.get("prompt")) for trace in traces}) > 1:
        raise ValueError("the runs have different prompts: use runs of one prompt")
    return [(f"{letter}: {t.stack or 'unknown stack'}", t) for letter, t in zip("ABCD", traces, strict=False)]


def _styles(dark: bool) -> list[dict[str, Any]]:
    """Return a line style per run: runs differ by dash as well as by colour."""
    ink, muted, _, _, accent, loss = INKS[dark]
    return [{"color": c, "width": 2, "dash": d} for c, d in zip((ink, accent, loss, muted), DASHES, strict=True)]


def _lines(data: Sequence[Any], title: str, words: str, dark: bool, x: str, y: str) -> go.Figure:
    margin = {"t": 44, "b": legend_room(trace.name for trace in data)}
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}, "margin": margin}
    return figure(list(data), title, words, dark, height=360, showlegend=True, hovermode="x unified", **axes)


def _end(trace: Trace) -> str:
    m = trace.metrics()
    return f"{counted(m['tokens'], 'token')} in {1e3 * m['seconds']:.0f} ms, {m['tokens_per_second'] or 0:.0f} tokens/s"
