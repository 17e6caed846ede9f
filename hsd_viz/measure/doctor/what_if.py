"""Predictions for other settings: longer or shorter drafts, none, or another batch.

For another draft length of the same drafter, the observed times are kept, and the rounds are cut at
that length. Beyond the observed drafts, acceptance is the pooled one from the second position on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2

import numpy as np

from hsd_viz.latency.law import MAX_PLANNED_LOOKAHEAD
from hsd_viz.latency.speedup import Z, speed_up
from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.records.engine_settings import PARALLEL
from hsd_viz.results.bootstrap import RESAMPLES, estimate, ratio, resample
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.results.kinds import structure_of
from hsd_viz.text import counted

#: Smallest gain for which another setting is advised.
MIN_GAIN = 0.05
#: Relative standard error of the times of a hardware model.
MODELLED = 0.18
#: Relative error of the ratio of two draft lengths with times of a hardware model.
RATIO_MODELLED = 0.05
#: Drafters that can draft more tokens than were observed.
EXTENDS = ("draft", "eagle", "eagle3")
#: Minimum number of lines with about the same number of running requests to report a speed.
MIN_LINES = 3
#: Batch sizes for predictions of a hardware model.
WHAT_IF_BATCHES = (1, 4, 16, 64, 256)


@dataclass(frozen=True, slots=True)
class Option:
    """A setting.

    Attributes:
        stack: the setting as text.
        method: the name of the drafter in serving engines; ``plain``: none.
        tokens: the number of draft tokens.
        speedup: the expected speed-up.
    """

    stack: str
    method: str
    tokens: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """The tokens per forward pass at a draft length, which needs no times.

    Attributes:
        tokens: the draft length.
        tokens_per_pass: the expected tokens per forward pass.
    """

    tokens: int
    tokens_per_pass: Estimate


@dataclass(frozen=True, slots=True)
class BatchGain:
    """The speed of a setting at a batch size.

    Attributes:
        requests: the number of requests decoded together, as text.
        lines: the number of lines of the record at this batch size; 0: predicted by a hardware
            model.
        tokens_per_second: the tokens per second of one request, with speculation.
        speedup: the speed-up over plain decoding.
    """

    requests: str
    lines: int
    tokens_per_second: Estimate
    speedup: Estimate


@dataclass(frozen=True, slots=True)
class Curves:
    """The draft and emitted tokens of a round for the draft lengths 0, 1, ...

    Attributes:
        depth: the draft tokens, ``[1 + resamples, lengths]``.
        tokens: the emitted tokens, of the same shape.
    """

    depth: np.ndarray
    tokens: np.ndarray


def curves_of(seen: Observation) -> Curves | None:
    """Return the curves of an observation; ``None`` if positions are unknown."""
    if not seen.positions_known:
        return None
    if seen.rounds:
        reached, taken = _resampled_rounds(seen)
    else:
        reached_once, taken_once = seen.survival()
        reached = np.array([reached_once])
        taken = np.array([taken_once])
    # Beyond the observed drafts, use the pooled acceptance from the second position on.
    further = _further_positions(seen)
    pooled = ratio(taken[:, 1:].sum(1), taken[:, :-1].sum(1))
    tail = np.clip(np.nan_to_num(pooled), 0, 1)[:, None]
    taken = np.hstack([taken, taken[:, -1:] * tail ** np.arange(1, further + 1)])
    reached = np.hstack([reached, np.repeat(reached[:, -1:], further, 1)])
    zero = np.zeros((len(taken), 1))
    return Curves(
        depth=np.cumsum(np.hstack([zero, reached]), 1),
        tokens=1 + np.cumsum(np.hstack([zero, taken]), 1),
    )


def _further_positions(seen: Observation) -> int:
    """Return the number of positions to consider beyond the observed drafts."""
    extends = seen.deepest > 1 and not seen.by_mean and seen.method in EXTENDS
    if not extends:
        return 0
    return max(0, min(MAX_PLANNED_LOOKAHEAD, 2 * seen.deepest) - seen.deepest)


def _resampled_rounds(seen: Observation) -> tuple[np.ndarray, np.ndarray]:
    """Return resampled P(a draft has k tokens or more) and P(k or more are accepted)."""
    kinds = np.array(list(seen.rounds))
    counts = np.array(list(seen.rounds.values()))
    # Rounds of one kind are interchangeable, so the counts of kinds are multinomial.
    drawn = np.random.default_rng(0).multinomial(seen.total, counts / seen.total, size=RESAMPLES)
    shares = np.vstack([counts, drawn]) / seen.total
    places = np.arange(1, seen.deepest + 1)
    reached = shares @ (kinds[:, [0]] >= places)
    taken = shares @ (kinds[:, [1]] >= places)
    return reached, taken


# --- settings -----------------------------------------------------------------------------------


def is_hierarchy(seen: Observation) -> bool:
    """Return whether the run is of this project and has several draft levels."""
    return seen.stack is not None and structure_of(seen.stack).is_hierarchy


def has_fixed_length(seen: Observation) -> bool:
    """Return whether the draft length of a run cannot be set."""
    if seen.stack is None:
        return False
    return seen.method != "draft" or not seen.stack.drafts or is_hierarchy(seen)


def setting_name(seen: Observation, tokens: int) -> str:
    """Return the setting with ``tokens`` draft tokens as text; for runs of this project, a
    stack.
    """
    if seen.stack is None:
        if not tokens:
            return "off"
        if seen.totals is not None and not seen.rates:
            return "the present drafts"
        return counted(tokens, "draft token")
    stack = seen.stack
    if not tokens:
        return str(stack.target)
    if tokens == seen.deepest:
        return str(stack)
    return f"{stack.drafts[0].name}:{tokens} > {stack.target}"


# --- other draft lengths ------------------------------------------------------------------------


def tokens_by_length(seen: Observation, curves: Curves | None) -> tuple[Lengths, ...]:
    """Return the tokens per forward pass at draft lengths up to the longest observed one."""
    if curves is None or seen.by_mean or has_fixed_length(seen):
        return ()
    lengths = []
    for length in range(1, min(seen.deepest, MAX_PLANNED_LOOKAHEAD) + 1):
        lengths.append(Lengths(length, estimate(curves.tokens[:, length], seen.total)))
    return tuple(lengths)


def other_lengths(
    seen: Observation, curves: Curves | None, observed: Option, modelled: bool
) -> Iterator[tuple[Option, bool]]:
    """Yield other draft lengths of the drafter, and whether each is certainly faster.

    A length is certainly faster if it gains :data:`MIN_GAIN` (plus :data:`RATIO_MODELLED` with
    times of a hardware model) in 95 % of the resamples. The times of drafting, and of verification
    beyond a step, grow with the draft; those of verification follow the hardware model if there is
    one.
    """
    parts = seen.parts()
    if curves is None or has_fixed_length(seen) or None in parts.values():
        return
    drafting = parts["drafting"] or 0.0
    verification = parts["verification"] or 0.0
    overhead = parts["overhead"] or 0.0
    depth = curves.depth
    longer = depth / depth[:, [seen.deepest]]
    drafted = drafting * (1.0 if seen.method in PARALLEL else longer)
    if seen.curve:
        grown = _beyond_a_step(seen.curve, depth)
        longer = grown / np.maximum(grown[:, [seen.deepest]], 1e-12)
    speeds = curves.tokens / (1 + drafted + verification * longer + overhead)
    gains = speeds / speeds[:, [seen.deepest]]
    least = 1 + MIN_GAIN + (RATIO_MODELLED if modelled else 0.0)
    certain = (gains[0] >= least) & (np.quantile(gains, 0.05, axis=0) > 1)
    for length in range(1, gains.shape[1]):
        if length == seen.deepest:
            continue
        option = Option(
            stack=setting_name(seen, length),
            method=seen.method,
            tokens=length,
            speedup=min(
                observed.speedup * float(gains[0, length]), float(curves.tokens[0, length])
            ),
        )
        yield option, bool(certain[length])


def _beyond_a_step(curve: Sequence[float], depth: np.ndarray) -> np.ndarray:
    """Return the additional time of a forward pass over 1 + ``depth`` tokens, beyond a step."""
    return np.interp(depth, np.arange(len(curve)), curve) - curve[0]


# --- other batches ------------------------------------------------------------------------------


def recorded_batches(seen: Observation) -> Iterator[BatchGain]:
    """Yield the speeds of a record by number of running requests, grouped by powers of two."""
    speeds_by_power: dict[int, list[float]] = {}
    for running, speed in seen.batches:
        power = ceil(log2(max(1.0, running)) - 1e-9)
        speeds_by_power.setdefault(power, []).append(speed)
    for power, speeds in sorted(speeds_by_power.items()):
        if len(speeds) < MIN_LINES:
            continue
        most = 2**power
        least = most // 2 + 1 if power else 1
        means = resample(len(speeds)) @ np.array(speeds) / len(speeds)
        yield BatchGain(
            requests=str(most) if least == most else f"{least}–{most}",
            lines=len(speeds),
            tokens_per_second=estimate(means, len(speeds)),
            speedup=UNKNOWN,
        )


def predicted_batches(
    recorded: Observation, on_card: Callable[[Observation], Observation]
) -> Iterator[BatchGain]:
    """Yield the speeds of the observed drafts at other batch sizes of a hardware model.

    Args:
        recorded: the observation, of which the times are not used.
        on_card: a function that fills in the times of the hardware model.
    """
    unknown = replace(
        recorded, step=None, verify=None, draft=None, overhead=None, round=None, speedups=()
    )
    for batch in WHAT_IF_BATCHES:
        seen = on_card(replace(unknown, batch=batch))
        whole = seen.whole()
        if whole is None or seen.step is None:
            return
        speedup = speed_up(seen.length / whole, Z * MODELLED, seen.length).estimate
        yield BatchGain(
            requests=str(batch),
            lines=0,
            tokens_per_second=_scaled(speedup, 1e3 / seen.step),
            speedup=speedup,
        )


def _scaled(value: Estimate, factor: float) -> Estimate:
    """Return an estimate multiplied by a factor."""
    low, high = value.ends or (None, None)
    return Estimate(
        (value.value or 0.0) * factor,
        None if low is None else low * factor,
        None if high is None else high * factor,
    )
