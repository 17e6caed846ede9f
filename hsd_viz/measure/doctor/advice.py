"""The advice of the doctor: sentences, each with its condition.

A diagnosis has one advice about its cause (:func:`advice_without_times`, :func:`advice_on`). A
:class:`~hsd_viz.measure.doctor.recommendation.Recommendation` combines it with the better setting.
"""

from __future__ import annotations

from math import ceil

from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.what_if import EXTENDS
from hsd_viz.records.engine_settings import NGRAMS
from hsd_viz.settings.spelling import spelled
from hsd_viz.text import counted

#: Advice if the times imply a speed-up above the tokens per forward pass.
ON_IMPOSSIBLE_TIMES = (
    "measure the plain decoding step again, on a quiet machine and at the same batch"
)


# --- the speed-up is only bounded ---------------------------------------------------------------


def advice_without_times(seen: Observation, most: float) -> str:
    """Return the advice if times are missing; the speed-up is at most ``most``."""
    if most < 1:
        return "turn speculation off"
    if seen.step is None and seen.round is not None:
        # Ask only for figures that the record lacks.
        speed = 1e3 * seen.length / seen.round
        return (
            f"give the speed without speculation ({spelled('plain_speed')}): the record has "
            f"{speed:.1f} tokens/s per request at batch {seen.batch}, so speculation pays if plain "
            "decoding is slower than that"
        )
    return (
        f"give tokens per second with and without speculation ({spelled('speed')}, "
        f"{spelled('plain_speed')}), or the times of a round"
    )


# --- the speed-up is known ----------------------------------------------------------------------


def advice_on(seen: Observation, cause: str) -> str:
    """Return the advice about a cause."""
    if seen.busy:
        return "measure again on a quiet machine before changing it"
    if cause == "acceptance":
        return _advice_on_acceptance(seen)
    if cause == "verification":
        if seen.batch > 1:
            return (
                "use fewer draft tokens while many requests run, or a machine whose forward passes "
                "are bound by memory at this batch"
            )
        return "use a machine or kernel whose forward passes are bound by memory"
    if cause == "few drafts":
        return (
            "lower the thresholds that stop a draft (p-min, n-min), or add an n-gram drafter for "
            "the other rounds"
        )
    if cause == "drafting":
        return "use a smaller draft model or an n-gram drafter"
    if cause == "overhead":
        return "use a compiled runtime or CUDA graphs"
    assert cause == "round", cause
    return (
        f"give {spelled('verify_ms')} and {spelled('draft_ms')} to divide it into drafting, "
        "verification and overhead"
    )


def _advice_on_acceptance(seen: Observation) -> str:
    if seen.method in NGRAMS:
        return "add a draft model or a draft head for text that was not written before"
    if seen.deepest == 1 and seen.method in EXTENDS:
        return "record a run with 2 draft tokens: this record has no second position"
    return "use a draft model closer to the target or trained on this traffic, or try databases"


# --- what decides a verdict ---------------------------------------------------------------------

#: Advice for a verdict on times of a hardware model.
TO_DECIDE_A_PREDICTION = "measure a plain decoding step and a verification, and give them"


def more_rounds(rounds: float) -> str:
    """Return how many rounds would decide a verdict that their number leaves uncertain."""
    return f"record about {counted(max(1, ceil(rounds)), 'more round')}"


def more_repetitions(repetitions: int) -> str:
    """Return how many repetitions would decide a verdict that the times leave uncertain."""
    return f"repeat both measurements about {counted(repetitions, 'more time')}"
