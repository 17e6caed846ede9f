"""Observations of a drafter from traces, records of engines, or given figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

from hsd_viz.errors import BadFile, UserError, parsing
from hsd_viz.latency.estimate import verifications
from hsd_viz.latency.hardware import Machine, check_setting, gpu_of, shape_of
from hsd_viz.latency.law import MOST
from hsd_viz.measure.observation import TIMES, Observation, Served, even_rates
from hsd_viz.records.read import NoRecord, read
from hsd_viz.records.sample import Sample, Series, position_drafts
from hsd_viz.records.settings import METHODS, NGRAMS, PARALLEL, method_of
from hsd_viz.records.time import Change, changes, speed_of
from hsd_viz.records.traces import series_of
from hsd_viz.stack import parse
from hsd_viz.trace import Finished, Trace, TraceError
from hsd_viz.words import check_range

#: Decodes of a quick measurement, and their tokens.
PROMPTS = 6
TOKENS = 64
#: The least share of forward passes without a draft that is distinguished from the prefill.
LEAST_IDLE = 0.02


@dataclass(frozen=True, slots=True)
class Observed:
    """An observation with what its source says beside it.

    Attributes:
        seen: the observation.
        changes: where a figure changed in the middle of the record.
        notes: what was read, skipped and refused.
        model: the served model, "" where it is not named.
    """

    seen: Observation
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""


def observe(path: Path, model: str | None = None, engine: str | None = None) -> Observed:
    """Return the observation of a trace or a record of another engine.

    Args:
        path: the file.
        model: of a record of several models: this one.
        engine: of a record of several engines: this one.

    Raises:
        UserError: if the file is neither, or contains several models.
    """
    not_a_trace = ""
    try:
        with parsing(path):
            return Observed(from_trace(Trace.load(path), path.name))
    except TraceError as error:
        not_a_trace = str(error)
    try:
        reading = read(path, engine)
    except NoRecord as error:
        why = f"{error}; as a trace: {not_a_trace}"
        raise BadFile(f"{path} is not a trace or a record of another engine: {why}") from None
    series = reading.one(model)
    notes = [*reading.read_notes(), *series.remarks]
    past = _past_the_end(series, series.pooled())
    if past:
        notes.append(
            f"{past:,.0f} accepted tokens were past the ends of "
            "replies: where only sums are known, "
            "tokens per forward pass are of emitted ones"
        )
    return Observed(
        seen=from_series(series, path.name),
        changes=tuple(changes(series)),
        notes=tuple(dict.fromkeys(notes)),
        model=series.model,
    )


# --- a run of this project ----------------------------------------------------------------------


def from_trace(trace: Trace, source: str) -> Observation:
    """Return the observation of a run; its plain step is that of plain runs beside it."""
    if "counts" in trace.meta:
        return from_series(series_of([trace]), source)
    target = max((row.level for row in trace.round_rows), default=0)
    depths = {row.round: row.depth for row in sorted(trace.draft_rows, key=lambda row: row.depth)}
    # Unrecorded runs have no draft rows: their drafts are chains.
    rounds = Counter(
        (depths.get(row.id, row.drafted), row.accepted)
        for row in trace.round_rows
        if row.level == target
    )
    stack = parse(str(trace.meta.get("stack_resolved") or trace.stack))
    has_drafts = any(drafted for drafted, _ in rounds)
    if has_drafts and not stack.drafts and stack.bottom is None:
        raise BadFile(f"{source} contradicts itself: it has drafts, and its stack is '{stack}'")
    temperature = (trace.meta.get("sampling") or {}).get("temperature")
    seen = Observation(
        source=source,
        rounds=rounds,
        stack=stack,
        method=_method_of_stack(stack),
        sampled=None if temperature is None else temperature > 0,
    )
    return _with_own_times(trace, seen, target)


def _method_of_stack(stack: Any) -> str:
    if stack.drafts or not stack.bottom:
        return "draft"
    return "suffix" if stack.bottom.name == "suffix" else "lookup"


def _with_own_times(trace: Trace, seen: Observation, target: int) -> Observation:
    """Return the observation with the times that the run's calls took."""
    verify_ns = 0
    below_ns = 0
    for call in trace.call_rows:
        if call.kind == "verify" and call.level == target:
            verify_ns += call.duration_ns
        elif call.round >= 0:
            below_ns += call.duration_ns
    verify = verify_ns / 1e6 / seen.total
    below = below_ns / 1e6 / seen.total
    # Per token, times the tokens of a round: the last round may have been cut.
    decode_ms = (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e6
    whole = decode_ms / max(1, len(trace)) * seen.length
    note = trace.meta.get("plain") or {}
    speedups = tuple(note.get("speedups") or ())
    step = _plain_step(trace, note, speedups, whole / seen.length, target)
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
        busy=_busy(note),
    )


def _plain_step(
    trace: Trace,
    note: dict[str, Any],
    speedups: Sequence[float],
    ms_per_token: float,
    target: int,
) -> float | None:
    """Return the time of a plain step: of plain runs beside it, or of passes over one token."""
    if speedups:
        return median(speedups) * ms_per_token
    if speed := note.get("tokens_per_second"):
        return 1e3 / speed
    name = {call.level: call.name for call in trace.call_rows}[target]
    return median(verifications([trace])[name].get(1) or [0.0]) or None


def _busy(note: dict[str, Any]) -> str:
    """Return how other work disturbed a run: a load beyond the cores, the decode's own left out."""
    load = note.get("load_average") or 0.0
    cores = note.get("cores") or 1
    if load <= max(1.0, cores):
        return ""
    return f"load average {load:.1f} on {cores} cores"


def measured(stack: str) -> Observation:
    """Return the observation of a few short decodes on this machine, in turns with plain ones."""
    from hsd_viz.engine.live import decode_beside_plain
    from hsd_viz.engine.local import load_engine
    from hsd_viz.prompts.suites import load_suite

    engine = load_engine("target")
    engine.wait_ready()
    runs: list[Observation] = []
    for prompt in load_suite("python").limited(PROMPTS + 1).prompts:
        events = [*decode_beside_plain(engine, prompt.text, stack, pairs=2, max_new_tokens=TOKENS)]
        runs += [from_trace(event.trace, stack) for event in events if isinstance(event, Finished)]
    runs = runs[1:]  # the first one warms up
    times = {name: mean(getattr(run, name) for run in runs) for name in TIMES}
    rounds = sum((Counter(run.rounds) for run in runs), Counter())
    speedups = tuple(ratio for run in runs for ratio in run.speedups)
    return replace(runs[-1], rounds=rounds, speedups=speedups, **times)


# --- records of engines -------------------------------------------------------------------------


def from_series(series: Series, source: str) -> Observation:
    """Return the observation of a series.

    Raises:
        UserError: if it does not determine the tokens per forward pass.
    """
    whole = series.pooled()
    seen = _acceptance(series, whole, source)
    method = series.method or "draft"
    speeds = [speed for one in series.samples if (speed := speed_of(one)) is not None]
    running = [one.running for one in series.samples if one.running]
    speed = _speed_of_all(series.samples) or (median(speeds) if speeds else None)
    timed = [row.nanoseconds / 1e6 for row in whole.verifications if row.nanoseconds is not None]
    return replace(
        seen,
        method=method,
        draft_model=series.draft_model or "DRAFT",
        verify=mean(timed) if timed else None,
        draft=whole.draft_ms,
        round=1e3 * seen.length / speed if speed else None,
        batch=max(1, round(median(running))) if running else 1,
        requests=tuple(_served(series.samples)),
        batches=tuple(_batches(series.samples)),
        sampled=_sampled(series.samples),
    )


def _batches(samples: Iterable[Sample]) -> Iterator[tuple[float, float]]:
    """Yield running requests and tokens per second of each, of the samples that have both."""
    for one in samples:
        speed = speed_of(one)
        if one.running and one.running >= 1 and speed:
            yield one.running, speed


def _speed_of_all(samples: Sequence[Sample]) -> float | None:
    """Return tokens per second of the requests that report their times."""
    timed = [one for one in samples if one.tokens and one.seconds]
    if not timed:
        return None
    seconds = sum(one.seconds or 0.0 for one in timed)
    return sum(one.tokens or 0.0 for one in timed) / seconds


def _sampled(samples: Iterable[Sample]) -> bool | None:
    """Return whether requests were sampled, ``None`` where their temperature is not reported."""
    known = [
        one.request.temperature
        for one in samples
        if one.request is not None and one.request.temperature is not None
    ]
    return any(temperature > 0 for temperature in known) if known else None


def _served(samples: Sequence[Sample]) -> list[Served]:
    """Return the requests of a series, and the lines of a log that state a context."""
    if len(samples) < 2:
        return []
    found = []
    for one in samples:
        request = one.request
        if request is None:
            continue
        if one.drafts:
            rounds = one.drafts
            accepted = one.accepted or 0.0
        elif one.length:
            rounds = 1.0
            accepted = one.length - 1
        else:
            continue
        found.append(
            Served(
                rounds=rounds,
                accepted=accepted,
                histogram=one.histogram or (),
                context=request.context,
                cached=request.cached,
                category=request.category,
                temperature=request.temperature,
            )
        )
    return found


def _acceptance(series: Series, whole: Sample, source: str) -> Observation:
    """Return what a series says of acceptance, in as much detail as it has."""
    drafting = [one for one in series.samples if one.drafted or one.length]
    rounds = _rounds(drafting)
    idle = _idle(series, whole)
    if rounds:
        total = sum(rounds.values())
        if idle:
            rounds[0, 0] += round(total * idle / (1 - idle))
        return Observation(source, rounds)
    if whole.by_position is not None and (drafts := position_drafts(series.samples)):
        return Observation(
            source,
            rates=tuple(min(1.0, count / drafts) for count in whole.by_position),
            varied=whole.reached is None,
            verifications=round(drafts),
            idle=idle,
            mean_drafted=_mean_drafted(series.samples),
        )
    if whole.accepted is not None and whole.drafts:
        return _from_sums(source, whole, idle, _past_the_end(series, whole))
    if whole.length is not None and whole.draft_length:
        accepted = min(max(0.0, whole.length - 1), float(whole.draft_length))
        return Observation(
            source, rates=even_rates(accepted, whole.draft_length), by_mean=True, idle=idle
        )
    return _from_totals(series, whole, source)


def _past_the_end(series: Series, whole: Sample) -> float:
    """Return the accepted tokens of a series that were not emitted: a reply ended before them.

    Engines may count what the target would have accepted past a stop token or the token limit. One
    token per request is rounding: that of its prefill.
    """
    if whole.accepted is None or whole.tokens is None or whole.passes is None:
        return 0.0
    more = whole.accepted - max(0.0, whole.tokens - whole.passes)
    return more if more > len(series.samples) else 0.0


def _from_sums(source: str, whole: Sample, idle: float, past: float) -> Observation:
    """Return the observation of sums over drafts, of one length if the quotient is a whole one.

    ``past`` of the accepted tokens were not emitted.
    """
    assert whole.drafts and whole.accepted is not None
    accepted = (whole.accepted - past) / whole.drafts
    if whole.drafted:
        per_draft = whole.drafted / whole.drafts
    elif whole.draft_length and accepted <= whole.draft_length:
        per_draft = float(whole.draft_length)
    else:
        return Observation(
            source,
            totals=(1 + (1 - idle) * accepted, (1 - idle) * accepted),
            verifications=round(whole.drafts),
            idle=idle,
            drafted_known=False,
        )
    if abs(per_draft - round(per_draft)) < 0.01:
        return Observation(
            source,
            rates=even_rates(accepted, round(per_draft)),
            by_mean=True,
            verifications=round(whole.drafts),
            idle=idle,
        )
    used = 1 - idle
    return Observation(
        source,
        totals=(1 + used * accepted, used * per_draft),
        verifications=round(whole.drafts),
        idle=idle,
    )


def _from_totals(series: Series, whole: Sample, source: str) -> Observation:
    """Return the observation of tokens and draft tokens per forward pass.

    Raises:
        UserError: if they do not follow.
    """
    if whole.length is not None:
        accepted = max(whole.length - 1, 0.0)
        totals = (whole.length, accepted / (whole.rate or 1.0))
        return Observation(source, totals=totals, drafted_known=bool(whole.rate))
    if whole.tokens is None or whole.drafted is None or whole.accepted is None:
        raise UserError(
            f"{source} does not report the number of verifications: there is no tokens per "
            f"forward pass ({series.form} reports accepted and draft tokens alone)"
        )
    passes = max(1.0, whole.tokens - whole.accepted - _prefills(series))
    return Observation(source, totals=(1 + whole.accepted / passes, whole.drafted / passes))


def _prefills(series: Series) -> int:
    """Return how many forward passes were prefills: one per request."""
    return len(series.samples) if series.single else 0


def _mean_drafted(samples: Sequence[Sample]) -> float | None:
    """Return draft tokens per draft of the samples that report positions."""
    chosen = [one for one in samples if one.by_position is not None and one.drafts]
    if not chosen or any(one.drafted is None for one in chosen):
        return None
    drafts = sum(one.drafts or 0.0 for one in chosen)
    return sum(one.drafted or 0.0 for one in chosen) / drafts


def _idle(series: Series, whole: Sample) -> float:
    """Return the share of the forward passes that had no draft, 0 where it is not reported."""
    if whole.verifications and any(not row.drafted for row in whole.verifications):
        return 0.0  # listed, one by one
    if not whole.drafts or whole.passes is None or whole.accepted is None:
        return 0.0
    passes = whole.passes - _prefills(series)
    if passes <= whole.drafts:
        return 0.0
    share = 1 - whole.drafts / passes
    return share if share >= LEAST_IDLE else 0.0


def _rounds(samples: Sequence[Sample]) -> Counter[tuple[int, int]]:
    """Return rounds by (depth, accepted tokens); empty where the samples do not determine them."""
    rounds: Counter[tuple[int, int]] = Counter()
    for one in samples:
        if one.verifications:
            rounds.update((row.drafted, row.accepted) for row in one.verifications)
        elif one.by_position is not None and one.reached is not None and one.drafts:
            rounds.update(_rounds_of_positions(one))
        else:
            return Counter()
    return rounds


def _rounds_of_positions(sample: Sample) -> Counter[tuple[int, int]]:
    """Return the rounds of drafts of one length; a last draft that was cut accepted what it had."""
    assert sample.by_position is not None and sample.reached is not None and sample.drafts
    longest = len(sample.reached)
    survivors = [sample.drafts, *sample.by_position]
    survivors += [0.0] * (longest + 1 - len(survivors))
    exactly = [a - b for a, b in zip(survivors, [*survivors[1:], 0.0], strict=True)]
    rounds = Counter({(longest, j): round(n) for j, n in enumerate(exactly) if round(n) > 0})
    cut = [k for k, reached in enumerate(sample.reached, 1) if reached < sample.drafts]
    if cut:
        whole = cut[0] - 1
        for accepted in range(whole, -1, -1):
            if rounds[longest, accepted]:
                rounds[longest, accepted] -= 1
                rounds[whole, accepted] += 1
                break
    return Counter({kind: n for kind, n in rounds.items() if n > 0})


# --- given figures ------------------------------------------------------------------------------


def from_figures(acceptance: Sequence[float], lookahead: int | None = None) -> Observation:
    """Return the observation of acceptance as engines report it.

    Args:
        acceptance: accepted / drafted, a mean acceptance length (above 1), or P(the first k are
            accepted), k = 1, 2, ...
        lookahead: draft tokens, with a single figure.

    Raises:
        UserError: if the figures are not possible.
    """
    source = "the acceptance given"
    if len(acceptance) > 1:
        falling = zip((1.0, *acceptance), acceptance, strict=False)
        if any(not 0 <= later <= earlier for earlier, later in falling):
            raise UserError(
                f"{source} must be from 0 to 1 and must not rise from position to position"
            )
        return Observation(source, rates=tuple(acceptance))
    if not acceptance:
        raise UserError(
            "nothing to examine: give a trace, a record of an engine, or the acceptance of drafts"
        )
    if lookahead is None:
        raise UserError(f"{source} needs the number of draft tokens: --lookahead")
    check_range("the lookahead", lookahead, 1, 64)
    total = acceptance[0] - 1 if acceptance[0] > 1 else acceptance[0] * lookahead
    if not 0 <= total <= lookahead:
        raise UserError(
            f"{source}, {acceptance[0]:g}, is not possible with {lookahead} draft tokens"
        )
    return Observation(source, rates=even_rates(total, lookahead), by_mean=True)


def with_times(
    seen: Observation,
    *,
    speed: float | None = None,
    plain_speed: float | None = None,
    batch: int | None = None,
    method: str | None = None,
    draft_model: str | None = None,
    step: float | None = None,
    verify: float | None = None,
    draft: float | None = None,
    overhead: float | None = None,
) -> Observation:
    """Return the observation with known figures.

    Args:
        seen: the observation.
        speed: tokens per second of a request with speculation.
        plain_speed: tokens per second of a request without.
        batch: requests decoded together (default: as observed).
        method: the drafter (default: as observed).
        draft_model: the draft model.
        step: ms of a plain step.
        verify: ms of the forward pass of a round.
        draft: ms of drafting per round.
        overhead: other ms of a round.

    Raises:
        UserError: if the figures contradict each other.
    """
    if step is None and plain_speed is not None:
        step = 1e3 / plain_speed
    known = {"step": step, "verify": verify, "draft": draft, "overhead": overhead}
    given: dict[str, Any] = {name: value for name, value in known.items() if value is not None}
    if speed is not None:
        given["round"] = 1e3 * seen.length / speed
    if given:
        # Repeated pairs do not apply to given times.
        seen = replace(seen, speedups=(), **given)
        seen = _with_rest(seen, "overhead" in given)
    return replace(
        seen,
        batch=seen.batch if batch is None else batch,
        method=seen.method if method is None else method_of(method),
        draft_model=draft_model or seen.draft_model,
    )


def _with_rest(seen: Observation, overhead_given: bool) -> Observation:
    """Return the observation with the overhead that is left of a round. Raises: UserError: if the
    parts exceed the round.
    """
    if seen.verify is None or seen.draft is None or seen.round is None:
        return seen
    left = seen.round - seen.verify - seen.draft
    if overhead_given:
        return replace(seen, round=None)
    if left < -0.02 * seen.round:
        spent = f"{seen.verify + seen.draft:.4g} ms, exceed the round of {seen.round:.4g} ms"
        raise UserError(f"verification and drafting, {spent}")
    return replace(seen, overhead=max(0.0, left))


def with_hardware(
    seen: Observation,
    gpu: str,
    models: Sequence[str],
    tp: int = 1,
    *,
    context: int = 2048,
    weights: str = "bf16",
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
) -> Observation:
    """Return the observation with the times of a hardware model where they were not observed.

    An observed step scales the predicted forward passes.

    Args:
        seen: the observation.
        gpu: a card, or any name with ``bandwidth`` (GB/s), ``flops`` (TFLOP/s) and ``memory`` (GB).
        models: the target and its draft model: names, paths of a ``config.json``, or a draft head.
        tp: cards that share each model.
        context: tokens cached per request.
        weights: the format of all weights.
        bandwidth: of an unknown card.
        flops: of an unknown card.
        memory: of an unknown card.

    Raises:
        UserError: for unknown names, and for models that do not fit.
    """
    names = [name.strip() for name in models]
    if not names or names[0] in ("", *METHODS):
        raise UserError(
            f"the models '{','.join(names)}' have no target: name it first, as in llama-8b,eagle3"
        )
    target, *drafts = [shape_of(name) for name in names if name not in METHODS]
    check_setting(target, tp, weights, context=(context,))
    machine = Machine(gpu_of(gpu, bandwidth, flops, memory), tp)
    head = drafts[0].with_target(target) if drafts else target.head()
    if machine.memory_share((target, head), batch=1, context=1, weights=weights) > 1:
        where = f"{tp} x {machine.gpu.name}"
        raise UserError(
            f"{target.name} does not fit into the memory of {where}: see --tp and --weights"
        )
    depth = seen.drafted
    step_ms = partial(machine.step_ms, batch=seen.batch, context=context, weights=weights)
    plain = step_ms(target)
    scale = 1.0 if seen.step is None else seen.step / plain
    verify = seen.verify
    if verify is None:
        verify = scale * step_ms(target, tokens=depth + 1)
    draft = seen.draft
    if draft is None:
        draft = scale * step_ms(head) * _forwards_of(seen)
    overhead = seen.overhead
    if overhead is None:
        overhead = machine.efficiency.round_us * 1e-3
        if seen.round is not None:
            # The time of a round is known: what is left of it is overhead.
            overhead = max(0.0, seen.round - verify - draft)
    longest = 2 + max(MOST, seen.deepest)
    return replace(
        seen,
        curve=tuple(step_ms(target, tokens=m) for m in range(1, longest)),
        step=plain if seen.step is None else seen.step,
        verify=verify,
        draft=draft,
        overhead=overhead,
    )


def _forwards_of(seen: Observation) -> float:
    """Return the forward passes of the drafter in a round."""
    if seen.method in NGRAMS:
        return 0.0
    return 1.0 if seen.method in PARALLEL else seen.drafted
