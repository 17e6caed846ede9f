"""The metrics of a trace, and the identities that every complete trace satisfies.

Acceptance rate = accepted / drafted. Conditional acceptance = accepted / examined. Mean acceptance length = emitted
tokens per target forward pass, bonus included (plain decoding: 1.00). Drafting latency = seconds per target round spent
on look-ups and database updates, model forward passes excluded. Speed counts from the end of prefill.

A trace imported from another engine (:mod:`hsd_viz.adapters.read`) has counts in its meta; what they do not determine
is *not observed*: ``None``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from hsd_viz.trace.tables import Columns, RoundRow

NGRAM = 8
#: More accepted tokens in a round are those of a damaged record.
MOST_ACCEPTED = 1024
_CALL = ("level", "name", "kind", "steps", "fed", "duration_ns")


class Run(Protocol):
    """What is read of a :class:`~hsd_viz.trace.Trace`."""

    meta: dict[str, Any]

    @property
    def columns(self) -> dict[str, Columns]: ...

    def rows(self, table: str) -> tuple: ...


def repetition_share(token_ids: Sequence[int]) -> float:
    """Return the share of tokens that end an 8-gram already present earlier in the same output; 0 if it is empty."""
    seen: set[tuple[int, ...]] = set()
    repeated = 0
    for end in range(NGRAM, len(token_ids) + 1):
        gram = tuple(token_ids[end - NGRAM : end])
        repeated += gram in seen
        seen.add(gram)
    return repeated / len(token_ids) if token_ids else 0.0


def metrics(trace: Run) -> dict[str, Any]:
    """Return all metrics of one trace; rates are ``None`` where the denominator is zero. Times in seconds. ``levels``
    has one entry per verifying level, bottom first, with the histogram of accepted counts (index = accepted);
    ``calls_by_level`` one per (level, name, kind).
    """
    meta = trace.meta
    if "counts" in meta:
        return _imported(trace)
    tokens, drafts, rounds, calls = (trace.columns[name] for name in ("tokens", "drafts", "rounds", "calls"))
    target = max(rounds["level"], default=0)
    target_rounds = {number for number, level in zip(rounds["id"], rounds["level"], strict=True) if level == target}
    seconds = (meta.get("wall_ns", 0) - meta.get("prefill_ns", 0)) / 1e9
    spent = zip(calls["kind"], calls["duration_ns"], strict=True)
    finding = sum(ns for kind, ns in spent if kind in ("lookup", "update")) / 1e9
    forwards = Counter(zip(calls["kind"], calls["level"], strict=True))["verify", target]
    counts = _counts(rounds, target)
    accepted = Counter(s for s, kind in zip(tokens["source"], tokens["kind"], strict=True) if kind == "accepted")
    proposed = zip(drafts["source"], drafts["round"], strict=True)
    return {
        "tokens": len(tokens["token_id"]),
        "rounds": len(target_rounds),
        **{key: counts[key] for key in ("drafted", "accepted", "acceptance_rate", "conditional_acceptance")},
        "mean_acceptance_length": _ratio(len(tokens["token_id"]), forwards),
        "tokens_per_second": _ratio(len(tokens["token_id"]), seconds),
        "seconds": seconds,
        "prefill_seconds": meta.get("prefill_ns", 0) / 1e9,
        "draft_seconds_per_round": _ratio(finding, len(target_rounds)),
        "target_forwards": forwards,
        "repetition_share": repetition_share(tokens["token_id"]),
        "drafted_by_source": dict(Counter(source for source, number in proposed if number in target_rounds)),
        "accepted_by_source": dict(accepted),
        "emitted_by_source": dict(Counter(tokens["source"])),
        "levels": _levels(rounds),
        "calls_by_level": _calls(calls),
    }


def _imported(trace: Run) -> dict[str, Any]:
    """The metrics of an imported trace."""
    meta, counts, rounds = trace.meta, trace.meta["counts"], trace.columns["rounds"]
    seconds, prefill = (None if meta.get(key) is None else meta[key] / 1e9 for key in ("decode_ns", "prefill_ns"))
    tokens = counts.get("tokens")
    unknown = ("draft_seconds_per_round", "repetition_share", "drafted_by_source", "accepted_by_source")
    return {
        "tokens": tokens,
        "rounds": counts.get("forwards"),
        **{key: counts.get(key) for key in ("drafted", "accepted")},
        "acceptance_rate": counts.get("rate"),
        "conditional_acceptance": _counts(rounds)["conditional_acceptance"] if rounds["id"] else None,
        "mean_acceptance_length": counts.get("length_forwards"),
        "tokens_per_second": _ratio(tokens, seconds) if tokens is not None and seconds is not None else None,
        "seconds": seconds,
        "prefill_seconds": prefill,
        "target_forwards": counts.get("forwards"),
        **dict.fromkeys((*unknown, "emitted_by_source")),
        "levels": _levels(rounds),
        "calls_by_level": [],
    }


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


def _counts(rounds: Columns, level: int | None = None) -> dict[str, Any]:
    """Draft tokens of the rounds (of a level), and the acceptance rates."""
    drafted, examined, accepted = (
        sum(n for n, at in zip(rounds[name], rounds["level"], strict=True) if level in (None, at))
        for name in ("drafted", "examined", "accepted")
    )
    rates = {"acceptance_rate": _ratio(accepted, drafted), "conditional_acceptance": _ratio(accepted, examined)}
    return {"drafted": drafted, "examined": examined, "accepted": accepted, **rates}


def _levels(rounds: Columns) -> list[dict[str, Any]]:
    levels = []
    for level in sorted(set(rounds["level"])):
        counts = Counter(n for n, at in zip(rounds["accepted"], rounds["level"], strict=True) if at == level)
        if max(counts) > MOST_ACCEPTED:
            raise ValueError(f"a round accepted {max(counts)} tokens: the maximum is {MOST_ACCEPTED}")
        histogram = [counts[k] for k in range(max(counts) + 1)]
        about = {"level": level, "rounds": counts.total(), **_counts(rounds, level)}
        levels.append({**about, "accepted_histogram": histogram})
    return levels


def _calls(calls: Columns) -> list[dict[str, Any]]:
    sums: dict[tuple[int, str, str], list[int]] = {}
    for level, name, kind, *values in zip(*(calls[key] for key in _CALL), strict=True):
        row = sums.setdefault((level, name, kind), [0, 0, 0, 0])
        for k, value in enumerate((1, *values)):
            row[k] += value
    return [
        {"level": level, "name": name, "kind": kind, "calls": n, "steps": steps, "fed": fed, "seconds": ns / 1e9}
        for (level, name, kind), (n, steps, fed, ns) in sorted(sums.items())
    ]


def target_round_of(rounds: Sequence[RoundRow]) -> dict[int, int]:
    """Map the id of each round to the id of the target round it is part of (a target round: to itself)."""
    parents = {r.id: r.parent for r in rounds}
    target_rounds = {}
    for number in parents:
        top = number
        while (parent := parents[top]) is not None:
            top = parent
        target_rounds[number] = top
    return target_rounds


def check(trace: Run) -> None:
    """Check the identities of a complete trace. Raises: ValueError: if one is violated; the message names the first."""
    tokens, drafts, calls = (trace.rows(name) for name in ("tokens", "drafts", "calls"))
    rounds = {r.id: r for r in trace.rows("rounds")}
    target = max((r.level for r in rounds.values()), default=0)
    top = [r for r in rounds.values() if r.level == target]
    emitted = sum(r.accepted + (r.outcome != "stopped") for r in top)
    _same("tokens = sum over target rounds of accepted + own token", emitted, len(tokens))
    _same("token indices run from 0", [t.index for t in tokens], list(range(len(tokens))))
    verdicts: dict[int, Counter] = {r: Counter() for r in rounds}
    for d in drafts:
        _same(f"draft of round {d.round}: there is such a round", d.round in rounds, True)
        verdicts[d.round][d.verdict] += 1
    for r in rounds.values():
        found = verdicts[r.id]
        _same(f"round {r.id}: drafted = accepted + rejected + unreached + cut", r.drafted, found.total())
        _same(f"round {r.id}: accepted", r.accepted, found["accepted"])
        above = r.level == target if r.parent is None else r.level < target and rounds[r.parent].level > r.level
        _same(f"round {r.id}: its parent {r.parent} is of a level above", above, True)
    rows = Counter((d.round, d.depth, d.token_id, d.source) for d in drafts if d.verdict == "accepted")
    kinds: dict[int, Counter] = {r.id: Counter() for r in top}
    for t in tokens:
        _same(f"token {t.index}: it belongs to a round of the target", t.round in kinds, True)
        kinds[t.round][t.kind] += 1
        if t.kind == "accepted":
            _same(f"token {t.index}: one accepted draft row", rows[t.round, t.depth, t.token_id, t.source], 1)
    for r in top:
        own = Counter() if r.outcome == "stopped" else Counter([r.outcome])
        _same(f"round {r.id}: kinds of its tokens", kinds[r.id], Counter(accepted=r.accepted) + own)
    for level in metrics(trace)["levels"]:
        _same(f"level {level['level']}: histogram", sum(level["accepted_histogram"]), level["rounds"])
    spent, wall = sum(c.duration_ns for c in calls), trace.meta["wall_ns"]
    _same(f"calls took {spent} ns of {wall} ns: at most all", spent <= wall, True)


def _same(what: str, left: Any, right: Any) -> None:
    if left != right:
        raise ValueError(f"the trace violates an identity: {what}: {left} is not {right}")
