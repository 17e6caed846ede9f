"""What the doctor advises: each sentence beside the condition under which it is given.

A diagnosis has one advice about its cause (:func:`advice_without_times`, :func:`advice_on`). What
to do (:func:`what_to_do`) puts it beside the better setting, and after what comes before any
setting: a record that is not what it seems.
"""

from __future__ import annotations

from collections.abc import Collection
from math import ceil

from hsd_viz.measure.doctor.findings import (
    COLLAPSES_IN_TIME,
    EVERYTHING_ACCEPTED,
    NOTHING_ACCEPTED,
    Sign,
)
from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.what_if import EXTENDS, Option
from hsd_viz.records.settings import NGRAMS
from hsd_viz.words import counted

#: Where the times give more than the tokens per forward pass.
ON_IMPOSSIBLE_TIMES = "measure the plain step again, on a quiet machine and at the same batch"


# --- the speed-up is only bounded ---------------------------------------------------------------


def advice_without_times(seen: Observation, most: float) -> str:
    """Return the advice where times are missing; the speed-up is at most ``most``."""
    if most < 1:
        return "turn speculation off"
    if seen.step is None and seen.round is not None:
        # What the record has is not asked for.
        speed = 1e3 * seen.length / seen.round
        return (
            f"give the speed without speculation (--plain-speed): the record has {speed:.1f} "
            f"tokens/s per request at batch {seen.batch}, so speculation pays if plain decoding "
            "is slower than that"
        )
    return (
        "give tokens per second with and without speculation (--speed, --plain-speed), or the "
        "times of a round"
    )


# --- the speed-up is known ----------------------------------------------------------------------


def advice_on(seen: Observation, cause: str) -> str:
    """Return what to do about a cause."""
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
    return "give --verify-ms and --draft-ms to divide it into drafting, verification and overhead"


def _advice_on_acceptance(seen: Observation) -> str:
    if seen.method in NGRAMS:
        return "add a draft model or a draft head for text that was not written before"
    if seen.deepest == 1 and seen.method in EXTENDS:
        return "record a run with 2 draft tokens: this record has no second position"
    return "use a draft model closer to the target or trained on this traffic, or try databases"


# --- the setting --------------------------------------------------------------------------------


def what_to_do(
    now: Option,
    best: Option,
    advice: str,
    *,
    cause: str | None,
    is_decided: bool,
    is_doubtful: bool,
) -> str:
    """Return the advice about the present and the better setting.

    Args:
        now: the setting of the run.
        best: the setting to use.
        advice: that about the cause.
        cause: what limits the speed-up most.
        is_decided: whether it is known on which side of 1 the speed-up is.
        is_doubtful: whether the machine was busy, or the times are impossible.
    """
    present = f"{now.speedup:.2f}"
    if best == now:
        if is_doubtful or (not is_decided and now.speedup < 1):
            return f"change nothing yet; {advice}"
        aim = "to see what limits it" if cause == "round" else "for more"
        return f"keep {now.stack}, {present} times plain decoding; {aim}, {advice}"
    if not best.tokens:
        return f"turn speculation off; or {advice}"
    is_longer = best.tokens > now.tokens
    words = (
        f"{'try' if is_longer else 'use'} {best.stack} instead of {now.stack}: {best.speedup:.2f} "
        f"times plain decoding expected, {present} now"
    )
    if is_longer:
        words += f", {if_extended(now.tokens, best.tokens)}"
    if cause in ("drafting", "overhead"):
        words += f"; for more, {advice}"
    if not is_decided:
        words += "; whether speculation pays at all is undecided"
    return words


def if_extended(present: int, longer: int) -> str:
    """Return the assumption behind a draft that is longer than those of the record."""
    if longer == present + 1:
        later = f"position {longer} is"
    else:
        later = f"positions {present + 1}-{longer} are"
    seen = "position 2 is" if present == 2 else f"positions 2-{present} are"
    return f"if {later} accepted as {seen}"


def first_of_all(signs: Collection[Sign], advised: Option | None) -> str:
    """Return what to find out before any setting, "" where nothing is.

    Args:
        signs: the signs of misconfiguration.
        advised: the setting to use, if one is advised.
    """
    if COLLAPSES_IN_TIME in signs:
        return "find out first why acceptance collapsed (below); then "
    if EVERYTHING_ACCEPTED in signs:
        return "find out first why everything is accepted (below); then "
    if NOTHING_ACCEPTED in signs:
        is_off = advised is not None and not advised.tokens
        return (
            f"check that the drafter fits the target (below); {'until then' if is_off else 'then'} "
        )
    return ""


# --- what decides a verdict ---------------------------------------------------------------------

#: Where the times are those of a hardware model.
TO_DECIDE_A_PREDICTION = "measure a plain step and a verification, and give them"


def more_rounds(rounds: float) -> str:
    """Return how many rounds decide the verdict, where their number is what makes it uncertain."""
    return f"record about {counted(max(1, ceil(rounds)), 'more round')}"


def more_repetitions(repetitions: int) -> str:
    """Return how many repetitions decide the verdict, where the times make it uncertain."""
    return f"repeat both measurements about {counted(repetitions, 'more time')}"
