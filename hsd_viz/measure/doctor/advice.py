"""The advice of the doctor: the setting to use, and what to do about the cause.

A :class:`Recommendation` is a value: the page reads its fields, the command line prints its
:meth:`~Recommendation.words`. It combines the better setting with a sentence about the cause
(:func:`advice_without_times`, :func:`advice_on`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from math import ceil

from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.signs import (
    COLLAPSES_IN_TIME,
    EVERYTHING_ACCEPTED,
    NOTHING_ACCEPTED,
    Sign,
)
from hsd_viz.measure.doctor.what_if import EXTENDS, Option
from hsd_viz.records.engine_settings import NGRAMS
from hsd_viz.settings.spelling import spelled
from hsd_viz.text import counted


class AdviceKind(Enum):
    """The kind of a recommendation.

    Attributes:
        NO_SETTING: no settings are compared, because the speed-up is only bounded.
        WAIT: change nothing yet.
        KEEP: keep the present setting.
        TURN_OFF: use plain decoding.
        SHORTEN: use a shorter draft.
        EXTEND: use a longer draft.
    """

    NO_SETTING = "no setting"
    WAIT = "wait"
    KEEP = "keep"
    TURN_OFF = "turn off"
    SHORTEN = "shorten"
    EXTEND = "extend"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommendation.

    Attributes:
        kind: the kind of the recommendation.
        present: the setting of the run, if settings are compared.
        setting: the setting to use, with its expected speed-up.
        first: what to check before any setting is changed; "": nothing.
        remedy: the action on the cause that limits the speed-up, besides the setting; "": none.
        aim: the purpose of the remedy beside a setting.
        assumption: the condition of the expected speed-up; "": it was observed.
        is_undecided: whether the interval of the run's speed-up contains 1.
    """

    kind: AdviceKind
    present: Option | None = None
    setting: Option | None = None
    first: str = ""
    remedy: str = ""
    aim: str = "for more"
    assumption: str = ""
    is_undecided: bool = False

    @property
    def is_conditional(self) -> bool:
        """Whether the recommendation contains more than the setting."""
        return bool(self.first or self.remedy or self.assumption or self.is_undecided)

    def words(self) -> str:
        """Return the recommendation as text, without a full stop."""
        return self.first + self._words_of_setting()

    def _words_of_setting(self) -> str:
        if self.present is None or self.setting is None:
            return self.remedy
        if self.kind is AdviceKind.WAIT:
            return f"change nothing yet; {self.remedy}"
        if self.kind is AdviceKind.KEEP:
            return (
                f"keep {self.present.stack}, {self.present.speedup:.2f} times plain decoding; "
                f"{self.aim}, {self.remedy}"
            )
        if self.kind is AdviceKind.TURN_OFF:
            return f"turn speculation off; or {self.remedy}"
        verb = "try" if self.kind is AdviceKind.EXTEND else "use"
        words = (
            f"{verb} {self.setting.stack} instead of {self.present.stack}: "
            f"{self.setting.speedup:.2f} times plain decoding expected, "
            f"{self.present.speedup:.2f} now"
        )
        if self.assumption:
            words += f", {self.assumption}"
        if self.remedy:
            words += f"; {self.aim}, {self.remedy}"
        if self.is_undecided:
            words += "; whether speculation pays at all is undecided"
        return words


def recommend(
    present: Option | None,
    setting: Option | None,
    advice: str,
    *,
    signs: Collection[Sign],
    cause: str | None,
    is_decided: bool,
    is_doubtful: bool,
) -> Recommendation:
    """Return the recommendation.

    Args:
        present: the setting of the run, if settings are compared.
        setting: the setting to use.
        advice: the advice about the cause.
        signs: the detected signs of misconfiguration.
        cause: the cause that limits the speed-up most.
        is_decided: whether the interval of the speed-up excludes 1.
        is_doubtful: whether the machine was busy, or the times are impossible.
    """
    first = _first_of_all(signs, setting)
    if present is None or setting is None:
        return Recommendation(AdviceKind.NO_SETTING, first=first, remedy=advice)
    kind = _kind(present, setting, is_decided, is_doubtful)
    changes_length = kind in (AdviceKind.SHORTEN, AdviceKind.EXTEND)
    # Another draft length changes neither the cost per draft token nor the overhead.
    remedy = advice
    if changes_length and cause not in ("drafting", "overhead"):
        remedy = ""
    aim = "for more"
    if kind is AdviceKind.KEEP and cause == "round":
        aim = "to see what limits it"
    assumption = ""
    if kind is AdviceKind.EXTEND:
        assumption = if_extended(present.tokens, setting.tokens)
    return Recommendation(
        kind,
        present,
        setting,
        first=first,
        remedy=remedy,
        aim=aim,
        assumption=assumption,
        is_undecided=not is_decided,
    )


def _kind(present: Option, setting: Option, is_decided: bool, is_doubtful: bool) -> AdviceKind:
    """Return the kind of a recommendation that compares settings."""
    if setting == present:
        loses_perhaps = not is_decided and present.speedup < 1
        return AdviceKind.WAIT if is_doubtful or loses_perhaps else AdviceKind.KEEP
    if not setting.tokens:
        return AdviceKind.TURN_OFF
    return AdviceKind.EXTEND if setting.tokens > present.tokens else AdviceKind.SHORTEN


def if_extended(present: int, longer: int) -> str:
    """Return the assumption behind a draft that is longer than those of the record."""
    if longer == present + 1:
        later = f"position {longer} is"
    else:
        later = f"positions {present + 1}-{longer} are"
    seen = "position 2 is" if present == 2 else f"positions 2-{present} are"
    return f"if {later} accepted as {seen}"


def _first_of_all(signs: Collection[Sign], setting: Option | None) -> str:
    """Return what to check before any setting is changed; "": nothing."""
    if COLLAPSES_IN_TIME in signs:
        return "find out first why acceptance collapsed (below); then "
    if EVERYTHING_ACCEPTED in signs:
        return "find out first why everything is accepted (below); then "
    if NOTHING_ACCEPTED in signs:
        is_off = setting is not None and not setting.tokens
        return (
            f"check that the drafter fits the target (below); {'until then' if is_off else 'then'} "
        )
    return ""


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
