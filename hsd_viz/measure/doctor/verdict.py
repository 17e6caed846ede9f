"""The verdict on an observation: whether speculative decoding pays, what limits it, and which
setting to use.

Times are in plain decoding steps of the target at the batch of the run. A round drafts D tokens
and emits L; it takes w = 1 + drafting + verification beyond a step + overhead, and the speed-up is
L / w, at most L (:mod:`hsd_viz.latency.speedup`). If a time was not observed, the speed-up is only
bounded.

The error of a speed-up consists of those of the times and of the rounds. Two draft lengths share
the times of a machine, so that their ratio is far more certain than either speed-up: a better
length is advised whenever it is certainly better, whether or not speculation pays at all.

The ideal is D + 1 tokens in one step of the target, and each cause has its share of the loss::

    log((D + 1) / speed-up) = log((D + 1) / L)    acceptance
                            + log(w)              drafting, verification, overhead, by their times
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from hsd_viz.measure.doctor.diagnosis import Diagnosis, is_decided
from hsd_viz.measure.doctor.findings import findings
from hsd_viz.measure.doctor.observation import TIMES, Observation
from hsd_viz.measure.doctor.signs import EVERYTHING_ACCEPTED, Finding
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
from hsd_viz.records.engine_settings import NGRAMS, settings_to_paste, usual_length
from hsd_viz.results.bootstrap import estimate
from hsd_viz.results.estimate import Estimate
from hsd_viz.settings.spelling import as_option

#: Share of forward passes without a draft from which they are a separate cause.
IDLE = 0.2
#: Relative standard error of times that were measured once.
TIMING = 0.025


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What a verdict is based on.

    Attributes:
        recorded: the observation.
        seen: the observation, with predicted times in place of missing ones.
        changes: the changes of figures within the record.
        curves: the tokens of a round by draft length.
        lengths: the tokens per forward pass: observed, then of the resamples.
        is_modelled: whether times of a hardware model decide the speed-up.
    """

    recorded: Observation
    seen: Observation
    changes: tuple[Change, ...]
    curves: Curves | None
    lengths: np.ndarray
    is_modelled: bool

    @property
    def predicted(self) -> tuple[str, ...]:
        """The names of the times that were predicted."""
        names = []
        for name in TIMES:
            if getattr(self.recorded, name) is None and getattr(self.seen, name) is not None:
                names.append(name)
        return tuple(names)

    def signs(self, speedup: Estimate | None = None) -> tuple[Finding, ...]:
        """Return the findings of signs; the speed-up counts only as measured on a quiet machine."""
        high = None
        if speedup is not None and not self.is_modelled and not self.seen.busy:
            _, high = speedup.ends or (1.0, 1.0)
        return tuple(findings(self.recorded, high, self.changes))

    def diagnosis(self, signs: tuple[Finding, ...]) -> Diagnosis:
        """Return a diagnosis of what was observed, without conclusions."""
        return Diagnosis(
            observation=self.seen,
            length=estimate(self.lengths, self.seen.total),
            findings=signs,
            predicted=self.predicted,
            changes=self.changes,
            lengths=tokens_by_length(self.seen, self.curves),
            batches=tuple(recorded_batches(self.seen)),
        )


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
    curves = curves_of(seen)
    lengths = curves.tokens[:, seen.deepest] if curves is not None else np.array([seen.length])
    evidence = _Evidence(
        recorded=recorded,
        seen=seen,
        changes=tuple(changes),
        curves=curves,
        lengths=lengths,
        is_modelled=recorded.whole() is None,
    )
    whole = seen.whole()
    return _undetermined(evidence) if whole is None else _determined(evidence, whole)


def _undetermined(evidence: _Evidence) -> Diagnosis:
    """Return the diagnosis of an observation without the times of a round and of a step."""
    seen = evidence.seen
    most = seen.length / seen.least()
    missing = ", ".join(seen.unknown_times())
    bound = f"at most {most:.2f} times as fast as plain decoding (not observed: {missing})"
    if seen.without_draft >= IDLE:
        bound += f"; {seen.without_draft:.0%} of the forward passes have no draft"
    if most < 1:
        verdict = f"speculation loses: {bound}"
    else:
        verdict = f"undecided whether speculation pays: {bound}"
    return replace(
        evidence.diagnosis(evidence.signs()),
        at_most=most,
        verdict=verdict,
        advice=advice_without_times(seen, most),
    )


def _determined(evidence: _Evidence, whole: float) -> Diagnosis:
    """Return the diagnosis of an observation whose speed-up is known; ``whole`` is the time of a
    round in plain decoding steps.
    """
    seen = evidence.seen
    bounded, more = _speedup(evidence, whole)
    speedup = bounded.estimate
    name = setting_name(seen, seen.deepest)
    observed = Option(name, seen.method, seen.deepest, speedup.value or 0.0)
    if bounded.capped is not None:
        return _impossible(evidence, bounded, observed)
    shares = shares_of_loss(seen, whole)
    cause = max(shares, key=shares.__getitem__)
    signs = evidence.signs(speedup)
    off = Option(setting_name(seen, 0), "plain", 0, 1.0)
    others = list(other_lengths(seen, evidence.curves, observed, evidence.is_modelled))
    certain = [option for option, is_certain in others if is_certain]
    better = max(certain, key=lambda option: option.speedup, default=observed)
    if _keeps_its_setting(seen, cause, signs):
        advised = observed
    else:
        advised = _advised(speedup, better, off)
    limits = what_limits(seen, cause, whole, shares[cause])
    return replace(
        evidence.diagnosis(signs),
        verdict=(
            f"{'predicted: ' if evidence.is_modelled else ''}{_whether_it_pays(speedup)}: "
            f"{speedup.as_text('{:.2f}')} times as fast as plain decoding; "
            f"what limits it most: {limits}"
        ),
        advice=advice_on(seen, cause),
        cause=cause,
        shares=shares,
        speedup=speedup,
        note=bounded.note,
        observed=observed,
        advised=advised,
        options=(observed, off, *(option for option, _ in others)),
        flags=_flags(seen, advised),
        more="" if is_decided(speedup) else more,
    )


def _whether_it_pays(speedup: Estimate) -> str:
    low, high = speedup.ends or (1.0, 1.0)
    if low > 1:
        return "speculation pays"
    if high < 1:
        return "speculation loses"
    return "undecided whether speculation pays"


def _impossible(evidence: _Evidence, bounded: SpeedUp, observed: Option) -> Diagnosis:
    """Return the diagnosis if the times imply a speed-up above the tokens per forward pass."""
    most = bounded.bound
    return replace(
        evidence.diagnosis(evidence.signs()),
        speedup=Estimate(most, None, most),
        note=bounded.note,
        at_most=most,
        verdict=(
            f"undecided whether speculation pays: at most {most:.2f} times as fast as plain "
            "decoding, the tokens per forward pass"
        ),
        advice=ON_IMPOSSIBLE_TIMES,
        observed=observed,
        advised=observed,
    )


def _keeps_its_setting(seen: Observation, cause: str, signs: Sequence[Finding]) -> bool:
    """Return whether the setting stays, whether or not another is better: noise must not change a
    setting, and few drafts or drafts that are all accepted have another cause.
    """
    if seen.busy or cause == "few drafts":
        return True
    return any(finding.sign == EVERYTHING_ACCEPTED for finding in signs)


def _advised(speedup: Estimate, better: Option, off: Option) -> Option:
    """Return the setting to use. A certainly better draft length is advised whether or not
    speculation pays, unless both certainly lose.
    """
    _, high = speedup.ends or (1.0, 1.0)
    if is_decided(speedup) and high < 1:
        return better if better.speedup > 1 + MIN_GAIN else off
    return better


def _flags(seen: Observation, advised: Option) -> dict[str, str]:
    """Return the settings of engines for a setting."""
    tokens = advised.tokens
    if advised.method in NGRAMS:
        reached_by_position, _ = seen.survival()
        tokens = min(tokens, usual_length(reached_by_position))
    flags = {"hsd-viz": f'{as_option("stack")} "{advised.stack}"'} if seen.stack else {}
    if not is_hierarchy(seen) and (seen.rates or seen.rounds):
        flags |= settings_to_paste(advised.method, tokens, seen.draft_model)
    return flags


def _speedup(evidence: _Evidence, whole: float) -> tuple[SpeedUp, str]:
    """Return the speed-up with its interval, and what would decide whether it exceeds 1."""
    seen = evidence.seen
    lengths = evidence.lengths
    value = float(lengths[0]) / whole
    rounds = float(np.std(np.log(lengths[1:]))) * Z if len(lengths) > 1 else 0.0
    repeats = len(seen.speedups)
    if repeats > 1:
        timing = repeated(seen.speedups)[1]
    else:
        timing = Z * (MODELLED if evidence.is_modelled else TIMING)
    error = combined(timing, rounds)
    bounded = speed_up(value, error, seen.length)
    if evidence.is_modelled:
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


# --- what limits the speed-up ---------------------------------------------------------------------


def shares_of_loss(seen: Observation, whole: float) -> dict[str, float]:
    """Return the share of each cause in the loss; ``whole``: the time of a round in steps."""
    extra: dict[str, float | None] = dict(seen.parts())
    if None in extra.values():
        extra = {"round": max(0.0, whole - 1)}
    spent = sum(time or 0.0 for time in extra.values())
    lost = _lost_to_drafts(seen)
    for cause, time in extra.items():
        lost[cause] = log(max(1.0, whole)) * (time or 0.0) / spent if spent else 0.0
    total = sum(lost.values())
    if not total:
        return dict.fromkeys(lost, 0.0)
    return {cause: part / total for cause, part in lost.items()}


def _lost_to_drafts(seen: Observation) -> dict[str, float]:
    """Return the logarithms of the losses to rejections and to passes without a draft."""
    depth = seen.drafted
    if seen.without_draft < IDLE:
        return {"acceptance": max(0.0, log((1 + depth) / seen.length))}
    # The draft tokens per pass if every pass had a draft; the rest is lost to rejections.
    full = depth / (1 - seen.without_draft)
    gained = (seen.length - 1) / (1 - seen.without_draft)
    return {
        "acceptance": max(0.0, log((1 + full) / (1 + gained))),
        "few drafts": max(0.0, log((1 + gained) / seen.length)),
    }


def what_limits(seen: Observation, cause: str, whole: float, share: float) -> str:
    """Describe a cause with its figure and its share of the loss."""
    what, figure = _cause_and_figure(seen, cause, whole)
    return f"{what} ({figure}{share:.0%} of what is lost)"


def _cause_and_figure(seen: Observation, cause: str, whole: float) -> tuple[str, str]:
    """Return a cause, and its figure followed by a semicolon; "" if the figure is unknown."""
    if cause == "acceptance":
        if not seen.drafted_known or not seen.drafted:
            return "rejected draft tokens", ""
        return "rejected draft tokens", f"{(seen.length - 1) / seen.drafted:.0%} are accepted; "
    if cause == "few drafts":
        return "forward passes without a draft", f"{seen.without_draft:.0%} of all; "
    if cause == "round":
        return "the time of a round", f"{whole:.2f} plain decoding steps; "
    steps = seen.parts()[cause] or 0.0
    if cause == "verification":
        return "verification", f"a pass over the draft takes {1 + steps:.2f} plain decoding steps; "
    per_round = f"{steps:.2f} plain decoding steps per round; "
    if cause == "drafting":
        return "drafting", per_round
    return "time outside forward passes and drafting", per_round
