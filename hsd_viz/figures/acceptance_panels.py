"""Acceptance of one run: by draft position, by source, by match length, and a histogram over rounds.

Two rates are distinguished: *acceptance rate* = accepted / drafted, *conditional acceptance* = accepted / examined.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from hsd_viz.figures.definitions import CONDITIONAL, RATE
from hsd_viz.figures.palette import label
from hsd_viz.figures.panels import Panel, Row, level_names, range_words, ranges, share, source_keys
from hsd_viz.trace import DraftRow, RoundRow, Trace
from hsd_viz.words import counted

REFUSED = {
    "rejected": {"label": "rejected", "shape": "hatched"},
    "unreached": {"label": "not examined", "shape": "faint"},
}
_LINE = "The line is the running mean over rounds."
LEAD = "accepted, from:"
_PLAIN = "No drafts in this run: the target generated every token, one per forward pass."
_NO_DRAFT = "No drafts for this level."


def rates(trace: Trace) -> str:
    """Return a sentence with the rates of the run at the target; "" without drafts."""
    m = trace.metrics()
    rate, conditional, length = m["acceptance_rate"], m["conditional_acceptance"], m["mean_acceptance_length"]
    if rate is None or conditional is None:
        return ""
    return (
        f"Acceptance rate {rate:.0%} (accepted / drafted), conditional acceptance {conditional:.0%} (accepted / "
        f"examined), mean acceptance length {length:.2f} (tokens per target forward pass). {_LINE}"
    )


def verifiers(trace: Trace) -> list[tuple[str, int]]:
    """Return (name, level) of the levels that verified, the target first."""
    names = level_names(trace.meta)
    levels = sorted({r.level for r in trace.round_rows}, reverse=True)
    return [(names[level] if level < len(names) else f"level {level}", level) for level in levels]


def acceptance_panels(trace: Trace, level: int | None = None) -> list[Panel]:
    """Build the four panels for the verifier at ``level`` (default: the target), or one message for a run without
    drafts.
    """
    if not trace.draft_rows:
        return [Panel("Acceptance of drafts", "Acceptance rate", RATE, (), (), empty=_PLAIN)]
    top = max((r.level for r in trace.round_rows), default=0)
    level = top if level is None else level
    rounds = [r for r in trace.round_rows if r.level == level]
    drafts = [d for d in trace.draft_rows if d.level == level]
    empty = "" if drafts else _NO_DRAFT
    # The two panels with many rows are side by side.
    return [by_position(drafts, empty), histogram(rounds, empty), by_source(drafts, empty), by_match(drafts, empty)]


def by_position(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Build conditional acceptance by draft position. In a tree, tokens at one position are examined as one choice."""
    examined, accepted = Counter(), Counter()
    kept_nodes = {(d.round, d.node) for d in drafts if d.verdict == "accepted"}
    # Block verification rejects several tokens of a chain; the first one counts, as in the round's figure.
    reached = [d for d in drafts if d.parent < 0 or (d.round, d.parent) in kept_nodes]
    for _, depth in {(d.round, d.depth) for d in reached if d.verdict in ("accepted", "rejected")}:
        examined[depth] += 1
    accepted.update(d.depth for d in drafts if d.verdict == "accepted")
    rows = []
    for depths in ranges(d.depth for d in drafts):
        kept, seen = sum(accepted[k] for k in depths), sum(examined[k] for k in depths)
        here = [d for d in drafts if d.depth in depths]
        rows.append(Row(range_words(depths), _parts(here), (f"{kept} / {seen}", share(kept, seen))))
    words = (
        f"{CONDITIONAL} The bars show all draft tokens at a position; in a tree with several, the verifier "
        "chooses once."
    )
    heads = ("position", "draft tokens", "accepted / examined", "rate")
    keys = _keys(drafts)
    return Panel(
        "By draft position", "Conditional acceptance", words, heads, tuple(rows), keys, tuple(keys), LEAD, empty
    )


def by_source(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Build acceptance rate by source. A token proposed again by a higher level keeps its first source."""
    rows = []
    for source in source_keys(d.source for d in drafts):
        here = [d for d in drafts if d.source == source]
        kept = sum(d.verdict == "accepted" for d in here)
        rows.append(Row(label(source), _parts(here), (f"{kept} / {len(here)}", share(kept, len(here)))))
    words = f"{RATE} A token counts for the source that proposed it first."
    heads = ("source", "draft tokens", "accepted / drafted", "rate")
    keys = _keys(drafts)
    # Each row already shows its source's colour.
    legend = tuple(k for k in keys if k in REFUSED)
    return Panel("By source", "Acceptance rate", words, heads, tuple(rows), keys, legend, "coloured: accepted", empty)


def by_match(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Build acceptance rate by the number of text tokens that a database matched."""
    matched = [d for d in drafts if d.key_length is not None]
    rows = []
    for lengths in ranges(d.key_length for d in matched):
        here = [d for d in matched if d.key_length in lengths]
        if here:
            kept = sum(d.verdict == "accepted" for d in here)
            rows.append(Row(range_words(lengths), _parts(here), (f"{kept} / {len(here)}", share(kept, len(here)))))
    words = (
        f"{RATE} Match length: number of latest tokens that a database found in earlier text. Draft models "
        "match nothing and are excluded. The Databases tab also counts what the lowest verifier accepted."
    )
    if not matched and not empty:
        empty = "All drafts came from draft models; only databases and baselines match text."
    heads = ("tokens matched", "draft tokens", "accepted / drafted", "rate")
    keys = _keys(matched)
    return Panel("By match length", "Acceptance rate", words, heads, tuple(rows), keys, tuple(keys), LEAD, empty)


def histogram(rounds: Sequence[RoundRow], empty: str = "") -> Panel:
    """Build a histogram of rounds by accepted draft tokens."""
    counts = Counter(r.accepted for r in rounds)
    rows = []
    for numbers in ranges([0, *counts]):
        n = sum(counts[k] for k in numbers)
        part = (("rounds", float(n), counted(n, "round")),) if n else ()
        rows.append(Row(range_words(numbers), part, (str(n), share(n, len(rounds)))))
    mean = sum(r.accepted for r in rounds) / len(rounds) if rounds else 0.0
    words = (
        "Rounds of the verifier by number of accepted draft tokens; a round without a draft counts as 0. Each round "
        "emits the accepted tokens and one token of its own."
    )
    keys = {"rounds": {"label": "rounds", "shape": "neutral"}}
    foot = f"Mean {mean:.2f} over {counted(len(rounds), 'round')}."
    heads = ("accepted", "rounds", "rounds", "share")
    title, measure = "Accepted per round", "Rounds by accepted tokens"
    return Panel(title, measure, words, heads, () if empty else tuple(rows), keys, empty=empty, foot=foot)


def _keys(drafts: Sequence[DraftRow]) -> dict:
    there = {d.verdict for d in drafts}
    return source_keys(d.source for d in drafts if d.verdict == "accepted") | {
        k: v for k, v in REFUSED.items() if k in there or (k == "unreached" and "cut" in there)
    }


def _parts(drafts: Sequence[DraftRow]) -> tuple[tuple[str, float, str], ...]:
    """Accepted by source, then rejected, then what was not examined (or cut off at the end of the text)."""
    counts: dict[str, int] = defaultdict(int)
    for d in drafts:
        counts[d.source if d.verdict == "accepted" else "rejected" if d.verdict == "rejected" else "unreached"] += 1
    order = [*source_keys(k for k in counts if k not in REFUSED), *REFUSED]
    words = {k: f"{label(k)}: {counts[k]} accepted" for k in counts if k not in REFUSED}
    words |= {k: f"{counts[k]} {REFUSED[k]['label']}" for k in counts if k in REFUSED}
    return tuple((k, float(counts[k]), words[k]) for k in order if k in counts)
