"""The metrics of a trace, and the identities that every complete trace satisfies.

Acceptance rate = accepted / drafted. Conditional acceptance = accepted / examined. Mean acceptance
length = emitted tokens per target forward pass, bonus included (plain decoding: 1.00). Drafting
latency = seconds per target round spent on look-ups and database updates, model forward passes
excluded. Speed counts from the end of prefill.

A trace imported from another engine (:mod:`hsd_viz.records.traces`) has counts in its meta; what
they do not determine is *not observed*: ``None``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.trace.tables import Columns

NGRAM = 8
#: More accepted tokens in a round are those of a damaged record.
MOST_ACCEPTED = 1024
#: The metrics of an imported trace that its meta may have, where their names there differ; those
#: that it never has.
_COUNTS = {"rounds": "forwards", "target_forwards": "forwards"}
_COUNTS |= {"acceptance_rate": "rate", "mean_acceptance_length": "length_forwards"}
_BY_SOURCE = ("drafted_by_source", "accepted_by_source", "emitted_by_source")
_UNKNOWN = ("draft_seconds_per_round", "repetition_share", *_BY_SOURCE)


def repetition_share(token_ids: Sequence[int]) -> float:
    """Return the share of tokens that end an 8-gram already present earlier in the same output; 0
    if it is empty.
    """
    seen: set[tuple[int, ...]] = set()
    repeated = 0
    for end in range(NGRAM, len(token_ids) + 1):
        gram = tuple(token_ids[end - NGRAM : end])
        repeated += gram in seen
        seen.add(gram)
    return repeated / len(token_ids) if token_ids else 0.0


def metrics(trace: Any) -> dict[str, Any]:
    """Return all metrics of one :class:`~hsd_viz.trace.Trace`; rates are ``None`` where the
    denominator is zero. Times in seconds. ``levels`` has one entry per verifying level, bottom
    first, with the histogram of accepted counts (index = accepted); ``calls_by_level`` one per
    (level, name, kind).
    """
    meta = trace.meta
    counts = trace.meta.get("counts")
    tokens = trace.columns["tokens"]
    drafts = trace.columns["drafts"]
    rounds = trace.columns["rounds"]
    levels = _levels(rounds)
    by_level = _calls(trace.columns["calls"])
    target = levels[-1] if levels else _level(0, [])
    rounds_of_target = set()
    for number, level in zip(rounds["id"], rounds["level"], strict=True):
        if level == target["level"]:
            rounds_of_target.add(number)
    forwards = 0
    finding = 0.0
    for row in by_level:
        if row["kind"] == "verify" and row["level"] == target["level"]:
            forwards += row["calls"]
        if row["kind"] in ("lookup", "update"):
            finding += row["seconds"]
    drafted_by_source: Counter[str] = Counter()
    for source, number in zip(drafts["source"], drafts["round"], strict=True):
        if number in rounds_of_target:
            drafted_by_source[source] += 1
    accepted_by_source: Counter[str] = Counter()
    for source, kind in zip(tokens["source"], tokens["kind"], strict=True):
        if kind == "accepted":
            accepted_by_source[source] += 1
    before = meta.get("prefill_ns", 0)
    after = meta.get("wall_ns", 0) - before if counts is None else meta.get("decode_ns")
    seconds = None if after is None else after / 1e9
    emitted = len(tokens["token_id"])
    figures = {
        "tokens": emitted,
        "rounds": target["rounds"],
        "drafted": target["drafted"],
        "accepted": target["accepted"],
        "acceptance_rate": target["acceptance_rate"],
        "conditional_acceptance": target["conditional_acceptance"],
        "mean_acceptance_length": _ratio(emitted, forwards),
        "seconds": seconds,
        "prefill_seconds": None if before is None else before / 1e9,
        "draft_seconds_per_round": _ratio(finding, target["rounds"]),
        "target_forwards": forwards,
        "repetition_share": repetition_share(tokens["token_id"]),
        "drafted_by_source": dict(drafted_by_source),
        "accepted_by_source": dict(accepted_by_source),
        "emitted_by_source": dict(Counter(tokens["source"])),
        "levels": levels,
        "calls_by_level": by_level,
    }
    if counts is not None:
        # An imported trace has sums in place of rows.
        for name in ("tokens", "drafted", "accepted"):
            figures[name] = counts.get(name)
        for name, key in _COUNTS.items():
            figures[name] = counts.get(key)
        figures |= dict.fromkeys(_UNKNOWN)
    figures["tokens_per_second"] = _ratio(figures["tokens"], seconds)
    return figures


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def _levels(rounds: Columns) -> list[dict[str, Any]]:
    counts: dict[int, list[list[int]]] = {}
    columns = (rounds["drafted"], rounds["examined"], rounds["accepted"])
    for level, *row in zip(rounds["level"], *columns, strict=True):
        counts.setdefault(level, []).append(row)
    return [_level(level, rows) for level, rows in sorted(counts.items())]


def _level(level: int, rows: list[list[int]]) -> dict[str, Any]:
    """Return the figures of the rounds of a level, each with its drafted, examined and accepted
    tokens.
    """
    drafted, examined, accepted = map(sum, zip(*rows, strict=True)) if rows else (0, 0, 0)
    counts = Counter(row[2] for row in rows)
    if (most := max(counts, default=-1)) > MOST_ACCEPTED:
        raise UserError(f"a round accepted {most} tokens: the maximum is {MOST_ACCEPTED}")
    about = {
        "level": level,
        "rounds": len(rows),
        "drafted": drafted,
        "examined": examined,
        "accepted": accepted,
    }
    rates = {
        "acceptance_rate": _ratio(accepted, drafted),
        "conditional_acceptance": _ratio(accepted, examined),
    }
    return {**about, **rates, "accepted_histogram": [counts[k] for k in range(most + 1)]}


def _calls(calls: Columns) -> list[dict[str, Any]]:
    sums: dict[tuple[int, str, str], list[int]] = {}
    names = ("level", "name", "kind", "steps", "fed", "duration_ns")
    for level, name, kind, *values in zip(*(calls[key] for key in names), strict=True):
        row = sums.setdefault((level, name, kind), [0, 0, 0, 0])
        for k, value in enumerate((1, *values)):
            row[k] += value
    rows = []
    for (level, name, kind), (number, steps, fed, nanoseconds) in sorted(sums.items()):
        rows.append(
            {
                "level": level,
                "name": name,
                "kind": kind,
                "calls": number,
                "steps": steps,
                "fed": fed,
                "seconds": nanoseconds / 1e9,
            }
        )
    return rows


def target_round_of(rounds: Sequence[Any]) -> dict[int, int]:
    """Map the id of each round to the id of the target round it is part of (a target round: to
    itself).
    """
    targets: dict[int, int] = {}
    for r in sorted(rounds, key=lambda r: r.id):  # a round opens after the one that it serves
        targets[r.id] = r.id if r.parent is None else targets[r.parent]
    return targets


def check(trace: Any) -> None:
    """Check the identities of a complete trace.

    Raises:
        UserError: if one is violated; the message names the first.
    """
    # Columns, because tens of thousands of rows would be made for this alone.
    tokens = trace.columns["tokens"]
    drafts = trace.columns["drafts"]
    calls = trace.columns["calls"]
    rounds = {r.id: r for r in trace.round_rows}
    target = max((r.level for r in rounds.values()), default=0)
    _same("token indices run from 0", tokens["index"], list(range(len(tokens["index"]))))
    drafted = Counter(drafts["round"])
    verdicts = Counter(zip(drafts["round"], drafts["verdict"], strict=True))
    for number in drafted:
        _same(f"draft of round {number}: there is such a round", number in rounds, True)
    emitted: Counter = Counter()
    for r in rounds.values():
        _same(
            f"round {r.id}: drafted = accepted + rejected + unreached + cut",
            r.drafted,
            drafted[r.id],
        )
        _same(f"round {r.id}: accepted", r.accepted, verdicts[r.id, "accepted"])
        above = (
            r.level == target
            if r.parent is None
            else r.level < target and rounds[r.parent].level > r.level
        )
        _same(f"round {r.id}: its parent {r.parent} is of a level above", above, True)
        if r.level == target:
            emitted.update(
                {(r.id, "accepted"): r.accepted, (r.id, r.outcome): r.outcome != "stopped"}
            )
    kinds = Counter(zip(tokens["round"], tokens["kind"], strict=True))
    for number, kind in emitted | kinds:
        _same(
            f"round {number} of the target: {kind} tokens",
            kinds[number, kind],
            emitted[number, kind],
        )
    rows: Counter = Counter()
    for place, verdict in zip(_places(drafts), drafts["verdict"], strict=True):
        if verdict == "accepted":
            rows[place] += 1
    for place, kind, index in zip(_places(tokens), tokens["kind"], tokens["index"], strict=True):
        if kind == "accepted":
            _same(f"token {index}: one accepted draft row", rows[place], 1)
    for level in _levels(trace.columns["rounds"]):
        _same(
            f"level {level['level']}: histogram", sum(level["accepted_histogram"]), level["rounds"]
        )
    spent = sum(calls["duration_ns"])
    wall = trace.meta["wall_ns"]
    _same(f"calls took {spent} ns of {wall} ns: at most all", spent <= wall, True)


def _places(table: Columns) -> Iterator[tuple]:
    """Yield the round, depth, token and source of each row."""
    yield from zip(table["round"], table["depth"], table["token_id"], table["source"], strict=True)


def _same(what: str, left: Any, right: Any) -> None:
    if left != right:
        raise UserError(f"the trace violates an identity: {what}: {left} is not {right}")
