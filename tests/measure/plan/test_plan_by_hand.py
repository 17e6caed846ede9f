"""A row of a plan and its errors, by hand."""

from __future__ import annotations

import pytest

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import Prediction
from hsd_viz.latency.stored import StoredCalibration
from hsd_viz.measure.bench.output import Output
from hsd_viz.measure.plan.report import Compared, PairAcceptance, PlannedStack, Spread
from hsd_viz.measure.plan.search import _against_best, _calibration, _errors, _planned_stack
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.stack import parse


def output(seconds: float, tokens: int, **calls: int) -> Output:
    return Output(
        token_ids=tuple(range(tokens)),
        seconds=seconds,
        timed_tokens=tokens,
        prefill_seconds=1.0,
        target_forwards=calls["target"],
        drafted=0,
        accepted=0,
        draft_seconds=(),
        calls=calls,
    )


PREDICTION = Prediction(
    parse("db > d:1 > target"), ("db", "d", "target"), 4.0, (0.5, 1.0, 0.5), (0.0, 0.2, 0.8), 2.0
)


def test_a_measured_row_by_hand():
    # 60 ms for 20 tokens, without prefill; 30 passes of d and 8 of the target.
    row = _planned_stack(
        PREDICTION, [output(0.02, 10, db=2, d=10, target=3), output(0.04, 10, db=3, d=20, target=5)]
    )
    assert row.predicted_ms_per_token == 4.0
    assert row.measured_ms_per_token.value == pytest.approx(3.0)
    assert row.error == pytest.approx(4.0 / 3.0 - 1)
    # Two prompts, of 2 and of 4 ms per token.
    assert row.measured_ms_per_token.ends == pytest.approx((2.0, 4.0))
    assert row.measured_ms_per_token.units == 2
    assert row.forwards_per_token == {"d": Compared(1.0, 1.5), "target": Compared(0.5, 0.4)}
    assert row.acceptance_length == Compared(2.0, pytest.approx(2.5))


def test_a_row_that_was_not_measured_has_predictions_alone():
    row = _planned_stack(PREDICTION, ())
    assert row.measured_ms_per_token == UNKNOWN
    assert row.error is None
    assert row.acceptance_length == Compared(2.0, None)


def measured(stack: str, predicted: float, ms: float, passes: tuple[float, float]) -> PlannedStack:
    return PlannedStack(
        stack=stack,
        predicted_ms_per_token=predicted,
        measured_ms_per_token=Estimate(ms),
        forwards_per_token={"target": Compared(*passes)},
        acceptance_length=Compared(1.0),
    )


def spread(errors: Spread) -> tuple[float, float]:
    return errors.median, errors.worst


def test_errors_by_hand():
    # The machine is 1.25 times as slow as at the calibration: plain decoding takes 10 instead of 8
    # ms.
    rows = [
        measured("target", 8.0, 10.0, (1.0, 1.0)),
        measured("a:1 > target", 4.0, 5.0, (0.5, 0.4)),
        measured("b:1 > target", 6.0, 5.0, (0.5, 0.625)),
    ]
    errors = _errors(rows)
    assert errors.drift == pytest.approx(1.25)
    # -20 %, -20 % and +20 %; without the drift 0 and +50 %.
    assert spread(errors.ms_per_token) == pytest.approx((0.2, 0.2))
    assert spread(errors.ms_per_token_without_drift) == pytest.approx((0.25, 0.5))
    # Of the stacks that draft: +25 % and -20 %.
    assert spread(errors.forwards_per_token) == pytest.approx((0.225, 0.25))


def test_acceptance_of_a_stored_calibration_is_of_drafts_of_four():
    # S = 0.5, 0.25 and then half of it each time: 0.9375 accepted of 1.875 examined.
    edge = Edge((0.5, 0.25), tail=0.5)
    uneven = Edge((0.8,), tail=0.0)
    stored = StoredCalibration(
        identity={},
        texts={},
        created=0.0,
        seconds=1.0,
        calibration=Calibration(
            ("d", "m", "target"),
            dict.fromkeys(("d", "m", "target"), LevelCost((1.0,))),
            {("d", "target"): edge, ("m", "target"): uneven},
        ),
        rounds={"d > target": 7, "m > target": 9},
    )
    acceptance = _calibration(stored, was_stored=True).acceptance
    # The second: 0.8 accepted, 1 + 0.8 examined.
    first = PairAcceptance(draft="d", verifier="target", rate=pytest.approx(0.5), rounds=7)
    second = PairAcceptance(draft="m", verifier="target", rate=pytest.approx(0.8 / 1.8), rounds=9)
    assert acceptance == (first, second)


@pytest.mark.parametrize(
    ("ms", "comparison"),
    [
        pytest.param({"a": 5.0, "b": 4.0}, ("b", 0.25), id="another is faster"),
        pytest.param({"a": 4.0, "b": 5.0}, ("a", 0.0), id="the picked one is the fastest"),
        pytest.param({"b": 5.0}, ("b", None), id="the picked one was not measured"),
        pytest.param({}, (None, None), id="nothing was measured"),
    ],
)
def test_the_pick_against_the_fastest_measured(ms, comparison):
    assert _against_best("a", ms) == comparison


def test_an_error_below_zero_can_be_the_worst():
    rows = [
        measured("a:1 > target", 4.0, 8.0, (1.0, 1.0)),
        measured("b:1 > target", 5.0, 4.0, (1.0, 1.0)),
    ]
    assert _errors(rows).ms_per_token.worst == pytest.approx(0.5)
