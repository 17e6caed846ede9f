"""The verdict on an observation: whether speculative decoding pays, what limits it, and which
setting to use.

Times are in plain decoding steps of the target at the batch of the run. A round drafts D tokens
and emits L; it takes w = 1 + drafting + verification beyond a step + overhead, and the speed-up is
L / w, at most L (:mod:`hsd_viz.latency.speedup`). If a time was not observed, the speed-up is only
bounded.

The error of a speed-up consists of those of the times and of the rounds. Two draft lengths share
the times of a machine, so that their ratio is far more certain than either speed-up: a better
length is advised whenever it is certainly better, whether or not speculation pays at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, log

import numpy as np

from hsd_viz.latency.speedup import (
    RESOLVED,
    SpeedUp,
    Z,
    combined,
    repeated,
    repeats_to_decide,
    speed_up,
)
from hsd_viz.measure.doctor.advice import (
    ON_IMPOSSIBLE_TIMES,
    TO_DECIDE_A_PREDICTION,
    advice_on,
    advice_without_times,
    more_repetitions,
    more_rounds,
)
from hsd_viz.measure.doctor.diagnosis import Diagnosis
from hsd_viz.measure.doctor.findings import EVERYTHING_ACCEPTED, findings
from hsd_viz.measure.doctor.loss import IDLE, shares_of_loss, what_limits
from hsd_viz.measure.doctor.observation import TIMES, Observation
from hsd_viz.measure.doctor.what_if import (
    MIN_GAIN,
    MODELLED,
    Curves,
    Option,
    curves_of,
    is_hierarchy,
    other_lengths,
    recorded_batches,
    setting_name,
    tokens_by_length,
)
from hsd_viz.records.changes import Change
from hsd_viz.records.engine_settings import NGRAMS, USUAL, settings_to_paste
from hsd_viz.results.bootstrap import estimate
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.table import as_text
from hsd_viz.settings.spelling import as_option

#: Relative standard error of times that were measured once.
TIMING = 0.025


def diagnose(
    recorded: Observation, filled: Observation | None = None, changes: Sequence[Change] = ()
) -> Diagnosis:
    """Return the diagnosis of an observation.

    Args:
        recorded: the observation.
        filled: the observation with predicted times in place of missing ones.
        changes: the changes of figures within the record.
    """
    seen = recorded if filled is None else filled
    predicted = []
    for name in TIMES:
        if getattr(recorded, name) is None and getattr(seen, name) is not None:
            predicted.append(name)
    curves = curves_of(seen)
    lengths = curves.tokens[:, seen.deepest] if curves is not None else np.array([seen.length])
    diagnosis = Diagnosis(
        observation=seen,
        length=estimate(lengths, seen.total),
        findings=tuple(findings(recorded, None, changes)),
        predicted=tuple(predicted),
        changes=tuple(changes),
        lengths=tokens_by_length(seen, curves),
        batches=tuple(recorded_batches(seen)),
    )
    whole = seen.whole()
    if whole is None:
        return _undetermined(diagnosis)
    modelled = recorded.whole() is None
    return _determined(diagnosis, recorded, curves, lengths, whole, modelled)


def _undetermined(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis of an observation without the times of a round and of a step."""
    seen = diagnosis.observation
    most = seen.length / seen.least()
    missing = ", ".join(diagnosis.unknown())
    bound = f"at most {most:.2f} times as fast as plain decoding (not observed: {missing})"
    if seen.without_draft >= IDLE:
        bound += f"; {seen.without_draft:.0%} of the forward passes have no draft"
    if most < 1:
        verdict = f"speculation loses: {bound}"
    else:
        verdict = f"undecided whether speculation pays: {bound}"
    return replace(
        diagnosis,
        at_most=most,
        verdict=verdict,
        advice=advice_without_times(seen, most),
    )


def _determined(
    diagnosis: Diagnosis,
    recorded: Observation,
    curves: Curves | None,
    lengths: np.ndarray,
    whole: float,
    modelled: bool,
) -> Diagnosis:
    """Return the diagnosis of an observation whose speed-up is known.

    Args:
        diagnosis: the diagnosis without times.
        recorded: the observation.
        curves: the tokens of a round by draft length.
        lengths: the tokens per forward pass: observed, then of the resamples.
        whole: the time of a round in plain decoding steps.
        modelled: whether times are those of a hardware model.
    """
    seen = diagnosis.observation
    shares = shares_of_loss(seen, whole)
    cause = max(shares, key=shares.__getitem__)
    bounded, more = _speedup(seen, lengths, whole, modelled)
    speedup = bounded.estimate
    diagnosis = replace(diagnosis, speedup=speedup, note=bounded.note)
    observed = Option(
        setting_name(seen, seen.deepest), seen.method, seen.deepest, speedup.value or 0.0
    )
    if bounded.capped is not None:
        return _impossible(diagnosis, bounded, observed)
    off = Option(setting_name(seen, 0), "plain", 0, 1.0)
    others = list(other_lengths(seen, curves, observed, modelled))
    certain = [option for option, is_certain in others if is_certain]
    better = max(certain, key=lambda option: option.speedup, default=observed)
    advised = _advised(diagnosis, cause, observed, better, off)
    _, high = speedup.ends or (1.0, 1.0)
    slow_known = not modelled and not seen.busy
    limits = what_limits(seen, cause, whole, shares[cause])
    return replace(
        diagnosis,
        findings=tuple(findings(recorded, high if slow_known else None, diagnosis.changes)),
        verdict=(
            f"{'predicted: ' if modelled else ''}{_whether_it_pays(speedup)}: "
            f"{as_text(speedup, '{:.2f}')} times as fast as plain decoding; "
            f"what limits it most: {limits}"
        ),
        advice=advice_on(seen, cause),
        cause=cause,
        shares=shares,
        observed=observed,
        advised=advised,
        options=(observed, off, *(option for option, _ in others)),
        flags=_flags(seen, advised),
        more="" if diagnosis.decided else more,
    )


def _whether_it_pays(speedup: Estimate) -> str:
    low, high = speedup.ends or (1.0, 1.0)
    if low > 1:
        return "speculation pays"
    if high < 1:
        return "speculation loses"
    return "undecided whether speculation pays"


def _impossible(diagnosis: Diagnosis, bounded: SpeedUp, observed: Option) -> Diagnosis:
    """Return the diagnosis if the times imply a speed-up above the tokens per forward pass."""
    most = bounded.bound
    return replace(
        diagnosis,
        speedup=Estimate(most, None, most),
        at_most=most,
        verdict=(
            f"undecided whether speculation pays: at most {most:.2f} times as fast as plain "
            "decoding, the tokens per forward pass"
        ),
        advice=ON_IMPOSSIBLE_TIMES,
        observed=observed,
        advised=observed,
    )


def _advised(
    diagnosis: Diagnosis, cause: str, observed: Option, better: Option, off: Option
) -> Option:
    """Return the setting to use.

    Noise must not change a setting: on a busy machine the present one is returned. A certainly
    better draft length is advised whether or not speculation pays, unless both certainly lose, or
    another cause limits the speed-up: few drafts, or signs of misconfiguration.
    """
    signs = [finding.sign for finding in diagnosis.findings]
    if diagnosis.observation.busy or cause == "few drafts" or EVERYTHING_ACCEPTED in signs:
        return observed
    _, high = diagnosis.speedup.ends or (1.0, 1.0)
    if diagnosis.decided and high < 1:
        return better if better.speedup > 1 + MIN_GAIN else off
    return better


def _flags(seen: Observation, advised: Option) -> dict[str, str]:
    """Return the settings of engines for a setting."""
    tokens = advised.tokens
    if advised.method in NGRAMS:
        reached_by_position, _ = seen.survival()
        usual = sum(reached >= 1 / USUAL for reached in reached_by_position)
        tokens = min(tokens, max(1, usual))
    flags = {"hsd-viz": f'{as_option("stack")} "{advised.stack}"'} if seen.stack else {}
    if not is_hierarchy(seen) and (seen.rates or seen.rounds):
        flags |= settings_to_paste(advised.method, tokens, seen.draft_model)
    return flags


def _speedup(
    seen: Observation, lengths: np.ndarray, whole: float, modelled: bool
) -> tuple[SpeedUp, str]:
    """Return the speed-up with its interval, and what would decide whether it exceeds 1."""
    value = float(lengths[0]) / whole
    rounds = float(np.std(np.log(lengths[1:]))) * Z if len(lengths) > 1 else 0.0
    repeats = len(seen.speedups)
    if repeats > 1:
        timing = repeated(seen.speedups)[1]
    else:
        timing = Z * (MODELLED if modelled else TIMING)
    error = combined(timing, rounds)
    bounded = speed_up(value, error, seen.length)
    if modelled:
        return bounded, TO_DECIDE_A_PREDICTION
    # Doubling the repetitions halves the square of the error.
    times_more = (error / max(abs(log(value)), RESOLVED)) ** 2 - 1
    if rounds > timing:
        return bounded, more_rounds(times_more * seen.total)
    if repeats > 1:
        repetitions = repeats_to_decide(seen.speedups, value)
    else:
        repetitions = max(1, ceil(times_more))
    return bounded, more_repetitions(repetitions)
