"""Figures of one run: counts of the trace's own tables.

*Acceptance rate* = accepted / drafted, *conditional acceptance* = accepted / examined.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hsd_viz.bench.replay import BUDGETS, Alone, alone, available_databases
from hsd_viz.figures.charts import INK, Figure, bars, finish, lines, nothing
from hsd_viz.figures.palette import in_order, label, pale
from hsd_viz.figures.theme import CONDITIONAL, LENGTH, RATE, Given, trace_of
from hsd_viz.trace import Trace
from hsd_viz.words import counted

#: Maximum rows of a figure; beyond that, neighbouring values are binned.
MOST_ROWS = 20
_PLAIN = "No drafts in this run: the target generated every token, one per forward pass."
#: Of :func:`drafts`, by column: its title, what a row is, and its definition.
BY = {
    "depth": (
        "Conditional acceptance by draft position",
        "position",
        f"{CONDITIONAL} The bars show all draft tokens at a position; in a tree with several, the verifier chooses "
        "once.",
    ),
    "source": (
        "Acceptance rate by source",
        "source",
        f"{RATE} A token counts for the source that proposed it first.",
    ),
    "key_length": (
        "Acceptance rate by match length",
        "tokens matched",
        f"{RATE} Match length: number of latest tokens that a database found in earlier text. Draft models match "
        "nothing and are excluded.",
    ),
}
#: Labels of the replayed drafters.
DRAFTERS = {
    "db[context]": "context database only",
    "db[model]": "model database only",
    "db[statistics]": "statistics database only",
    "db": "all available databases",
    "hd": "Hierarchy Drafting (HD), as published",
    "lookup": "baseline: prompt lookup decoding",
}


def acceptance(trace: Given, dark: bool = False) -> Figure:
    """Plot drafted and accepted tokens per target round, and the running mean acceptance length."""
    trace = trace_of(trace)
    rounds = trace.rounds[trace.rounds["parent"].isna()].reset_index(drop=True)
    emitted = rounds["id"].map(trace.tokens.groupby("round").size()).fillna(0).astype(int)
    rounds = rounds.assign(
        number=range(1, len(rounds) + 1), plain=1.0, mean=emitted.cumsum() / np.arange(1, len(rounds) + 1)
    )
    figure = go.Figure()
    for name, marker in (("drafted", {"color": pale(INK.muted)}), ("accepted", {"color": INK.accent})):
        hover = {"hovertemplate": "%{y} tokens", "width": 0.5 if name == "accepted" else None}
        figure.add_bar(x=rounds["number"], y=rounds[name], name=name, marker=marker, **hover)
    lines(figure, rounds, "number", "mean", "mean acceptance length", mode="lines", line={"color": INK.text})
    figure.data[-1].update(hoverinfo=None, hovertemplate="%{y:.2f} tokens per round so far")
    lines(figure, rounds, "number", "plain", "plain decoding", mode="lines", line={"color": INK.muted, "dash": "dot"})
    figure.update_layout(barmode="overlay", hovermode="x unified")
    figure.update_xaxes(title_text="round", rangemode="tozero").update_yaxes(title_text="tokens", rangemode="tozero")
    sums = [["drafted", rounds["drafted"].sum()], ["accepted", rounds["accepted"].sum()], ["rounds", len(rounds)]]
    return finish(
        figure,
        "Drafted and accepted tokens per round",
        text=rates(trace),
        table=[["whole run", "number"], *sums],
        dark=dark,
    )


def rates(trace: Trace) -> str:
    """Return a sentence with the rates of the run at the target; "" without drafts."""
    m = trace.metrics()
    rate, conditional, length = m["acceptance_rate"], m["conditional_acceptance"], m["mean_acceptance_length"]
    if rate is None or conditional is None:
        return ""
    return (
        f"Acceptance rate {rate:.0%} (accepted / drafted), conditional acceptance {conditional:.0%} (accepted / "
        f"examined), mean acceptance length {length:.2f} (tokens per target forward pass). The line is the running "
        "mean over rounds."
    )


def by_source(trace: Given, dark: bool = False) -> Figure:
    """Plot emitted tokens by source."""
    trace = trace_of(trace)
    counts = trace.tokens.groupby("source").size().sort_values(ascending=False)
    share = [f"{n} ({n / len(trace):.0%})" for n in counts]
    rows = pd.DataFrame({"source": [label(s) for s in counts.index], "tokens": share})
    parts = pd.DataFrame({"row": range(len(counts)), "part": counts.index, "value": counts.to_numpy()})
    return bars(rows, parts, "Tokens by source", "emitted tokens", legend=False, text=LENGTH, dark=dark)


def time_spent(trace: Given, dark: bool = False) -> Figure:
    """Plot decoding time by level: forward passes and look-ups, and time between calls. Sums to the decode without
    prefill.
    """
    trace = trace_of(trace)
    frame = times(trace)
    rows = pd.DataFrame(
        {"call": frame["call"], "ms per token": [f"{ms:.3f}" if ms < 0.1 else f"{ms:.2f}" for ms in frame["ms"]]}
    )
    parts = frame.assign(row=range(len(frame)), value=frame["ms"])
    note = "Calls never overlap; time between calls is sampling, verification, draft trees and bookkeeping."
    return bars(rows, parts, "Decoding time", "ms per emitted token", legend=False, text=note, dark=dark)


def times(trace: Trace) -> pd.DataFrame:
    """Return ``call, part, ms`` per emitted token without prefill, longest first, and the time between calls last."""
    m = trace.metrics()
    calls = [c for c in m["calls_by_level"] if c["kind"] != "prefill"]
    per = 1e3 / max(1, m["tokens"])
    found = [
        {
            "call": f"{c['name']}: {c['kind']}",
            "part": c["name"] if c["kind"] in ("verify", "draft") else "lookup",
            "ms": per * c["seconds"],
        }
        for c in calls
    ]
    found.sort(key=lambda row: -row["ms"])
    rest = per * m["seconds"] - sum(row["ms"] for row in found)
    found += [{"call": "between calls", "part": "between", "ms": max(0.0, rest)}] if found else []
    return pd.DataFrame(found, columns=["call", "part", "ms"])


def drafts(trace: Given, dark: bool = False, *, by: str = "depth", level: int | None = None) -> Figure:
    """Plot draft tokens by verdict, with their acceptance, one row per ``depth`` (position in the draft), ``source`` or
    ``key_length`` (matched tokens). ``level`` is the verifier's (default: the target).
    """
    trace = trace_of(trace)
    if by not in BY:
        raise ValueError(f"by='{by}' is unknown: use {', '.join(BY)}")
    title, what, text = BY[by]
    here = _at(trace.drafts, trace, level)
    known = here.dropna(subset=[by])
    if known.empty:
        models = "All drafts came from draft models; only databases and baselines match text."
        none = models if len(here) else "No drafts for this level." if len(trace.drafts) else _PLAIN
        return nothing(title, none, dark)
    counts, table = verdicts(known, by)
    rows = table.assign(
        accepted=[f"{kept} / {of}" for kept, of in zip(table["accepted"], table["of"], strict=True)],
        rate=[f"{kept / of:.0%}" if of else "–" for kept, of in zip(table["accepted"], table["of"], strict=True)],
    )
    names = {"row": what, "accepted": f"accepted / {'examined' if by == 'depth' else 'drafted'}"}
    rows = rows.drop(columns="of").rename(columns=names)
    return bars(rows, counts, title, "draft tokens", text=text, dark=dark)


def verdicts(drafts: pd.DataFrame, by: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return ``row, part, value`` (draft tokens by verdict; accepted ones by source) and ``row, accepted, of`` of the
    rows. ``of`` counts drafted tokens; by depth examined ones, where the tokens of a tree at one position are one.
    """
    accepted = drafts["verdict"] == "accepted"
    part = drafts["source"].where(accepted, drafts["verdict"].replace("cut", "unreached"))
    if by == "source":
        order = in_order(drafts["source"])
        names, row = [label(s) for s in order], drafts["source"].map({s: k for k, s in enumerate(order)})
    else:
        found = ranges(drafts[by].astype(int))
        found = [r for r in found if drafts[by].between(r[0], r[-1]).any()]
        names = [range_text(r) for r in found]
        row = drafts[by].astype(int).map({n: k for k, r in enumerate(found) for n in r})
    counts = pd.DataFrame({"row": row, "part": part}).value_counts().rename("value").reset_index()
    counts["order"] = counts["part"].map({p: k for k, p in enumerate(_parts(counts["part"]))})
    of = row.value_counts()
    if by == "depth":
        # Block verification rejects several tokens of a chain; the first one counts, as in the round's figure.
        nodes = set(zip(drafts["round"][accepted], drafts["node"][accepted], strict=True))
        reached = [p < 0 or (r, p) in nodes for r, p in zip(drafts["round"], drafts["parent"], strict=True)]
        judged = drafts.assign(row=row)[np.array(reached) & drafts["verdict"].isin(["accepted", "rejected"])]
        of = judged.drop_duplicates(["round", "depth"])["row"].value_counts()
    places = range(len(names))
    kept = row[accepted].value_counts().reindex(places, fill_value=0)
    table = pd.DataFrame({"row": names, "accepted": kept, "of": of.reindex(places, fill_value=0)})
    return counts.sort_values(["order", "row"])[["row", "part", "value"]], table


def _parts(parts: Iterable[str]) -> list[str]:
    ends = [name for name in ("rejected", "unreached") if name in set(parts)]
    return [*in_order(set(parts) - set(ends)), *ends]


def accepted_per_round(trace: Given, dark: bool = False, *, level: int | None = None) -> Figure:
    """Plot a histogram of rounds by number of accepted draft tokens. ``level`` is the verifier's (default: the
    target).
    """
    trace = trace_of(trace)
    title = "Rounds by accepted tokens"
    rounds, here = _at(trace.rounds, trace, level), _at(trace.drafts, trace, level)
    if here.empty:
        return nothing(title, "No drafts for this level." if len(trace.drafts) else _PLAIN, dark)
    bins = ranges([0, *rounds["accepted"]])
    counts = [int(rounds["accepted"].between(r[0], r[-1]).sum()) for r in bins]
    share = [f"{n / len(rounds):.0%}" for n in counts]
    rows = pd.DataFrame({"accepted": [range_text(r) for r in bins], "rounds": counts, "share": share})
    parts = pd.DataFrame({"row": range(len(bins)), "part": "rounds", "value": counts})
    text = (
        "Rounds of the verifier by number of accepted draft tokens; a round without a draft counts as 0. Each round "
        "emits the accepted tokens and one token of its own."
    )
    note = f"Mean {rounds['accepted'].mean():.2f} over {counted(len(rounds), 'round')}."
    return bars(rows, parts, title, "rounds", text=text, note=note, dark=dark)


def drafters_alone(trace: Given, dark: bool = False, *, budget: int = BUDGETS[-1]) -> Figure:
    """Plot tokens per target forward pass of each drafter alone, replayed on the run's text without a model. ``budget``
    is the maximum number of draft tokens per round.
    """
    trace = trace_of(trace)
    if not len(trace):
        raise ValueError("the trace has no emitted tokens")
    return alone_bars(trace, alone(trace, available_databases(trace), budget), budget, dark)


def alone_bars(trace: Trace, results: list[Alone], budget: int, dark: bool = False) -> Figure:
    """Plot replayed drafters beside the measured run."""
    measured = trace.metrics()["mean_acceptance_length"]
    saved = lambda length: f"{1 - 1 / length:.0%}"
    heads = ["drafter", "tokens per forward pass", "forward passes saved", ""]
    rows: list[list[str]] = []
    parts: list[tuple[int, str, float]] = []
    if measured:
        rows.append(["this run, measured", f"{measured:.2f}", saved(measured), trace.stack])
        parts.append((0, "measured", measured))
    for result in results:
        note = result.why or DRAFTERS[result.drafter]
        if result.replayed is None:
            rows.append([result.drafter, "–", "–", note])
            continue
        found = pd.Series({k: n for k, n in result.replayed.accepted.items()}, dtype=float)
        sources = {s: found[[k for k in found.index if k[0] == s]].sum() for s in in_order(k[0] for k in found.index)}
        each = {s: n / result.replayed.rounds for s, n in sources.items() if n}
        own = result.length - sum(each.values())
        parts += [(len(rows), "own", own), *((len(rows), s, v) for s, v in each.items())]
        rows.append([result.drafter, f"{result.length:.2f}", saved(result.length), note])
    text = (
        "Tokens per target forward pass (mean acceptance length) of each drafter alone on this text: a replay of the "
        f"tokens, without a model, with at most {budget} draft tokens per round and cost stopping off. Saved: share "
        "of plain decoding's forward passes avoided. Not a time saving: verifying more tokens costs more."
    )
    tokens = max((r.replayed.tokens for r in results if r.replayed is not None), default=0)
    note = f"Replayed: {tokens} of {counted(len(trace), 'token')}, databases in the paper's order, cost stopping off."
    frame = pd.DataFrame(parts, columns=["row", "part", "value"])
    title, unit = "Savings of each drafter alone", "tokens per forward pass"
    return bars(pd.DataFrame(rows, columns=heads), frame, title, unit, text=text, note=note, dark=dark)


def ranges(values: Iterable[int]) -> list[range]:
    """Bin whole numbers from the least to the greatest of ``values``: one bin each, or ranges of equal width."""
    found = sorted({int(v) for v in values})
    if not found:
        return []
    first, last = found[0], found[-1]
    width = -(-(last - first + 1) // MOST_ROWS)
    return [range(start, min(start + width, last + 1)) for start in range(first, last + 1, width)]


def range_text(numbers: range) -> str:
    """Return a range as a row label."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"


def _at(frame: pd.DataFrame, trace: Trace, level: int | None) -> pd.DataFrame:
    """Return the rows of a verifier. Raises: ValueError: if ``level`` did not verify."""
    levels = sorted({r.level for r in trace.round_rows})
    if level is not None and level not in levels:
        raise ValueError(f"level {level} did not verify: use one of {', '.join(map(str, levels)) or 'none'}")
    return frame[frame["level"] == (max(levels, default=0) if level is None else level)]
