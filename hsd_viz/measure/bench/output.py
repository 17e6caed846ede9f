"""The measurements of one decode of a bench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from statistics import median

from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import target_round_of
from hsd_viz.trace.tables import observed

#: Names of parts of a round; that of a forward pass is followed by the name of the model.
FORWARD = "forward "
DRAFTING = "drafting"
REST = "rest"
#: Number of untimed tokens that each stack decodes first, to exclude one-time costs.
WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Output:
    """One decode, or all turns of a question. Times are in seconds.

    Attributes:
        token_ids: the emitted tokens.
        seconds: the time from the end of prefill.
        timed_tokens: the number of tokens emitted in this time: all tokens in our loop, and in the
            loops of transformers all but those of the first forward pass, which is both prefill and
            step.
        prefill_seconds: the time of the prefill.
        target_forwards: the number of forward passes of the target.
        drafted: the number of tokens submitted to the target.
        accepted: the number of accepted draft tokens.
        draft_seconds: the time for look-ups and updates in each round of the target; ``None``: not
            reported by the loop.
        runtime: the runtime of the models.
        first_token_seconds: the time until the first token, prefill included.
        waits: for each later forward pass of the target, the time since the previous tokens, and
            the number of its tokens.
        parts: the times of the rounds by part (:func:`round_parts`).
        calls: the number of forward passes (each step of a launch counts) or look-ups, by level.
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


def from_trace(trace: Trace) -> Output:
    """Return the measurements of a decode in our own loop."""
    figures = trace.metrics()
    parts = round_parts(trace)
    emitted = Counter(token.round for token in trace.token_rows)
    arrivals = []
    for r in trace.round_rows:
        if r.parent is None and emitted[r.id]:
            end = observed(r.start_ns) + observed(r.duration_ns)
            arrivals.append((end / 1e9, emitted[r.id]))
    calls = dict.fromkeys((call.name for call in trace.call_rows), 0)
    for call in trace.call_rows:
        if call.kind in ("draft", "verify", "lookup"):
            calls[call.name] += call.steps
    return Output(
        token_ids=tuple(trace.token_ids),
        seconds=observed(figures["seconds"]),
        timed_tokens=observed(figures["tokens"]),
        prefill_seconds=observed(figures["prefill_seconds"]),
        target_forwards=observed(figures["target_forwards"]),
        drafted=observed(figures["drafted"]),
        accepted=observed(figures["accepted"]),
        draft_seconds=tuple(part.get(DRAFTING, 0) / 1e9 for part in parts),
        runtime=trace.meta.get("runtime"),
        first_token_seconds=arrivals[0][0] if arrivals else None,
        waits=waits_between(arrivals),
        parts=parts,
        calls=calls,
    )


def waits_between(arrivals: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Convert the (time, number of tokens) of arrivals to the (seconds since the previous arrival,
    number of tokens) of each later one.
    """
    waits = []
    for (before, _), (at, tokens) in pairwise(arrivals):
        waits.append((at - before, tokens))
    return tuple(waits)


def round_parts(trace: Trace) -> tuple[dict[str, int], ...]:
    """Return the nanoseconds of each target round by part, including nested rounds: ``forward
    NAME`` by model, ``drafting`` (look-ups and updates) and ``rest``. The parts sum to the time
    from the end of one round to that of the next.
    """
    owner = target_round_of(trace.round_rows)
    rounds = [r for r in trace.round_rows if r.parent is None]
    parts: dict[int, Counter[str]] = {r.id: Counter() for r in rounds}
    for call in trace.call_rows:
        if call.round in owner:
            part = FORWARD + call.name if call.kind in ("draft", "verify") else DRAFTING
            parts[owner[call.round]][part] += call.duration_ns
    for r in rounds:
        parts[r.id][REST] = max(0, observed(r.duration_ns) - parts[r.id].total())
    return tuple(map(dict, parts.values()))


def median_of(outputs: Sequence[Output]) -> Output:
    """Combine repeats of a decode: median times, the drafting times and waits of all repeats, and
    the rest from the first one.
    """
    return pooled(outputs, median, median)


def pooled(
    outputs: Sequence[Output],
    times: Callable[[list[float]], float],
    first: Callable[[list[float]], float],
) -> Output:
    """Return the first output with the combined times of all. ``times`` combines seconds, ``first``
    the times to the first token; drafting times, waits and parts are concatenated.
    """
    firsts = []
    for output in outputs:
        if output.first_token_seconds is not None:
            firsts.append(output.first_token_seconds)
    drafting: list[float] | None = []
    for output in outputs:
        if output.draft_seconds is None or drafting is None:
            drafting = None
        else:
            drafting += output.draft_seconds
    return replace(
        outputs[0],
        seconds=times([output.seconds for output in outputs]),
        prefill_seconds=times([output.prefill_seconds for output in outputs]),
        first_token_seconds=first(firsts) if firsts else None,
        draft_seconds=None if drafting is None else tuple(drafting),
        waits=tuple(chain.from_iterable(output.waits for output in outputs)),
        parts=tuple(chain.from_iterable(output.parts for output in outputs)),
    )
