"""Observations of a drafter from runs of this project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import mean, median

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.errors import BadFile
from hsd_viz.latency.traced_costs import verifications
from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.observe_records import from_series
from hsd_viz.records.traces import series_of
from hsd_viz.stack import TARGET, Stack, decoded_stack
from hsd_viz.trace import Finished, Trace

#: Number of decodes of a quick measurement, and tokens of each.
PROMPTS = 6
TOKENS = 64


class _Sampling(msgspec.Struct):
    """The sampling of a run.

    Attributes:
        temperature: the temperature; 0: greedy decoding.
    """

    temperature: float | None = None


class _PlainRuns(msgspec.Struct):
    """Plain decoding measured with a run.

    Attributes:
        tokens_per_second: the speed of plain decoding.
        speedups: the speed-up of each pair of runs.
        load_average: the load average of the machine.
        cores: the number of cores of the machine.
    """

    tokens_per_second: float | None = None
    speedups: tuple[float, ...] | None = None
    load_average: float | None = None
    cores: int | None = None


class _RunFacts(msgspec.Struct):
    """The fields of a run's meta that are used here.

    Attributes:
        wall_ns: the duration of the run in nanoseconds.
        prefill_ns: the duration of the prefill in nanoseconds.
        sampling: the sampling of the run.
        plain: plain decoding measured with the run.
    """

    wall_ns: int
    prefill_ns: int
    sampling: _Sampling | None = None
    plain: _PlainRuns | None = None


def from_trace(trace: Trace, source: str) -> Observation:
    """Return the observation of a run, with the decoding step of the plain runs measured with it.

    Raises:
        BadFile: if the trace is damaged.
    """
    if "counts" in trace.meta:
        return from_series(series_of([trace]), source)
    facts = _facts(trace, source)
    target = max((row.level for row in trace.round_rows), default=0)
    depths: dict[int, int] = {}
    for draft in trace.draft_rows:
        depths[draft.round] = max(draft.depth, depths.get(draft.round, draft.depth))
    # Runs recorded without draft rows count as runs with chains.
    rounds: Counter[tuple[int, int]] = Counter()
    for row in trace.round_rows:
        if row.level == target:
            rounds[depths.get(row.id, row.drafted), row.accepted] += 1
    stack = decoded_stack(trace.meta)
    has_drafts = any(drafted for drafted, _ in rounds)
    if has_drafts and not stack.drafts and stack.bottom is None:
        raise BadFile(f"{source} contradicts itself: it has drafts, and its stack is '{stack}'")
    temperature = None if facts.sampling is None else facts.sampling.temperature
    seen = Observation(
        source=source,
        rounds=rounds,
        stack=stack,
        method=_method_of_stack(stack),
        sampled=None if temperature is None else temperature > 0,
    )
    return _with_own_times(trace, facts, seen, target)


def _facts(trace: Trace, source: str) -> _RunFacts:
    """Return the facts of a run.

    Raises:
        BadFile: if a fact is missing or has a wrong type.
    """
    try:
        return msgspec.convert(trace.meta, _RunFacts)
    except OF_ANOTHER_TYPE as error:
        raise BadFile(f"{source} is not valid: {error}") from None


def _method_of_stack(stack: Stack) -> str:
    """Return the name of a stack's drafter in serving engines."""
    if stack.drafts or not stack.bottom:
        return "draft"
    return "suffix" if stack.bottom.name == "suffix" else "lookup"


def _with_own_times(trace: Trace, facts: _RunFacts, seen: Observation, target: int) -> Observation:
    """Return the observation with the times of the run's calls."""
    verify_ns = 0
    below_ns = 0
    for call in trace.call_rows:
        if call.kind == "verify" and call.level == target:
            verify_ns += call.duration_ns
        elif call.round >= 0:
            below_ns += call.duration_ns
    verify = verify_ns / 1e6 / seen.total
    below = below_ns / 1e6 / seen.total
    # Use the time per token, because the last round may have been cut.
    decode_ms = (facts.wall_ns - facts.prefill_ns) / 1e6
    whole = decode_ms / max(1, len(trace)) * seen.length
    plain = facts.plain or _PlainRuns()
    speedups = plain.speedups or ()
    step = _plain_step(trace, plain, whole / seen.length, target)
    verify = min(max(verify, min(step or 0.0, whole - below)), whole)
    below = min(below, whole)
    return replace(
        seen,
        step=step,
        verify=verify,
        draft=below,
        overhead=max(0.0, whole - verify - below),
        round=whole,
        speedups=speedups,
        busy=_busy(plain),
    )


def _plain_step(trace: Trace, plain: _PlainRuns, ms_per_token: float, target: int) -> float | None:
    """Return the time of a decoding step from the plain runs, or from passes over one token."""
    if plain.speedups:
        return median(plain.speedups) * ms_per_token
    if plain.tokens_per_second:
        return 1e3 / plain.tokens_per_second
    names = {call.level: call.name for call in trace.call_rows}
    name = names.get(target)
    if name is None:
        # A trace without calls has no times of levels.
        return None
    return median(verifications([trace])[name].get(1) or [0.0]) or None


def _busy(plain: _PlainRuns) -> str:
    """Describe a load beyond the cores, without that of the decode itself; "": none."""
    load = plain.load_average or 0.0
    cores = plain.cores or 1
    if load <= max(1.0, cores):
        return ""
    return f"load average {load:.1f} on {cores} cores"


def measure_stack(stack: str) -> Observation:
    """Return the observation of short decodes on this machine, which alternate with plain ones."""
    from hsd_viz.decoding.options import DecodingOptions
    from hsd_viz.engine.beside_plain import decode_beside_plain
    from hsd_viz.engine.local import load_engine
    from hsd_viz.prompts.suites import load_suite

    engine = load_engine(TARGET)
    engine.wait_ready()
    options = DecodingOptions(max_new_tokens=TOKENS)
    runs: list[Observation] = []
    for prompt in load_suite("python").limited(PROMPTS + 1).prompts:
        # The following plain runs are added to the trace of a run, so read it at the end.
        for event in list(decode_beside_plain(engine, prompt.text, stack, options, pairs=2)):
            if isinstance(event, Finished):
                runs.append(from_trace(event.trace, stack))
    return _pooled(runs[1:])  # the first run is the warm-up


def _pooled(runs: Sequence[Observation]) -> Observation:
    """Combine the observations of runs of a stack: the sum of their rounds, and the mean times."""
    rounds: Counter[tuple[int, int]] = Counter()
    speedups: list[float] = []
    for run in runs:
        rounds.update(run.rounds)
        speedups += run.speedups
    return replace(
        runs[-1],
        rounds=rounds,
        speedups=tuple(speedups),
        step=_mean_time(runs, "step"),
        verify=_mean_time(runs, "verify"),
        draft=_mean_time(runs, "draft"),
        overhead=_mean_time(runs, "overhead"),
        round=_mean_time(runs, "round"),
    )


def _mean_time(runs: Sequence[Observation], name: str) -> float:
    return mean(getattr(run, name) for run in runs)
