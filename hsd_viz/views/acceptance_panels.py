"""Acceptance of one run taken apart: by place in the draft, by source, by match length, and round by round as a histogram.

Two rates are told apart everywhere: *acceptance rate* = accepted / drafted, and *conditional acceptance* = accepted / examined.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from hsd_viz.trace import DraftRow, RoundRow, Trace
from hsd_viz.views.definitions import CONDITIONAL, LENGTH, RATE
from hsd_viz.views.palette import label
from hsd_viz.views.panels import Panel, Row, range_words, ranges, share, source_keys
from hsd_viz.views.payload import level_names
from hsd_viz.words import counted

REFUSED = {
    "rejected": {"label": "rejected", "shape": "hatched"},
    "unreached": {"label": "never looked at", "shape": "faint"},
}
_LINE = "The line in the chart is the mean over all rounds up to there."
LEAD = "accepted from:"
_PLAIN = "Nothing was drafted in this run: the target wrote every token by itself, one a forward."
_NO_DRAFT = "Nothing was drafted for this level."


def terms(trace: Trace) -> list[tuple[str, str, str]]:
    """The run's rates, as the target verified: (what it is, the figure, its definition)."""
    m = trace.metrics()
    rate, conditional, length = m["acceptance_rate"], m["conditional_acceptance"], m["mean_acceptance_length"]
    return [
        ("Acceptance rate", "–" if rate is None else f"{rate:.0%}", RATE),
        ("Conditional acceptance", "–" if conditional is None else f"{conditional:.0%}", CONDITIONAL),
        ("Mean acceptance length", "–" if length is None else f"{length:.2f}", f"{LENGTH} {_LINE}"),
    ]


def verifiers(trace: Trace) -> list[tuple[str, int]]:
    """(name, level) of the levels that verified, the target first."""
    names = level_names(trace.meta)
    levels = sorted({r.level for r in trace.round_rows}, reverse=True)
    return [(names[level] if level < len(names) else f"level {level}", level) for level in levels]


def acceptance_panels(trace: Trace, level: int | None = None) -> list[Panel]:
    """The four panels, of what the verifier at ``level`` was handed (default: the target); of a run without drafts one, that says so."""
    if not trace.draft_rows:
        return [Panel("Acceptance of drafts", "Acceptance rate", RATE, (), (), empty=_PLAIN)]
    top = max((r.level for r in trace.round_rows), default=0)
    level = top if level is None else level
    rounds = [r for r in trace.round_rows if r.level == level]
    drafts = [d for d in trace.draft_rows if d.level == level]
    empty = "" if drafts else _NO_DRAFT
    # The two that have many rows stand side by side.
    return [by_position(drafts, empty), histogram(rounds, empty), by_source(drafts, empty), by_match(drafts, empty)]


def by_position(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Conditional acceptance at each place of the draft. In a tree, tokens that stand at one place are examined as one choice."""
    examined, accepted = Counter(), Counter()
    for _, depth in {(d.round, d.depth) for d in drafts if d.verdict in ("accepted", "rejected")}:
        examined[depth] += 1
    accepted.update(d.depth for d in drafts if d.verdict == "accepted")
    rows = []
    for depths in ranges(d.depth for d in drafts):
        kept, seen = sum(accepted[k] for k in depths), sum(examined[k] for k in depths)
        here = [d for d in drafts if d.depth in depths]
        rows.append(Row(range_words(depths), _parts(here), (f"{kept} / {seen}", share(kept, seen))))
    words = f"{CONDITIONAL} The bars show all draft tokens of that place; where a tree has several, the verifier chooses once."
    heads = ("place", "draft tokens", "accepted / examined", "rate")
    keys = _keys(drafts)
    return Panel(
        "By place in the draft", "Conditional acceptance", words, heads, tuple(rows), keys, tuple(keys), LEAD, empty
    )


def by_source(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Acceptance rate of each source. A token that climbs a stack stays its first source's."""
    rows = []
    for source in source_keys(d.source for d in drafts):
        here = [d for d in drafts if d.source == source]
        kept = sum(d.verdict == "accepted" for d in here)
        rows.append(Row(label(source), _parts(here), (f"{kept} / {len(here)}", share(kept, len(here)))))
    words = f"{RATE} A token counts for whoever proposed it first, however many levels it passed since."
    heads = ("source", "draft tokens", "accepted / drafted", "rate")
    keys = _keys(drafts)
    # Colours stand beside their sources' names anyway.
    legend = tuple(k for k in keys if k in REFUSED)
    return Panel("By source", "Acceptance rate", words, heads, tuple(rows), keys, legend, "coloured: accepted", empty)


def by_match(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Acceptance rate by how many tokens of the text a database matched before it drafted."""
    matched = [d for d in drafts if d.key_length is not None]
    rows = []
    for lengths in ranges(d.key_length for d in matched):
        here = [d for d in matched if d.key_length in lengths]
        if here:
            kept = sum(d.verdict == "accepted" for d in here)
            rows.append(Row(range_words(lengths), _parts(here), (f"{kept} / {len(here)}", share(kept, len(here)))))
    words = (
        f"{RATE} Match length: how many of the latest tokens a database found again before it said how the text goes on. Draft models "
        "match nothing and are left out. The tab Databases counts what the lowest verifier kept, too."
    )
    if not matched and not empty:
        empty = "All drafts came from draft models: only databases and other look-ups match a piece of the text."
    heads = ("tokens matched", "draft tokens", "accepted / drafted", "rate")
    keys = _keys(matched)
    return Panel("By match length", "Acceptance rate", words, heads, tuple(rows), keys, tuple(keys), LEAD, empty)


def histogram(rounds: Sequence[RoundRow], empty: str = "") -> Panel:
    """How many rounds accepted how many draft tokens."""
    counts = Counter(r.accepted for r in rounds)
    rows = []
    for numbers in ranges([0, *counts]):
        n = sum(counts[k] for k in numbers)
        part = (("rounds", float(n), counted(n, "round")),) if n else ()
        rows.append(Row(range_words(numbers), part, (str(n), share(n, len(rounds)))))
    mean = sum(r.accepted for r in rounds) / len(rounds) if rounds else 0.0
    words = (
        "Rounds of the verifier by the number of draft tokens that each accepted; rounds without a draft accepted none. A round hands "
        "on what it accepted and one token of its own."
    )
    keys = {"rounds": {"label": "rounds", "shape": "neutral"}}
    foot = f"{mean:.2f} accepted in a round, on average over {len(rounds)}."
    heads = ("accepted", "rounds", "rounds", "share")
    title, measure = "Accepted in a round", "Rounds by accepted tokens"
    return Panel(title, measure, words, heads, () if empty else tuple(rows), keys, empty=empty, foot=foot)


def _keys(drafts: Sequence[DraftRow]) -> dict:
    there = {d.verdict for d in drafts}
    return source_keys(d.source for d in drafts if d.verdict == "accepted") | {
        k: v for k, v in REFUSED.items() if k in there or (k == "unreached" and "cut" in there)
    }


def _parts(drafts: Sequence[DraftRow]) -> tuple[tuple[str, float, str], ...]:
    """Accepted by source, then rejected, then what was never looked at (or cut off at the end of the text)."""
    counts: dict[str, int] = defaultdict(int)
    for d in drafts:
        counts[d.source if d.verdict == "accepted" else "rejected" if d.verdict == "rejected" else "unreached"] += 1
    order = [*source_keys(k for k in counts if k not in REFUSED), *REFUSED]
    words = {k: f"{label(k)}: {counts[k]} accepted" for k in counts if k not in REFUSED}
    words |= {k: f"{counts[k]} {REFUSED[k]['label']}" for k in counts if k in REFUSED}
    return tuple((k, float(counts[k]), words[k]) for k in order if k in counts)
