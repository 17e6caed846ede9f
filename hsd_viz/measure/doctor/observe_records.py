"""Observations of a drafter from records of serving engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import mean, median

from hsd_viz.errors import UserError
from hsd_viz.measure.doctor.observation import Observation, Served, even_rates
from hsd_viz.records.changes import speed_of
from hsd_viz.records.sample import Sample
from hsd_viz.records.series import Series, position_drafts

#: Smallest share of forward passes without a draft that is distinguished from prefills.
MIN_IDLE = 0.02


def from_series(series: Series, source: str) -> Observation:
    """Return the observation of a series.

    Raises:
        UserError: if the series does not determine the tokens per forward pass.
    """
    whole = series.pooled()
    seen = _acceptance(series, whole, source)
    method = series.method or "draft"
    speed = _speed_of_all(series.samples) or _median_speed(series.samples)
    running = [sample.running for sample in series.samples if sample.running]
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
    """Yield (running requests, tokens per second of each) of the samples that have both."""
    for sample in samples:
        speed = speed_of(sample)
        if sample.running and sample.running >= 1 and speed:
            yield sample.running, speed


def _speed_of_all(samples: Sequence[Sample]) -> float | None:
    """Return the tokens per second over the requests that report their times."""
    tokens = 0.0
    seconds = 0.0
    for sample in samples:
        if sample.tokens and sample.seconds:
            tokens += sample.tokens
            seconds += sample.seconds
    return tokens / seconds if seconds else None


def _median_speed(samples: Iterable[Sample]) -> float | None:
    """Return the median of the tokens per second of the samples that have them."""
    speeds = []
    for sample in samples:
        speed = speed_of(sample)
        if speed is not None:
            speeds.append(speed)
    return median(speeds) if speeds else None


def _sampled(samples: Iterable[Sample]) -> bool | None:
    """Return whether the temperature of requests was above 0; ``None``: not reported."""
    sampled = None
    for sample in samples:
        if sample.request is None or sample.request.temperature is None:
            continue
        if sample.request.temperature > 0:
            return True
        sampled = False
    return sampled


def _served(samples: Sequence[Sample]) -> list[Served]:
    """Return the requests of a series, including the lines of a log that report a context."""
    if len(samples) < 2:
        return []
    requests = []
    for sample in samples:
        request = sample.request
        if request is None:
            continue
        if sample.drafts:
            rounds = sample.drafts
            accepted = sample.accepted or 0.0
        elif sample.length:
            rounds = 1.0
            accepted = sample.length - 1
        else:
            continue
        requests.append(
            Served(
                rounds=rounds,
                accepted=accepted,
                histogram=sample.histogram or (),
                context=request.context,
                cached=request.cached,
                category=request.category,
                temperature=request.temperature,
            )
        )
    return requests


def _acceptance(series: Series, whole: Sample, source: str) -> Observation:
    """Return the acceptance of a series, in the finest detail that it has."""
    drafting = [sample for sample in series.samples if sample.drafted or sample.length]
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
        return _from_sums(source, whole, idle, past_the_end(series, whole))
    if whole.length is not None and whole.draft_length:
        accepted = min(max(0.0, whole.length - 1), float(whole.draft_length))
        return Observation(
            source, rates=even_rates(accepted, whole.draft_length), by_mean=True, idle=idle
        )
    return _from_totals(series, whole, source)


def past_the_end(series: Series, whole: Sample) -> float:
    """Return the number of accepted tokens that were not emitted, because a reply ended before
    them.

    Engines may count tokens that the target would have accepted after a stop token or the token
    limit. One token per request is within rounding: that of its prefill.
    """
    if whole.accepted is None or whole.tokens is None or whole.passes is None:
        return 0.0
    more = whole.accepted - max(0.0, whole.tokens - whole.passes)
    return more if more > len(series.samples) else 0.0


def _from_sums(source: str, whole: Sample, idle: float, past: float) -> Observation:
    """Return the observation of sums over drafts. They have one length if the mean is an integer.

    ``past`` is the number of accepted tokens that were not emitted.
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
    """Return the observation of the tokens and draft tokens per forward pass.

    Raises:
        UserError: if the series does not determine them.
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
    """Return the number of prefills among the forward passes: one per request."""
    return len(series.samples) if series.single else 0


def _mean_drafted(samples: Sequence[Sample]) -> float | None:
    """Return the draft tokens per draft of the samples that report positions."""
    drafted = 0.0
    drafts = 0.0
    for sample in samples:
        if sample.by_position is None or not sample.drafts:
            continue
        if sample.drafted is None:
            return None
        drafted += sample.drafted
        drafts += sample.drafts
    return drafted / drafts if drafts else None


def _idle(series: Series, whole: Sample) -> float:
    """Return the share of forward passes without a draft; 0 if it is not reported."""
    if whole.verifications and any(not row.drafted for row in whole.verifications):
        return 0.0  # the rounds are listed individually
    if not whole.drafts or whole.passes is None or whole.accepted is None:
        return 0.0
    passes = whole.passes - _prefills(series)
    if passes <= whole.drafts:
        return 0.0
    share = 1 - whole.drafts / passes
    return share if share >= MIN_IDLE else 0.0


def _rounds(samples: Sequence[Sample]) -> Counter[tuple[int, int]]:
    """Count rounds by (depth, accepted tokens); empty if the samples do not determine them."""
    rounds: Counter[tuple[int, int]] = Counter()
    for sample in samples:
        if sample.verifications:
            rounds.update((row.drafted, row.accepted) for row in sample.verifications)
        elif sample.by_position is not None and sample.reached is not None and sample.drafts:
            rounds.update(_rounds_of_positions(sample))
        else:
            return Counter()
    return rounds


def _rounds_of_positions(sample: Sample) -> Counter[tuple[int, int]]:
    """Count the rounds of drafts of one length. A shortened last draft counts as fully accepted."""
    assert sample.by_position is not None and sample.reached is not None and sample.drafts
    longest = len(sample.reached)
    survivors = [sample.drafts, *sample.by_position]
    survivors += [0.0] * (longest + 1 - len(survivors))
    rounds: Counter[tuple[int, int]] = Counter()
    for accepted, (this, later) in enumerate(pairwise([*survivors, 0.0])):
        rounds[longest, accepted] = max(0, round(this - later))
    shorter = _length_of_a_cut_draft(sample.reached, sample.drafts)
    if shorter is not None:
        for accepted in range(shorter, -1, -1):
            if rounds[longest, accepted]:
                rounds[longest, accepted] -= 1
                rounds[shorter, accepted] += 1
                break
    return +rounds  # drops the kinds with a count of 0


def _length_of_a_cut_draft(reached: Sequence[float], drafts: float) -> int | None:
    """Return the length of the drafts that are shorter than the others; ``None``: there are
    none.
    """
    for length, count in enumerate(reached):
        if count < drafts:
            return length
    return None
