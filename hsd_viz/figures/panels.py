"""Counts of one run as small tables that are drawn as bars, with the definitions of the metrics.

*Acceptance rate* = accepted / drafted, *conditional acceptance* = accepted / examined.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.bench.replay import Alone
from hsd_viz.figures.palette import in_order, key_of, label
from hsd_viz.trace import DraftRow, RoundRow, Trace
from hsd_viz.words import counted

SPEED = "Tokens per second from the end of prefill to the last token."
SPEEDUP = "Speed-up = tokens per second of this run / tokens per second of plain decoding, measured in alternation."
RATE = "Acceptance rate = accepted / drafted: share of draft tokens that the verifier accepted."
CONDITIONAL = "Conditional acceptance = accepted / examined. Tokens after the first rejected one are not examined."
LENGTH = "Mean acceptance length = emitted tokens / target forward passes, bonus tokens included. Plain decoding: 1.00."
LATENCY = (
    "Drafting latency = time per target round spent finding drafts, updating databases and building the draft tree. "
    "Excludes forward passes of draft models."
)
REFUSED = {
    "rejected": {"label": "rejected", "shape": "hatched"},
    "unreached": {"label": "not examined", "shape": "faint"},
}
_LINE = "The line is the running mean over rounds."
_PLAIN = "No drafts in this run: the target generated every token, one per forward pass."
_NO_DRAFT = "No drafts for this level."
#: Maximum rows of a table; beyond that, neighbouring values are binned.
MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """A bar and its values. ``parts`` are (key, length, text); the key selects colour and shape in
    :attr:`Panel.keys`.
    """

    label: str
    parts: tuple[tuple[str, float, str], ...]
    cells: tuple[str, ...]
    #: A note below the label.
    note: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One table: its ``measure`` with ``definition``, and ``heads`` above the rows' labels, bars and values. ``keys``
    have label, colours and shape of the parts. ``empty`` replaces missing rows.
    """

    title: str
    measure: str
    definition: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    empty: str = ""
    foot: str = ""


def source_keys(sources: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return label, colours and shape by source: databases in order, then the others."""
    return {source: key_of(source) | {"shape": "solid"} for source in in_order(sources)}


def ranges(values: Iterable[int]) -> list[range]:
    """Bin whole numbers from the least to the greatest of ``values``: one bin each, or ranges of equal width."""
    found = sorted(set(values))
    if not found:
        return []
    first, last = found[0], found[-1]
    width = -(-(last - first + 1) // MOST_ROWS)
    return [range(start, min(start + width, last + 1)) for start in range(first, last + 1, width)]


def range_words(numbers: range) -> str:
    """Return a range as a row label."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"


def share(over: float, under: float) -> str:
    """Return a share in per cent, or a dash for an empty whole."""
    return f"{over / under:.0%}" if under else "–"


def level_names(meta: dict[str, Any]) -> list[str]:
    """Return the name of each level, lowest first; empty if the meta has no valid stack."""
    from hsd_viz.stack import StackError, parse

    try:
        parts = parse(str(meta.get("stack_resolved") or meta.get("stack", ""))).parts
    except StackError:
        return []
    # A resolved `auto` lists its levels in order.
    names = [name for part in parts for name in (part.items if part.name == "auto" else (part.name,))]
    # In a simulated run (hsd_viz.figures.overlap) the look-ups are not where they were recorded.
    return [f"{names[0]} (simulated)", *names[1:]] if meta.get("simulated") else names


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
    levels = sorted({r.level for r in trace.round_rows}, reverse=True)
    return [(_level_name(trace, level), level) for level in levels]


def _level_name(trace: Trace, level: int) -> str:
    names = level_names(trace.meta)
    return names[level] if level < len(names) else f"level {level}"


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
    kept_nodes = {(d.round, d.node) for d in drafts if d.verdict == "accepted"}
    # Block verification rejects several tokens of a chain; the first one counts, as in the round's figure.
    reached = [d for d in drafts if d.parent < 0 or (d.round, d.parent) in kept_nodes]
    judged = {(d.round, d.depth) for d in reached if d.verdict in ("accepted", "rejected")}
    examined = Counter(depth for _, depth in judged)
    accepted = Counter(d.depth for d in drafts if d.verdict == "accepted")
    rows = []
    for depths in ranges(d.depth for d in drafts):
        kept, seen = sum(accepted[k] for k in depths), sum(examined[k] for k in depths)
        here = [d for d in drafts if d.depth in depths]
        rows.append(Row(range_words(depths), _parts(here), _rate(kept, seen)))
    words = (
        f"{CONDITIONAL} The bars show all draft tokens at a position; in a tree with several, the verifier "
        "chooses once."
    )
    heads = ("position", "draft tokens", "accepted / examined", "rate")
    return Panel("By draft position", "Conditional acceptance", words, heads, tuple(rows), _keys(drafts), empty)


def by_source(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Build acceptance rate by source. A token proposed again by a higher level keeps its first source."""
    rows = [_accepted(label(s), [d for d in drafts if d.source == s]) for s in in_order(d.source for d in drafts)]
    words = f"{RATE} A token counts for the source that proposed it first."
    heads = ("source", "draft tokens", "accepted / drafted", "rate")
    return Panel("By source", "Acceptance rate", words, heads, tuple(rows), _keys(drafts), empty)


def by_match(drafts: Sequence[DraftRow], empty: str = "") -> Panel:
    """Build acceptance rate by the number of text tokens that a database matched."""
    matched = [d for d in drafts if d.key_length is not None]
    groups = [(r, [d for d in matched if d.key_length in r]) for r in ranges(d.key_length for d in matched)]
    rows = [_accepted(range_words(lengths), here) for lengths, here in groups if here]
    words = (
        f"{RATE} Match length: number of latest tokens that a database found in earlier text. Draft models "
        "match nothing and are excluded. The Databases tab also counts what the lowest verifier accepted."
    )
    if not matched and not empty:
        empty = "All drafts came from draft models; only databases and baselines match text."
    heads = ("tokens matched", "draft tokens", "accepted / drafted", "rate")
    return Panel("By match length", "Acceptance rate", words, heads, tuple(rows), _keys(matched), empty)


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


def _accepted(name: str, drafts: Sequence[DraftRow]) -> Row:
    """Return the row of a group of draft tokens."""
    return Row(name, _parts(drafts), _rate(sum(d.verdict == "accepted" for d in drafts), len(drafts)))


def _rate(kept: int, of: int) -> tuple[str, str]:
    return f"{kept} / {of}", share(kept, of)


def _keys(drafts: Sequence[DraftRow]) -> dict:
    there = {d.verdict for d in drafts}
    return source_keys(d.source for d in drafts if d.verdict == "accepted") | {
        k: v for k, v in REFUSED.items() if k in there or (k == "unreached" and "cut" in there)
    }


def _parts(drafts: Sequence[DraftRow]) -> tuple[tuple[str, float, str], ...]:
    """Accepted by source, then rejected, then what was not examined (or cut off at the end of the text)."""
    shown = {"accepted": None, "rejected": "rejected"}
    counts = Counter(shown.get(d.verdict, "unreached") or d.source for d in drafts)
    parts = [(k, f"{label(k)}: {counts[k]} accepted") for k in in_order(counts.keys() - REFUSED.keys())]
    parts += [(k, f"{counts[k]} {words['label']}") for k, words in REFUSED.items() if k in counts]
    return tuple((k, float(counts[k]), words) for k, words in parts)


#: Labels of the replayed drafters.
WORDS = {
    "db[context]": "context database only",
    "db[model]": "model database only",
    "db[statistics]": "statistics database only",
    "db": "all available databases",
    "hd": "Hierarchy Drafting (HD), as published",
    "lookup": "baseline: prompt lookup decoding",
}


def keys_hit(trace: Trace) -> Panel:
    """Build key matches by source and key length, counted at the first verifier."""
    matched = [d for d in trace.draft_rows if d.key_length is not None]
    first = min((d.level for d in matched), default=0)
    here = [d for d in matched if d.level == first]
    found: dict[int, Counter] = defaultdict(Counter)
    for _, source, length in {(d.round, d.source, d.key_length) for d in here}:
        found[length][source] += 1
    kept = Counter(d.key_length for d in here if d.verdict == "accepted")
    top = max((r.level for r in trace.round_rows), default=first)
    last = Counter(d.key_length for d in matched if d.level == top and d.verdict == "accepted")
    verifier = _level_name(trace, first)
    keys = source_keys(d.source for d in here)
    rows = []
    for lengths in ranges(found):
        counts = sum((found[k] for k in lengths), Counter())
        if counts:
            parts = tuple((s, float(counts[s]), f"{label(s)}: {counts[s]}") for s in keys if counts[s])
            accepted = [str(sum(by[k] for k in lengths)) for by in ((kept, last) if first < top else (kept,))]
            rows.append(Row(range_words(lengths), parts, (str(counts.total()), *accepted)))
    words = (
        "A key is the suffix of the text that a database matched; its length is in tokens. Each round and database "
        "with drafts from a key of that length counts once. Accepted: draft tokens from such keys that the named "
        "verifier accepted, over all its rounds."
    )
    if first < top:
        words += (
            f" {verifier} verifies these drafts first. A text position rejected by a higher level is drafted again, "
            "so the count may exceed the number of text tokens."
        )
    empty = "" if rows else "No database drafted in this run."
    by = [f"accepted by {verifier}", f"by {_level_name(trace, top)}"] if first < top else ["accepted"]
    heads = ("tokens matched", "drafts from such keys", "keys", *by)
    return Panel("Matched keys by length", "Keys that drafts came from", words, heads, tuple(rows), keys, empty)


def saved_alone(trace: Trace, results: list[Alone], budget: int) -> Panel:
    """Build tokens per target forward pass of each replayed drafter, and of the measured run."""
    measured = trace.metrics()["mean_acceptance_length"]
    keys = {"target": key_of("target") | {"label": "target's own", "shape": "pale"}}
    done = [r for r in results if r.replayed is not None]
    keys |= source_keys(source for r in done for source, _ in r.replayed.accepted)
    rows = []
    if measured:
        keys["run"] = {"label": "measured", "shape": "neutral"}
        part = ("run", measured, f"{measured:.2f} tokens per forward pass")
        rows.append(Row("this run, measured", (part,), (f"{measured:.2f}", _fewer(measured)), trace.stack))
    for result in results:
        note = result.why or WORDS[result.drafter]
        if result.replayed is None:
            rows.append(Row(result.drafter, (), ("–", "–"), note))
            continue
        accepted: Counter = Counter()
        for (source, _), n in result.replayed.accepted.items():
            accepted[source] += n
        rounds = result.replayed.rounds
        mine = result.length - accepted.total() / rounds
        parts = [("target", mine, f"{mine:.2f} from the target")]
        parts += [
            (s, accepted[s] / rounds, f"{accepted[s] / rounds:.2f} from the {label(s)}") for s in keys if accepted[s]
        ]
        rows.append(Row(result.drafter, tuple(parts), (f"{result.length:.2f}", _fewer(result.length)), note))
    words = (
        "Tokens per target forward pass (mean acceptance length) of each drafter alone on this text: a replay of the "
        f"tokens, without a model, with at most {budget} draft tokens per round and cost stopping off. Saved: share "
        "of plain decoding's forward passes avoided. Not a time saving: verifying more tokens costs more."
    )
    tokens = max((r.replayed.tokens for r in done), default=0)
    foot = (
        f"Replayed: {tokens} of {counted(len(trace), 'token')}, databases in the paper's order, cost "
        "stopping off. A run skips drafts whose expected gain is below their cost, so it needs more forward passes "
        "than its replay."
    )
    heads = ("drafter", "tokens per forward pass", "tokens per forward pass", "forward passes saved")
    return Panel("Savings of each drafter alone", "Replay of this text", words, heads, tuple(rows), keys, foot=foot)


def _fewer(length: float) -> str:
    return f"{1 - 1 / length:.0%}"
