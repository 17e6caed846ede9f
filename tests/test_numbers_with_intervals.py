import numpy as np
import pytest

from hsd_viz.results.bootstrap import estimate, ratio, resample
from hsd_viz.results.estimate import MIN_UNITS, UNKNOWN, Estimate


def test_the_first_row_is_the_sample_and_the_others_draw_as_many_units():
    weights = resample(7, seed=3, resamples=50)
    assert weights.shape == (51, 7)
    assert (weights[0] == 1).all()
    assert (weights.sum(axis=1) == 7).all()
    assert (weights == resample(7, seed=3, resamples=50)).all()
    assert (weights != resample(7, seed=4, resamples=50)).any()
    assert resample(0).shape == (1, 0)


def test_the_interval_of_a_mean_has_the_width_of_its_standard_error():
    values = np.random.default_rng(0).normal(5.0, 2.0, 400)
    mean = estimate(resample(400) @ values / 400, 400)
    assert mean.value == pytest.approx(values.mean())
    assert mean.low < mean.value < mean.high
    assert mean.high - mean.low == pytest.approx(2 * 1.96 * 2.0 / 20, rel=0.15)


def test_what_is_not_defined():
    assert estimate(np.array([np.nan, 1.0]), 5) == UNKNOWN
    assert UNKNOWN.interval is None
    assert estimate(np.array([2.0, 2.0]), 1) == Estimate(2.0)
    few, enough = (estimate(resample(n) @ np.arange(n) / n, n) for n in (MIN_UNITS - 1, MIN_UNITS))
    assert few.interval is None
    assert few.ends is not None
    assert enough.interval == enough.ends
    assert enough.low < enough.value < enough.high
    assert np.isnan(ratio(np.array([1.0]), np.array([0.0]))).all()


def test_the_ends_are_the_quantiles_of_95_percent():
    resampled = np.arange(101.0)
    assert estimate(np.array([50.0, *resampled]), 9) == Estimate(50.0, 2.5, 97.5)


@pytest.mark.parametrize(("units", "interval"), [(4, None), (5, (0.0, 2.0)), (None, (0.0, 2.0))])
def test_an_interval_is_shown_from_five_units_on(units, interval):
    assert Estimate(1.0, 0.0, 2.0, units).interval == interval


def test_a_single_unit_has_no_interval():
    assert estimate(np.array([2.0, 2.0, 2.0]), 1).ends is None


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        pytest.param(Estimate(1.5, 1.25, 2.0), "1.50× [1.25, 2.00]", id="with its interval"),
        pytest.param(Estimate(1.5), "1.50×", id="without one"),
        pytest.param(Estimate(1.5, 1.25, 2.0, units=4), "1.50×", id="of too few units"),
        pytest.param(UNKNOWN, "-", id="unknown"),
    ],
)
def test_a_figure_as_text(figure, text):
    assert figure.as_text("{:.2f}", unit="×") == text


def test_a_factor_scales_a_figure_with_its_interval():
    assert Estimate(0.5, 0.25, 1.0).as_text("{:.0f}", factor=100) == "50 [25, 100]"


def test_the_span_of_a_figure_is_that_of_its_quantiles():
    assert Estimate(1.5, 1.25, 2.0, units=4).span("{:.2f}") == "1.25 to 2.00"
    assert UNKNOWN.span() == "–"
