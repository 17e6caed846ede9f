"""What one decode of a bench measured, and how several become one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from statistics import mean, median
from typing import Any

from hsd_viz.prompts.suites import Prompt
from hsd_viz.prompts.templates import Template
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import target_round_of

#: The stack that all others are compared with.
PLAIN = "target"
#: Parts of a round; a forward pass is followed by its model's name.
FORWARD, DRAFTING, REST = "forward ", "drafting", "rest"


@dataclass(frozen=True, slots=True)
class Output:
    """One decode, or all turns of a question. Times in seconds.

    ``seconds`` start at the end of prefill and yielded ``timed_tokens`` of the ``token_ids``: all of them in our loop,
    whose prefill emits nothing; in transformers' loops all but those of the first forward pass, which is prefill and
    step in one. ``drafted`` and ``accepted`` count draft tokens at the target. ``draft_seconds``: per target round,
    spent finding drafts and updating databases; ``None`` where a loop does not report it. ``runtime`` is what ran the
    models. ``first_token_seconds`` includes prefill; ``waits`` has, for each later forward pass of the target, the
    seconds since the tokens before and the number of its tokens. ``parts``: :func:`round_parts`. ``calls``: forward
    passes (steps of a launch count each) or look-ups by level, as far as a loop reports them.
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
    first_token_seconds: float | None = None
    waits: tuple[tuple[float, int], ...] = ()
    parts: tuple[dict[str, int], ...] = ()
    calls: dict[str, int] = field(default_factory=dict)


def ask(decode: Callable[[str | list[int]], Output], prompt: Prompt, template: Template | None) -> Output:
    """Decode a prompt; of a question every turn, with the answers before it in its prompt."""
    if not prompt.turns or template is None:
        return decode(prompt.text)
    answers: list[str] = []
    outputs: list[Output] = []
    for k in range(len(prompt.turns)):
        outputs.append(decode(template.write(prompt.turns[: k + 1], answers)))
        answers.append(template.read(outputs[-1].token_ids))
    return joined(outputs)


def from_trace(trace: Trace) -> Output:
    """Return the measures of a decode in our own loop."""
    figures, parts = trace.metrics(), round_parts(trace)
    emitted = Counter(t.round for t in trace.token_rows)
    rounds = [r for r in trace.round_rows if r.parent is None]
    calls = dict.fromkeys((c.name for c in trace.call_rows), 0)
    for call in trace.call_rows:
        if call.kind in ("draft", "verify", "lookup"):
            calls[call.name] += call.steps
    return Output(
        token_ids=tuple(trace.token_ids),
        timed_tokens=figures["tokens"],
        **{name: figures[name] for name in ("seconds", "prefill_seconds", "target_forwards", "drafted", "accepted")},
        draft_seconds=tuple(part.get(DRAFTING, 0) / 1e9 for part in parts),
        runtime=trace.meta.get("runtime"),
        parts=parts,
        calls=calls,
        **arrival_times([((r.start_ns + r.duration_ns) / 1e9, emitted[r.id]) for r in rounds if emitted[r.id]]),
    )


def arrival_times(arrivals: Sequence[tuple[float, int]]) -> dict[str, Any]:
    """Return the fields of :class:`Output` about the times at which tokens appear, from (time, number of tokens)."""
    waits = tuple((at - before, tokens) for (before, _), (at, tokens) in pairwise(arrivals))
    return {"first_token_seconds": arrivals[0][0] if arrivals else None, "waits": waits}


def round_parts(trace: Trace) -> tuple[dict[str, int], ...]:
    """Return the nanoseconds of each target round by part: ``forward NAME`` by model, ``drafting`` (look-ups and
    updates) and ``rest``, those of nested rounds included. The parts sum to the time from one round's end to the next.
    """
    owner = target_round_of(trace.round_rows)
    rounds = [r for r in trace.round_rows if r.parent is None]
    parts: dict[int, Counter[str]] = {r.id: Counter() for r in rounds}
    for call in trace.call_rows:
        if call.round in owner:
            part = FORWARD + call.name if call.kind in ("draft", "verify") else DRAFTING
            parts[owner[call.round]][part] += call.duration_ns
    for r in rounds:
        parts[r.id][REST] = max(0, r.duration_ns - parts[r.id].total())
    return tuple(map(dict, parts.values()))


def joined(outputs: Sequence[Output]) -> Output:
    """Return the turns of a question as one output: sums, and the mean time to a first token."""
    counts = ("timed_tokens", "target_forwards", "drafted", "accepted")
    sums: dict[str, Any] = {name: sum(getattr(o, name) for o in outputs) for name in counts}
    calls = sum((Counter(o.calls) for o in outputs), Counter())
    tokens = tuple(chain.from_iterable(o.token_ids for o in outputs))
    return replace(outputs[0], token_ids=tokens, calls=dict(calls), **sums, **_pooled(outputs, sum, mean))


def median_of(outputs: Sequence[Output]) -> Output:
    """Return repeats of a decode as one: median times, drafting times and waits of all, the rest of the first."""
    return replace(outputs[0], **_pooled(outputs, median, median))


def _pooled(outputs: Sequence[Output], times: Callable, first: Callable) -> dict[str, Any]:
    sums = {name: times([getattr(o, name) for o in outputs]) for name in ("seconds", "prefill_seconds")}
    firsts = [o.first_token_seconds for o in outputs if o.first_token_seconds is not None]
    every = {name: [getattr(o, name) for o in outputs] for name in ("draft_seconds", "waits", "parts")}
    joint = {name: None if None in some else tuple(chain.from_iterable(some)) for name, some in every.items()}
    return sums | joint | {"first_token_seconds": first(firsts) if firsts else None}
