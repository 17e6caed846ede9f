"""The evidence of a statistical audit, by hand: what a pair of texts adds to the bets."""

from __future__ import annotations

import pytest

from hsd_viz.measure.audit.bets import EXPONENTS, GROUPS, SHRINKAGE, SLOPES, PairTest
from hsd_viz.measure.audit.endpoint import Completion
from hsd_viz.measure.audit.exact import ExactAudit, Task, exact
from hsd_viz.measure.audit.statistical import StatisticalAudit, compare

#: Bets on the probabilities that endpoints return, of which these texts have none: they stay at 1.
BY_ROW = len(EXPONENTS) * len(GROUPS)


def text(*tokens: str) -> Completion:
    return Completion(tokens)


def test_a_first_pair_is_no_evidence():
    assert PairTest().add("prompt", text("a"), text("b")) == pytest.approx(1.0)


def test_a_second_pair_like_the_first_is_evidence():
    """Each decoder repeats its token. A bet with the prior weight w has a ratio of 1 + 2 / w for
    each of the texts, so it pays 2 r² / (r² + 1); six bets on how likely texts are see no
    difference.
    """
    test = PairTest()
    test.add("prompt", text("a"), text("b"))
    evidence = test.add("prompt", text("a"), text("b"))
    paid = [2 * r**2 / (r**2 + 1) for r in (1 + 2 / 4, 1 + 2 / 16, 1 + 2 / 64)]
    assert evidence == pytest.approx((sum(paid) + 6 + BY_ROW) / (9 + BY_ROW))


def test_tokens_after_a_text_that_one_decoder_alone_wrote_are_no_evidence():
    """After "a" the second decoder wrote nothing, after "b" the first: both ratios are 1,
    whatever followed.
    """
    test = PairTest()
    test.add("prompt", text("a", "x"), text("b", "y"))
    evidence = test.add("prompt", text("a", "x"), text("b", "y"))
    paid = [2 * r**2 / (r**2 + 1) for r in (1 + 2 / 4, 1 + 2 / 16, 1 + 2 / 64)]
    assert evidence == pytest.approx((sum(paid) + 6 + BY_ROW) / (9 + BY_ROW))


def pays(ratio: float) -> float:
    """What a bet pays for a pair whose texts it finds so many times as likely the right way
    round.
    """
    return 2 * ratio / (ratio + 1)


def test_likelier_texts_are_evidence_for_the_bets_on_them():
    """One bet is on likely texts and one on unlikely ones: alone they cancel, so two pairs count.

    With half an observation more, "a x" has 1.5 / 3 by 1.5 / 2 and "c z" 0.5 / 3 by 0.5 / 1, a
    ratio of 4.5; then 2.5 / 5 by 2.5 / 3 and 1.5 / 5 by 1.5 / 2, a ratio of 50 / 27. The bets by
    token know "a" alone, then "a" and "c".
    """
    test = PairTest()
    test.add("prompt", text("a", "x"), text("b", "y"))
    test.add("prompt", text("a", "x"), text("c", "z"))
    evidence = test.add("prompt", text("a", "x"), text("c", "z"))
    by_token = [pays(1 + 2 / w) * pays((1 + 4 / w) ** 2) for w in SHRINKAGE]
    by_likelihood = [pays(4.5**slope) * pays((50 / 27) ** slope) for slope in SLOPES]
    assert evidence == pytest.approx((sum(by_token) + sum(by_likelihood) + BY_ROW) / (9 + BY_ROW))


def test_texts_of_another_prompt_teach_nothing():
    test = PairTest()
    test.add("one", text("a"), text("b"))
    assert test.add("another", text("a"), text("b")) == pytest.approx(1.0)


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
    audit = StatisticalAudit(0.001, 1, evidence=evidence, bug=bug, complete=complete)
    assert audit.verdict == verdict


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


def plain_decoder(task: Task) -> list[int]:
    """Sample the target."""
    text = list(task.prompt)
    while not task.ended(text):
        text.append(task.random.choice(task.vocabulary, p=task.row(-1, text)))
    return text[len(task.prompt) :]


def test_outputs_of_all_instances_are_counted():
    audit = exact(plain_decoder, models=1, vocabulary=2, new_tokens=2, instances=2)
    # 2 * 2 texts; in the second instance token 1 ends the text: 1, 0 0 and 0 1.
    assert audit.lossless
    assert audit.outputs == 4 + 3


def test_small_errors_of_tokens_add_up_to_an_error_of_their_text():
    """Each token leans to the likeliest by 0.9 of the tolerance; the text of two such is off by
    more than it.
    """
    tolerance = 1e-3
    lean = 0.9e-3
    likeliest = []

    def leans(task: Task) -> list[int]:
        text = list(task.prompt)
        while not task.ended(text):
            row = task.row(-1, text).copy()
            row[row.argmax()] += lean
            row[row.argmin()] -= lean
            text.append(task.random.choice(2, p=row))
        first = task.row(-1, task.prompt)
        second = task.row(-1, [*task.prompt, int(first.argmax())])
        likeliest[:] = [first.max(), second.max()]
        return text[len(task.prompt) :]

    audit = exact(
        leans,
        models=1,
        vocabulary=2,
        new_tokens=2,
        instances=1,
        tolerance=tolerance,
        temperature=0.5,
    )
    # (a + e) (b + e) - a b.
    assert audit.error == pytest.approx(lean * sum(likeliest) + lean**2)
    assert audit.error > tolerance
    assert audit.wrong is None
    assert not audit.lossless


def test_an_output_that_never_occurs_is_an_error_of_its_probability():
    rows = []

    def drops_the_last(task: Task) -> list[int]:
        """Never the last token: half of its probability for each of the others."""
        row = task.row(-1, task.prompt)
        rows.append(row)
        half = row[2] / 2
        return [task.random.choice(3, p=[row[0] + half, row[1] + half, 0.0])]

    audit = exact(drops_the_last, models=1, vocabulary=3, new_tokens=1, instances=1)
    assert not audit.lossless
    assert audit.error == pytest.approx(rows[0][2])


def test_the_line_of_an_exact_audit():
    audit = ExactAudit(True, 1.5e-16, 3, 81)
    assert str(audit) == "lossless: largest error 1.5e-16 (81 outputs, 3 toy instances)"
