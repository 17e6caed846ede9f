"""The recommendation of the doctor: a setting and its conditions.

A :class:`Recommendation` is a value: the page reads its fields, the command line prints its
:meth:`~Recommendation.words`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from hsd_viz.measure.doctor.findings import (
    COLLAPSES_IN_TIME,
    EVERYTHING_ACCEPTED,
    NOTHING_ACCEPTED,
)
from hsd_viz.measure.doctor.signs import Sign
from hsd_viz.measure.doctor.what_if import Option


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
