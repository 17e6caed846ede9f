"""What the doctor recommends: its kind, its conditions, and the words that follow from them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hsd_viz.measure.doctor.advice import AdviceKind, Recommendation, if_extended, recommend
from hsd_viz.measure.doctor.signs import COLLAPSES_IN_TIME, NOTHING_ACCEPTED, Sign
from hsd_viz.measure.doctor.what_if import Option

ADVICE = "use a smaller draft model"
OFF = Option("off", "plain", 0, 1.0)
THREE = Option("3 draft tokens", "draft", 3, 1.5)
FIVE = Option("5 draft tokens", "draft", 5, 1.2)
SEVEN = Option("7 draft tokens", "draft", 7, 1.4)
SLOW = Option("5 draft tokens", "draft", 5, 0.9)


def recommended(
    present: Option | None,
    setting: Option | None,
    signs: Sequence[Sign] = (),
    cause: str = "acceptance",
    is_decided: bool = True,
    is_doubtful: bool = False,
) -> Recommendation:
    """Return what is recommended, of a decided case without signs unless given."""
    return recommend(
        present,
        setting,
        ADVICE,
        signs=signs,
        cause=cause,
        is_decided=is_decided,
        is_doubtful=is_doubtful,
    )


@pytest.mark.parametrize(
    ("present", "setting", "kind", "words"),
    [
        (None, None, AdviceKind.NO_SETTING, ADVICE),
        (
            FIVE,
            FIVE,
            AdviceKind.KEEP,
            f"keep 5 draft tokens, 1.20 times plain decoding; for more, {ADVICE}",
        ),
        (SLOW, OFF, AdviceKind.TURN_OFF, f"turn speculation off; or {ADVICE}"),
        (
            FIVE,
            THREE,
            AdviceKind.SHORTEN,
            "use 3 draft tokens instead of 5 draft tokens: 1.50 times plain decoding expected, "
            "1.20 now",
        ),
        (
            FIVE,
            SEVEN,
            AdviceKind.EXTEND,
            "try 7 draft tokens instead of 5 draft tokens: 1.40 times plain decoding expected, "
            "1.20 now, if positions 6-7 are accepted as positions 2-5 are",
        ),
    ],
    ids=["only bounded", "keep", "off", "shorter", "longer"],
)
def test_words_follow_from_the_settings(present, setting, kind, words):
    recommendation = recommended(present, setting)
    assert recommendation.kind is kind
    assert recommendation.words() == words


@pytest.mark.parametrize(
    ("present", "is_decided", "is_doubtful", "kind"),
    [
        (FIVE, True, True, AdviceKind.WAIT),
        (SLOW, False, False, AdviceKind.WAIT),
        (FIVE, False, False, AdviceKind.KEEP),
        (SLOW, True, False, AdviceKind.KEEP),
    ],
    ids=["busy", "loses perhaps", "pays perhaps", "loses"],
)
def test_nothing_is_changed_yet_where_the_present_setting_is_in_doubt(
    present, is_decided, is_doubtful, kind
):
    recommendation = recommended(present, present, is_decided=is_decided, is_doubtful=is_doubtful)
    assert recommendation.kind is kind
    assert recommendation.words().startswith("change nothing yet; ") is (kind is AdviceKind.WAIT)


def test_a_shorter_draft_alone_has_no_condition():
    assert not recommended(FIVE, THREE).is_conditional


@pytest.mark.parametrize(
    ("recommendation", "words"),
    [
        (recommended(FIVE, SEVEN), ", if positions 6-7 are accepted as positions 2-5 are"),
        (recommended(FIVE, THREE, cause="drafting"), f"; for more, {ADVICE}"),
        (
            recommended(FIVE, THREE, is_decided=False),
            "; whether speculation pays at all is undecided",
        ),
    ],
    ids=["a longer draft", "a remedy", "undecided"],
)
def test_a_condition_follows_the_setting(recommendation, words):
    assert recommendation.is_conditional
    assert recommendation.words().endswith(words)


@pytest.mark.parametrize(
    ("sign", "setting", "words"),
    [
        (COLLAPSES_IN_TIME, THREE, "find out first why acceptance collapsed (below); then use 3 "),
        (NOTHING_ACCEPTED, THREE, "check that the drafter fits the target (below); then use 3 "),
        (NOTHING_ACCEPTED, OFF, "check that the drafter fits the target (below); until then turn "),
    ],
    ids=["collapsed", "nothing accepted", "nothing accepted, off"],
)
def test_a_record_that_is_not_what_it_seems_comes_first(sign, setting, words):
    recommendation = recommended(FIVE, setting, signs=[sign])
    assert recommendation.is_conditional
    assert recommendation.words().startswith(words)


@pytest.mark.parametrize(
    ("present", "longer", "words"),
    [
        (2, 3, "if position 3 is accepted as position 2 is"),
        (2, 4, "if positions 3-4 are accepted as position 2 is"),
        (4, 5, "if position 5 is accepted as positions 2-4 are"),
    ],
)
def test_a_longer_draft_is_advised_under_its_assumption(present, longer, words):
    assert if_extended(present, longer) == words
