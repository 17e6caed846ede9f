"""Distributions of compared runs: tokens per forward pass, acceptance, sources, target probabilities.

One pair of runs can reveal only gross faults: every share has its sample size, every mean its standard error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hsd_viz.trace import Trace
from hsd_viz.views.run_data import number
from hsd_viz.views.versus_data import LETTERS, agreement
from hsd_viz.words import counted

#: Tokens of the last, open class of tokens per forward pass.
LONGEST = 12
#: Bins of the target's probability.
BINS = 10
#: Bars with fewer samples are drawn pale.
FEW = 5
#: Minimum output positions per stretch, and maximum stretches per text.
STRETCH, STRETCHES = 16, 16

#: The classes of one run: (bar height, sample size, text); ``None``: no bar.
_Bar = tuple[float | None, int, str]


def rounds_by_tokens(trace: Trace) -> Counter[int]:
    """Return the number of target rounds by emitted tokens; :data:`LONGEST` counts all longer ones."""
    emitted = Counter(token.round for token in trace.token_rows)
    return Counter(min(emitted[r.id], LONGEST) for r in trace.round_rows if r.parent is None)


def draws(traces: Sequence[Trace]) -> dict[str, Any]:
    """Return the distributions of runs: ``{words, rows, charts}``.

    ``rows`` are as in :func:`hsd_viz.views.versus_table.table`. ``charts``: ``{name, definition, classes, labels (short
    class names), sources (whether classes are sources), most (the highest bar), scale (as text), few, runs: [{letter,
    n, bars: [[value, sample size, text]]}]}``. Target probabilities are included only if recorded and if texts differ.
    """
    charts = [_lengths(traces), _places(traces), _sources(traces)]
    states = {row["state"] for row in agreement(traces)}
    apart = "apart" in states
    known = all(
        t.token_rows and all(row.p is not None and row.entropy is not None for row in t.token_rows) for t in traces
    )
    rows = []
    if apart and known:
        charts += [_probabilities(traces), _stretches(traces)]
        rows = [_mean_row(*named, traces, of) for named, of in _MEANS]
    return {"words": _words(traces, states), "rows": rows, "charts": [c for c in charts if c is not None]}


def _words(traces: Sequence[Trace], states: set[str]) -> str:
    own = "Tokens per target forward pass and sources may still differ."
    if "broken" in states:
        return "The texts differ although they must agree (see above), so the distributions below are not comparable."
    if "apart" not in states:
        return f"The texts agree. {own}"
    least = min(len(t) for t in traces)
    return (
        "The texts differ, which is allowed for draft models above temperature 0: only distributions must agree. One "
        f"text of each run, at least {counted(least, 'token')} long, can reveal a gross fault but not show that "
        "distributions are equal. The tests draw hundreds of thousands of tokens for each verification rule "
        f"(tests/lossless). {own}"
    )


def _bars(pairs: Sequence[tuple[int, int]], one: str, many: str) -> list[_Bar]:
    """Build bars of shares from (count, sample size)."""
    return [
        (number(k / n) if n else None, n, f"{k} of {n} {one if n == 1 else many}" + (f", {k / n:.0%}" if n else ""))
        for k, n in pairs
    ]


def _chart(
    name: str,
    definition: str,
    classes: Sequence[str],
    runs: Sequence[tuple[int, list[_Bar]]],
    labels: Sequence[str] | None = None,
    sources: bool = False,
    write: Callable[[float], str] = "{:.0%}".format,
) -> dict[str, Any]:
    most = max((value for _, bars in runs for value, _, _ in bars if value is not None), default=0)
    listed = [
        {"letter": letter, "n": n, "bars": [list(b) for b in bars]}
        for letter, (n, bars) in zip(LETTERS, runs, strict=False)
    ]
    return {
        "name": name,
        "definition": definition,
        "classes": list(classes),
        "labels": list(labels or classes),
        "sources": sources,
        "most": most,
        "scale": f"full height: {write(most)}",
        "few": FEW,
        "runs": listed,
    }


def _lengths(traces: Sequence[Trace]) -> dict[str, Any]:
    """Build a histogram of tokens per target round."""
    found = [rounds_by_tokens(trace) for trace in traces]
    # A round cut to zero tokens emitted none.
    lengths = range(min(1, *(min(c) for c in found)), max(max(c) for c in found) + 1)
    runs = [(c.total(), _bars([(c[k], c.total()) for k in lengths], "round", "rounds")) for c in found]
    classes = [f"{k}+" if k == LONGEST else str(k) for k in lengths]
    return _chart(
        "Tokens per target forward pass",
        "Target rounds by emitted tokens, the target's own included. The mean is the mean acceptance length.",
        classes,
        runs,
    )


def _places(traces: Sequence[Trace]) -> dict[str, Any] | None:
    """Build acceptance by draft position, over examined drafts."""
    deepest = min(LONGEST, max((r.examined for t in traces for r in t.round_rows if r.parent is None), default=0))
    if not deepest:
        return None
    runs = []
    for trace in traces:
        top = [r for r in trace.round_rows if r.parent is None]
        pairs = [
            (sum(r.accepted >= d for r in top if r.examined >= d), sum(r.examined >= d for r in top))
            for d in range(1, deepest + 1)
        ]
        runs.append((sum(n for _, n in pairs), _bars(pairs, "examined", "examined")))
    return _chart(
        "Acceptance by draft position",
        "Share of drafts examined at this position whose token (in a tree: one of whose tokens) was accepted. Pale: "
        f"fewer than {FEW} samples.",
        [str(d) for d in range(1, deepest + 1)],
        runs,
    )


def _sources(traces: Sequence[Trace]) -> dict[str, Any]:
    counts = [Counter(t.source for t in trace.token_rows) for trace in traces]
    names = sorted({s for c in counts for s in c}, key=lambda s: (s == "target", -sum(c[s] for c in counts), s))
    runs = [(c.total(), _bars([(c[s], c.total()) for s in names], "token", "tokens")) for c in counts]
    words = "Emitted tokens by first source; the target’s are corrections, bonus and plain tokens."
    return _chart("Token sources", words, names, runs, sources=True)


def _probabilities(traces: Sequence[Trace]) -> dict[str, Any]:
    runs = []
    for trace in traces:
        counts = Counter(min(BINS - 1, int(t.p * BINS)) for t in trace.token_rows if t.p is not None)
        runs.append((counts.total(), _bars([(counts[k], counts.total()) for k in range(BINS)], "token", "tokens")))
    classes = [f"{k / BINS:g}–{(k + 1) / BINS:g}" for k in range(BINS)]
    words = "Emitted tokens by the target’s probability at temperature 1, in tenths."
    return _chart("Token probability", words, classes, runs, [f"{k / BINS:g}".lstrip("0") or "0" for k in range(BINS)])


def _stretches(traces: Sequence[Trace]) -> dict[str, Any]:
    longest, stretch = max(len(t) for t in traces), STRETCH
    while longest > stretch * STRETCHES:
        stretch *= 2
    firsts = range(0, longest, stretch)
    runs = []
    for trace in traces:
        bars: list[_Bar] = []
        for first in firsts:
            values = [_surprise(t) for t in trace.token_rows[first : first + stretch]]
            mean = sum(values) / len(values) if values else None
            words = "no token" if mean is None else f"{mean:.2f} nats, {counted(len(values), 'token')}"
            bars.append((None if mean is None else number(mean), len(values), words))
        runs.append((len(trace), bars))
    words = f"Mean −ln p over stretches of {stretch} output positions, p the target’s probability at temperature 1."
    return _chart(
        "Surprisal along the text",
        words,
        [f"{k + 1}–{k + stretch}" for k in firsts],
        runs,
        [str(k + 1) for k in firsts],
        write="{:.2f} nats".format,
    )


# --- means


def _surprise(token: Any) -> float:
    # A recorded probability of 0 was rounded.
    return -math.log(max(token.p, 1e-12))


_MEANS: tuple[tuple[tuple[str, str], Callable[[Any], float]], ...] = (
    (
        (
            "Mean log-probability",
            "Mean of ln p over emitted tokens, p the target’s probability at temperature 1; ± is the standard error "
            "for independent tokens, which underestimates the true error.",
        ),
        lambda t: -_surprise(t),
    ),
    (
        (
            "Mean entropy",
            "Mean entropy of the target’s distribution at temperature 1, in nats, over output positions; ± as above.",
        ),
        lambda t: t.entropy,
    ),
)


def _mean_row(name: str, definition: str, traces: Sequence[Trace], of: Callable[[Any], float]) -> dict[str, Any]:
    found = [_mean([of(t) for t in trace.token_rows]) for trace in traces]
    cells = []
    for k, (mean, error) in enumerate(found):
        # Equal texts have equal means.
        same = traces[k].token_ids == traces[0].token_ids
        difference = (
            "" if not k else "the same text" if same else _signed(mean - found[0][0]) + _give(error, found[0][1])
        )
        cells.append({"value": f"{mean:.2f}".replace("-", "−") + _give(error), "difference": difference})
    return {"name": name, "definition": definition, "part": False, "cells": cells}


def _give(*errors: float | None) -> str:
    """Return the standard error of a difference of means as text, or "" if one is unknown."""
    known = [e for e in errors if e is not None]
    return f" ± {math.hypot(*known):.2f}" if len(known) == len(errors) else ""


def _signed(x: float) -> str:
    return f"{'+' if x >= 0 else '−'}{abs(x):.2f}"


def _mean(values: Sequence[float]) -> tuple[float, float | None]:
    """Return mean and standard error (``None`` for a single value)."""
    n = len(values)
    mean = sum(values) / n
    return mean, math.sqrt(sum((x - mean) ** 2 for x in values) / (n - 1) / n) if n > 1 else None
