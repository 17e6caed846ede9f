import pytest

from hsd_viz.results.positions import at_least, rates_at, reaching


@pytest.mark.parametrize(
    ("depths", "totals"),
    [
        pytest.param([(0, 1), (2, 1), (1, 1), (2, 1)], [4, 3, 2, 0], id="drafts, one each"),
        pytest.param([(2, 0.25), (0, 0.5), (1, 0.25)], [1.0, 0.5, 0.25, 0], id="shares"),
        pytest.param([], [0, 0, 0, 0], id="none"),
    ],
)
def test_the_weight_that_reaches_each_place(depths, totals):
    assert reaching(depths, range(4)) == totals


def test_a_histogram_from_each_place_on():
    assert at_least([5, 3, 0, 1]) == [4, 1, 1]


def test_a_position_that_no_draft_reached_has_the_rate_0():
    assert rates_at([(1, 2), (0, 0)]) == [0.5, 0.0]
