"""What one stack did with one prompt, measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from hsd_viz.trace.metrics import target_round_of

if TYPE_CHECKING:
    from hsd_viz.trace import Trace


@dataclass(frozen=True, slots=True)
class Output:
    """One decode. Times in seconds.

    ``seconds`` run from the end of prefill and brought ``timed_tokens`` of the ``token_ids``: all of them in our loop, whose
    prefill emits nothing; in transformers' loops all but those of the first forward, which is prefill and step in one.
    ``drafted`` and ``accepted`` are draft tokens before the target. ``draft_seconds`` has one entry per target round, spent
    finding drafts and updating databases; ``None`` where a loop does not tell. ``runtime`` is what ran the models.
    ``emitted`` has the tokens that each forward of the target brought. A question is one output, all its turns together, which
    stand apart in ``turns``.
    """

    token_ids: tuple[int, ...]
    seconds: float
    timed_tokens: int
    prefill_seconds: float
    target_forwards: int
    drafted: int
    accepted: int
    draft_seconds: tuple[float, ...] | None
    runtime: str | None = None
    emitted: tuple[int, ...] = ()
    turns: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a stack answered to one turn of a question."""

    text: str
    output: Output

    @property
    def seconds(self) -> float:
        """Wall time of the whole decode, prefill included."""
        return self.output.prefill_seconds + self.output.seconds


def from_trace(trace: Trace) -> Output:
    """The measures of a decode in our own loop."""
    figures = trace.metrics()
    brought = Counter(t.round for t in trace.token_rows)
    return Output(
        token_ids=tuple(trace.token_ids),
        seconds=figures["seconds"],
        timed_tokens=figures["tokens"],
        prefill_seconds=figures["prefill_seconds"],
        target_forwards=figures["target_forwards"],
        drafted=figures["drafted"],
        accepted=figures["accepted"],
        draft_seconds=draft_seconds(trace),
        runtime=trace.meta.get("runtime"),
        emitted=tuple(brought[r.id] for r in trace.round_rows if r.parent is None),
    )


def draft_seconds(trace: Trace) -> tuple[float, ...]:
    """Per target round, the seconds of its look-ups and database updates, those of the rounds below it included."""
    owner = target_round_of(trace.round_rows)
    spent = {r.id: 0 for r in trace.round_rows if r.parent is None}
    for call in trace.call_rows:
        if call.kind in ("lookup", "update") and call.round in owner:
            spent[owner[call.round]] += call.duration_ns
    return tuple(ns / 1e9 for ns in spent.values())


def joined(answers: Sequence[Answer]) -> Output:
    """The turns of a question as one output: everything summed or strung together."""
    outputs = [a.output for a in answers]
    told = all(o.draft_seconds is not None for o in outputs)
    return Output(
        token_ids=tuple(t for o in outputs for t in o.token_ids),
        seconds=sum(o.seconds for o in outputs),
        timed_tokens=sum(o.timed_tokens for o in outputs),
        prefill_seconds=sum(o.prefill_seconds for o in outputs),
        target_forwards=sum(o.target_forwards for o in outputs),
        drafted=sum(o.drafted for o in outputs),
        accepted=sum(o.accepted for o in outputs),
        draft_seconds=tuple(s for o in outputs for s in o.draft_seconds or ()) if told else None,
        runtime=outputs[0].runtime,
        emitted=tuple(n for o in outputs for n in o.emitted),
        turns=tuple(answers),
    )


def median_of(outputs: Sequence[Output]) -> Output:
    """Repeats of one decode as one: median times, the rounds' drafting times of all, everything else of the first."""
    first = outputs[0]
    pooled = None if first.draft_seconds is None else tuple(s for o in outputs for s in o.draft_seconds or ())
    return replace(
        first,
        seconds=median(o.seconds for o in outputs),
        prefill_seconds=median(o.prefill_seconds for o in outputs),
        draft_seconds=pooled,
        turns=tuple(Answer(a.text, median_of([o.turns[k].output for o in outputs])) for k, a in enumerate(first.turns)),
    )
