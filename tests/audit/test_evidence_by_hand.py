"""The evidence of a statistical audit, by hand: what a pair of texts adds to the bets."""

from __future__ import annotations

import pytest

from hsd_viz.audit.exact import ExactAudit
from hsd_viz.audit.statistical import Completion, PairTest, StatisticalAudit, compare


def test_a_first_pair_is_no_evidence():
    assert PairTest().add("prompt", ("a",), ("b",)) == pytest.approx(1.0)


def test_a_second_pair_like_the_first_is_evidence():
    """Each decoder repeats its token. A bet with the prior weight w has a ratio of 1 + 2 / w for each of the texts, so
    it pays 2 r² / (r² + 1); six bets on how likely texts are see no difference.
    """
    test = PairTest()
    test.add("prompt", ("a",), ("b",))
    found = test.add("prompt", ("a",), ("b",))
    paid = [2 * r**2 / (r**2 + 1) for r in (1 + 2 / 4, 1 + 2 / 16, 1 + 2 / 64)]
    assert found == pytest.approx((sum(paid) + 6) / 9)


def test_texts_of_another_prompt_teach_nothing():
    test = PairTest()
    test.add("one", ("a",), ("b",))
    assert test.add("another", ("a",), ("b",)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("evidence", "bug", "complete", "verdict"),
    [
        pytest.param(999.0, "", True, "no difference found", id="below 1 / alpha"),
        pytest.param(1000.0, "", True, "not lossless", id="1 / alpha"),
        pytest.param(
            1.0, " (first at token 3 of prompt 1)", True, "not lossless", id="a greedy bug"
        ),
        pytest.param(999.0, "", False, "unfinished", id="interrupted"),
    ],
)
def test_the_verdict(evidence, bug, complete, verdict):
    found = StatisticalAudit(0.001, 1, evidence=evidence, bug=bug, complete=complete)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("likely", "kind"),
    [
        pytest.param({"a": -1.0, "b": -1.05}, "near-tie", id="0.05 nats"),
        pytest.param({"a": -1.0, "b": -1.06}, "bug", id="0.06 nats"),
        pytest.param({"a": -1.0}, "bug", id="not among the likeliest"),
        pytest.param({}, "unknown", id="not reported"),
    ],
)
def test_greedy_texts_that_differ(likely, kind):
    plain = Completion(("x", "a"), [{}, likely])
    assert compare(Completion(("x", "b")), plain, near_tie=0.0501) == (kind, 1)


def test_the_line_of_an_exact_audit():
    found = ExactAudit(True, 1.5e-16, 3, 81)
    assert str(found) == "lossless: largest error 1.5e-16 (81 outputs, 3 toy instances)"
