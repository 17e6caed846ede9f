"""The rule lab: its options. Its sums are tested in js/rule_lab/rules.test.ts."""

from __future__ import annotations

import pytest

from hsd_viz import views


def test_the_row_is_normalized():
    lab = views.RuleLab({"yes": 3, "no": 1}, lookahead=2)
    assert lab.tokens == ["yes", "no"] and lab.p == [0.75, 0.25] and lab.lookahead == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"row": {"a": 1}}, "2 to 5 tokens"),
        ({"row": {"a": 1, "b": -1}}, "2 to 5 tokens"),
        ({"lookahead": 4}, "lookahead"),
        ({"disagreement": 1.5}, "disagreement"),
        ({"epsilon": 0}, "above 0"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_options_are_one_line(options, says):
    with pytest.raises(ValueError, match=says) as error:
        views.RuleLab(**options)
    assert "\n" not in str(error.value)
