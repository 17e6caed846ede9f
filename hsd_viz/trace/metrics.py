"""The metrics of a trace.

- Acceptance rate: accepted / drafted.
- Conditional acceptance: accepted / examined.
- Mean acceptance length: emitted tokens per target forward pass, including bonus tokens (1.00 for
  plain decoding).
- Drafting latency: seconds per target round spent on look-ups and database updates, without the
  forward passes of draft models.
- Speed: emitted tokens per second from the end of prefill.

A trace imported from another engine (:mod:`hsd_viz.records.traces`) has counts in its meta. Metrics
that they do not determine are *not observed*: ``None``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from hsd_viz.errors import UserError
from hsd_viz.trace.meta import TraceMeta
from hsd_viz.trace.rows import RoundRow
from hsd_viz.trace.tables import Columns

#: The length of the repetitions that :func:`repetition_share` counts, in tokens.
NGRAM = 8
#: The largest plausible number of accepted tokens in a round; a record with more is damaged.
MAX_ACCEPTED = 1024
#: The kinds of calls that find drafts without a forward pass.
_FINDING = ("lookup", "update")


class LevelMetrics(TypedDict):
    """The metrics of a verifying level.

    Attributes:
        level: the index of the level in the stack, 0 at the bottom.
        rounds: the number of rounds.
        drafted: the number of draft tokens submitted to the level.
        examined: the number of draft tokens up to the first rejection of each round.
        accepted: the number of accepted draft tokens.
        acceptance_rate: accepted / drafted.
        conditional_acceptance: accepted / examined.
        accepted_histogram: the number of rounds with k accepted tokens, by k.
    """

    level: int
    rounds: int
    drafted: int
    examined: int
    accepted: int
    acceptance_rate: float | None
    conditional_acceptance: float | None
    accepted_histogram: list[int]


class CallMetrics(TypedDict):
    """The sums over the calls of a kind by a level.

    Attributes:
        level: the index of the level in the stack, 0 at the bottom.
        name: the name of the model or database.
        kind: the kind of the calls, such as ``verify`` or ``lookup``.
        calls: the number of calls.
        steps: the number of forward passes.
        fed: the number of tokens fed.
        seconds: the total time in seconds.
    """

    level: int
    name: str
    kind: str
    calls: int
    steps: int
    fed: int
    seconds: float


class Metrics(TypedDict):
    """The metrics of a trace. A metric is ``None`` if its denominator is zero or if it was not
    observed.

    Only imported traces lack observations (:func:`hsd_viz.trace.tables.observed`).

    Attributes:
        tokens: the number of emitted tokens.
        rounds: the number of target rounds.
        drafted: the number of draft tokens submitted to the target.
        accepted: the number of draft tokens that the target accepted.
        acceptance_rate: accepted / drafted.
        conditional_acceptance: accepted / examined.
        mean_acceptance_length: the number of emitted tokens per forward pass of the target.
        seconds: the time of decoding in seconds, after prefill.
        prefill_seconds: the time of prefill in seconds.
        draft_seconds_per_round: the time in seconds of look-ups and updates of databases, per
            target round.
        target_forwards: the number of forward passes of the target after prefill.
        repetition_share: the share of repeated tokens: see :func:`repetition_share`.
        drafted_by_source: the number of draft tokens submitted to the target, by source.
        accepted_by_source: the number of emitted draft tokens, by source.
        emitted_by_source: the number of emitted tokens, by source.
        levels: the metrics of each verifying level, bottom first.
        calls_by_level: the sums over calls by level, name and kind.
        tokens_per_second: the number of emitted tokens per second of decoding.
    """

    tokens: int | None
    rounds: int | None
    drafted: int | None
    accepted: int | None
    acceptance_rate: float | None
    conditional_acceptance: float | None
    mean_acceptance_length: float | None
    seconds: float | None
    prefill_seconds: float | None
    draft_seconds_per_round: float | None
    target_forwards: int | None
    repetition_share: float | None
    drafted_by_source: dict[str, int] | None
    accepted_by_source: dict[str, int] | None
    emitted_by_source: dict[str, int] | None
    levels: list[LevelMetrics]
    calls_by_level: list[CallMetrics]
    tokens_per_second: float | None


def metrics(tables: dict[str, Columns], meta: TraceMeta) -> Metrics:
    """Return the metrics of a trace, from its tables and its meta."""
    tokens = tables["tokens"]
    emitted = len(tokens["token_id"])
    levels = level_metrics(tables["rounds"])
    target = levels[-1] if levels else _level(0, [])
    calls = _calls(tables["calls"])
    forwards = _target_forwards(calls, target["level"])
    finding_seconds = sum(row["seconds"] for row in calls if row["kind"] in _FINDING)
    seconds = _decode_seconds(meta)
    figures = Metrics(
        tokens=emitted,
        rounds=target["rounds"],
        drafted=target["drafted"],
        accepted=target["accepted"],
        acceptance_rate=target["acceptance_rate"],
        conditional_acceptance=target["conditional_acceptance"],
        mean_acceptance_length=_ratio(emitted, forwards),
        seconds=seconds,
        prefill_seconds=_in_seconds(meta.get("prefill_ns", 0)),
        draft_seconds_per_round=_ratio(finding_seconds, target["rounds"]),
        target_forwards=forwards,
        repetition_share=repetition_share(tokens["token_id"]),
        drafted_by_source=_drafted_by_source(tables["drafts"], tables["rounds"], target["level"]),
        accepted_by_source=_accepted_by_source(tokens),
        emitted_by_source=dict(Counter(tokens["source"])),
        levels=levels,
        calls_by_level=calls,
        tokens_per_second=_ratio(emitted, seconds),
    )
    counts = meta.get("counts")
    if counts is not None:
        _put_counts(figures, counts)
    return figures


def _put_counts(figures: Metrics, counts: dict[str, Any]) -> None:
    """Set the metrics of an imported trace, which has counts in its meta instead of rows."""
    figures["tokens"] = counts.get("tokens")
    figures["rounds"] = counts.get("forwards")
    figures["drafted"] = counts.get("drafted")
    figures["accepted"] = counts.get("accepted")
    figures["acceptance_rate"] = counts.get("rate")
    figures["mean_acceptance_length"] = counts.get("length_forwards")
    figures["target_forwards"] = counts.get("forwards")
    figures["tokens_per_second"] = _ratio(figures["tokens"], figures["seconds"])
    # Without rows, the sources and the texts of tokens were not observed.
    figures["draft_seconds_per_round"] = None
    figures["repetition_share"] = None
    figures["drafted_by_source"] = None
    figures["accepted_by_source"] = None
    figures["emitted_by_source"] = None


def _decode_seconds(meta: TraceMeta) -> float | None:
    """Return the time of a decode in seconds after prefill; ``None`` if it was not observed."""
    if meta.get("counts") is not None:
        return _in_seconds(meta.get("decode_ns"))
    return _in_seconds(meta.get("wall_ns", 0) - meta.get("prefill_ns", 0))


def _target_forwards(calls: list[CallMetrics], target: int) -> int:
    """Return the number of verifications by the target, whose level is ``target``."""
    forwards = 0
    for row in calls:
        if row["kind"] == "verify" and row["level"] == target:
            forwards += row["calls"]
    return forwards


def _drafted_by_source(drafts: Columns, rounds: Columns, target: int) -> dict[str, int]:
    """Return the number of draft tokens submitted to the target, by source."""
    rounds_of_target = set()
    for number, level in zip(rounds["id"], rounds["level"], strict=True):
        if level == target:
            rounds_of_target.add(number)
    drafted: Counter[str] = Counter()
    for source, number in zip(drafts["source"], drafts["round"], strict=True):
        if number in rounds_of_target:
            drafted[source] += 1
    return dict(drafted)


def _accepted_by_source(tokens: Columns) -> dict[str, int]:
    """Return the number of emitted draft tokens, by source."""
    accepted: Counter[str] = Counter()
    for source, kind in zip(tokens["source"], tokens["kind"], strict=True):
        if kind == "accepted":
            accepted[source] += 1
    return dict(accepted)


def repetition_share(token_ids: Sequence[int]) -> float:
    """Return the share of tokens that end an 8-gram which occurs earlier in the same output.

    The share of an empty output is 0.
    """
    earlier_grams: set[tuple[int, ...]] = set()
    repeated = 0
    for end in range(NGRAM, len(token_ids) + 1):
        gram = tuple(token_ids[end - NGRAM : end])
        repeated += gram in earlier_grams
        earlier_grams.add(gram)
    return repeated / len(token_ids) if token_ids else 0.0


def target_round_of(rounds: Sequence[RoundRow]) -> dict[int, int]:
    """Return the id of the target round that each round is part of, by the id of the round.

    A target round is part of itself.
    """
    targets: dict[int, int] = {}
    for r in sorted(rounds, key=lambda r: r.id):  # a parent has a lower id than its children
        targets[r.id] = r.id if r.parent is None else targets[r.parent]
    return targets


def level_metrics(rounds: Columns) -> list[LevelMetrics]:
    """Return the metrics of each verifying level, bottom first.

    Raises:
        UserError: if a round accepted more than :data:`MAX_ACCEPTED` tokens.
    """
    rows_by_level: dict[int, list[_RoundCounts]] = {}
    columns = (rounds["level"], rounds["drafted"], rounds["examined"], rounds["accepted"])
    for level, drafted, examined, accepted in zip(*columns, strict=True):
        row = _RoundCounts(drafted, examined, accepted)
        rows_by_level.setdefault(level, []).append(row)
    return [_level(level, rows) for level, rows in sorted(rows_by_level.items())]


class _RoundCounts(NamedTuple):
    """The number of draft tokens of a round that were submitted, examined and accepted."""

    drafted: int
    examined: int
    accepted: int


def _level(level: int, rows: list[_RoundCounts]) -> LevelMetrics:
    """Return the metrics of a level from its rounds."""
    drafted = sum(row.drafted for row in rows)
    examined = sum(row.examined for row in rows)
    accepted = sum(row.accepted for row in rows)
    rounds_by_accepted = Counter(row.accepted for row in rows)
    largest = max(rounds_by_accepted, default=-1)
    if largest > MAX_ACCEPTED:
        raise UserError(f"a round accepted {largest} tokens: the maximum is {MAX_ACCEPTED}")
    return LevelMetrics(
        level=level,
        rounds=len(rows),
        drafted=drafted,
        examined=examined,
        accepted=accepted,
        acceptance_rate=_ratio(accepted, drafted),
        conditional_acceptance=_ratio(accepted, examined),
        accepted_histogram=[rounds_by_accepted[k] for k in range(largest + 1)],
    )


@dataclass(slots=True)
class _CallSums:
    """The sums over the calls of a kind by a level."""

    calls: int = 0
    steps: int = 0
    fed: int = 0
    nanoseconds: int = 0


def _calls(calls: Columns) -> list[CallMetrics]:
    """Return the sums over the calls by level, name and kind, sorted in this order."""
    sums: dict[tuple[int, str, str], _CallSums] = {}
    names = ("level", "name", "kind", "steps", "fed", "duration_ns")
    columns = [calls[name] for name in names]
    for level, name, kind, steps, fed, nanoseconds in zip(*columns, strict=True):
        row = sums.setdefault((level, name, kind), _CallSums())
        row.calls += 1
        row.steps += steps
        row.fed += fed
        row.nanoseconds += nanoseconds
    rows = []
    for (level, name, kind), sums_of_kind in sorted(sums.items(), key=lambda item: item[0]):
        rows.append(
            CallMetrics(
                level=level,
                name=name,
                kind=kind,
                calls=sums_of_kind.calls,
                steps=sums_of_kind.steps,
                fed=sums_of_kind.fed,
                seconds=sums_of_kind.nanoseconds / 1e9,
            )
        )
    return rows


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Return a quotient; ``None`` if a value is not known or the denominator is zero."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def _in_seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
