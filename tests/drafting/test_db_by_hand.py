"""Compare the scores, trust and costs of database drafting, and a report on a database, with
figures computed by hand.
"""

from __future__ import annotations

import pytest

from hsd_viz.drafting.costs import CostCurve, cost_curve
from hsd_viz.drafting.db import DatabaseDrafter
from hsd_viz.drafting.index.build import build_database, describe
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.trust import Trust, priors
from tests.rows import column


class Says:
    """A database that answers contexts of one token with fixed continuations, and no longer
    contexts.
    """

    def __init__(self, *counts: tuple[int, int]) -> None:
        self.counts = counts

    def lookup(self, tail, longest=None):
        if len(tail) > 1:
            return None
        total = sum(count for _, count in self.counts)
        return 1, total, [(token, count, None) for token, count in self.counts]


def drafter(rate: float, **databases: Says) -> DatabaseDrafter:
    """Return a drafter with equal trust in all answers, for which verified tokens cost nothing."""
    made = DatabaseDrafter(tuple(databases), databases, costs=None)
    made.start(())
    for rates in made.trust.rates:
        rates[:] = [rate] * len(rates)
    return made


def test_a_score_is_the_discounted_share_by_the_trust_in_it():
    tree = drafter(0.5, model=Says((5, 3), (6, 1))).draft([1], 8)
    # Counts 3 and 1 of 4, less 0.4 each, by half.
    assert tree.tokens == [5, 6]
    assert column(tree.origins, "score") == pytest.approx([0.5 * 2.6 / 4, 0.5 * 0.6 / 4])
    assert column(tree.origins, "count") == [3, 1]
    assert column(tree.origins, "key_length") == [1, 1]


def test_a_less_local_database_has_the_probability_that_is_left():
    tree = drafter(0.5, model=Says((5, 3), (6, 1)), statistics=Says((7, 2))).draft([1], 8)
    # The model took 0.5 * 3.2 / 4 = 0.4; of the rest, statistics has half of (2 - 0.5) / 2.
    assert tree.origins[tree.tokens.index(7)].score == pytest.approx(0.6 * 0.5 * 1.5 / 2)


def test_an_answer_never_takes_all_that_is_left():
    tree = drafter(1.2, logits=Says((5, 4))).draft([1], 8)
    assert column(tree.origins, "score") == pytest.approx([0.999])


@pytest.mark.parametrize(
    ("answers", "rate"),
    [
        # The prior of one token of context is 0.36, with a weight of 6.
        pytest.param([], 0.36, id="none"),
        pytest.param([(0.5, True)], (6 * 0.36 + 1) / 6.5, id="a hit"),
        pytest.param([(0.5, False), (1.0, True)], (6 * 0.36 + 1) / 7.5, id="a miss and a hit"),
        pytest.param([(0.0, True)] * 9, 1.2, id="at most 1.2"),
    ],
)
def test_trust_is_a_posterior_mean(answers, rate):
    trust = Trust(("context",))
    for expected, hit in answers:
        trust.observe(0, 1, expected, hit)
    assert trust.rates[0][1] == pytest.approx(rate)


@pytest.mark.parametrize(
    ("temperature", "prior"),
    [
        (0.0, 0.36),
        # A quarter of the way from greedy to temperature 1.
        (0.5, 0.75 * 0.36 + 0.25 * 0.22),
        (1.0, 0.22),
        (2.0, 0.22),
    ],
)
def test_a_prior_is_interpolated_by_the_square_of_the_temperature(temperature, prior):
    assert priors("context", temperature)[1] == pytest.approx(prior)


def test_a_cost_curve_by_hand():
    curve = CostCurve((2.0, 3.0, 6.0))
    assert curve.relative == (1.0, 1.5, 3.0)
    # From 0 tokens: 0.5 for one, (3 - 1) / 2 per token for two; then the last step of 1.5.
    assert curve.slopes == (0.5, 1.5, 1.5)
    assert curve.least_slope == 0.5
    costs, slopes = curve.tables(4)
    assert costs == pytest.approx([1.0, 1.5, 3.0, 4.5, 6.0])
    assert slopes == pytest.approx([0.5, 1.5, 1.5, 1.5, 1.5])


@pytest.mark.parametrize(
    ("costs", "relative"),
    [
        pytest.param(None, (1.0, 1.0), id="free"),
        pytest.param(0.25, (1.0, 1.25), id="the cost of one more token"),
        pytest.param([4, 6], (1.0, 1.5), id="by number of tokens"),
    ],
)
def test_costs_in_any_form(costs, relative):
    assert cost_curve(costs).relative == relative


@pytest.mark.parametrize(
    ("kind", "most_used"),
    [
        pytest.param(
            "statistics", [([1], [2], 2, 3), ([2], [1], 2, 2), ([1], [3], 1, 3)], id="all"
        ),
        pytest.param(
            "model", [([1], [2], 1, 2), ([1], [3], 1, 2), ([2], [1], 1, 1)], id="once per output"
        ),
    ],
)
def test_a_report_on_a_database_by_hand(kind, most_used, tmp_path):
    path = tmp_path / f"{kind}.hsdb"
    build_database(
        [[[1, 2, 1, 2, 1, 3]]],
        path,
        kind=kind,
        longest=2,
        vocabulary_size=5,
        vocabulary_hash="h",
        pruning=Pruning(least=1, least_continuation=1),
    )
    report = describe(path, most=4)
    # Keys of one token: 1 and 2. Those of two tokens have no other continuations than their last
    # token.
    assert report["keys"] == 2
    assert report["keys_by_length"] == {1: 2}
    assert report["bytes"] == path.stat().st_size
    assert [
        (row["key"], row["tokens"], row["count"], row["total"]) for row in report["most_used"]
    ] == most_used
