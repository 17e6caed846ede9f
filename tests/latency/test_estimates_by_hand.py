"""Compare estimates with figures computed by hand: acceptance round by round, and costs as medians
of calls.
"""

from __future__ import annotations

import pytest

from hsd_viz.engine.forwards import fit_curve
from hsd_viz.latency.basis import level_use, plan_measured, tier_rate
from hsd_viz.latency.inputs import Edge, LookupCost, OverDatabase, Tier
from hsd_viz.latency.traced import own_times
from hsd_viz.latency.traced_acceptance import estimate_edge, over_databases, rounds_of
from hsd_viz.latency.traced_calibration import estimate
from hsd_viz.latency.traced_costs import monotone
from hsd_viz.trace import CallRow, RoundRow, Trace

MS = 1_000_000


def verified(drafted, accepted, *, number=0, parent=None, level=1, start=0, spent=0):
    """Return a round that examined its draft up to the first rejected token."""
    outcome = "bonus" if accepted == drafted else "correction"
    examined = min(accepted + 1, drafted)
    return RoundRow(number, parent, level, drafted, examined, accepted, outcome, None, start, spent)


def rounds_of_two(first_rejected: int, second_rejected: int, both_accepted: int) -> list:
    """Return rounds over drafts of two tokens, with these numbers of rounds per outcome."""
    return [
        *[verified(2, 0)] * first_rejected,
        *[verified(2, 1)] * second_rejected,
        *[verified(2, 2)] * both_accepted,
    ]


@pytest.mark.parametrize(
    ("rounds", "edge"),
    [
        # 80 first tokens, 40 accepted; 40 second tokens, 10 accepted. Both places have their own
        # figure, and the tail pools the two: 50 of 120.
        pytest.param(
            rounds_of_two(40, 30, 10), Edge((0.5, 0.125), 50 / 120), id="40 at both places"
        ),
        # 79 first tokens, 39 accepted; the 39 second ones are too few for a figure of their own.
        pytest.param(
            rounds_of_two(40, 29, 10), Edge((39 / 79,), 49 / 118), id="39 at the second place"
        ),
    ],
)
def test_a_place_has_its_own_figure_from_40_examined_tokens(rounds, edge):
    estimated = estimate_edge(rounds)
    assert estimated.survival == pytest.approx(edge.survival)
    assert estimated.tail == pytest.approx(edge.tail)


def over_a_database(accepted: list[int]) -> Trace:
    """Return rounds of target over m over db; each draft is a token of db, then one of m."""
    trace = Trace({"stack": "db > m:1 > target"})
    names = {"lookup": (0, "db"), "draft": (1, "m"), "verify": (2, "target")}
    for kind, (level, name) in names.items():
        trace.add_rows(calls=[CallRow(0, level, name, kind, 1, 1, 0, 0, MS)])
    for number, count in enumerate(accepted):
        start = 10 * number
        inner = verified(1, 1, number=1000 + number, parent=number, start=start)
        outer = verified(2, count, number=number, level=2, start=start)
        trace.add_rows(rounds=[outer, inner])
    return trace


def test_tokens_of_a_database_and_of_the_model_over_it_are_counted_apart():
    # The database's token is examined in all 60 rounds and accepted in 40; m's own in these 40, and
    # accepted in 30.
    trace = over_a_database([0] * 20 + [1] * 10 + [2] * 30)
    assert over_databases([trace]) == {
        ("db > m", "target"): OverDatabase(taken=40 / 60, own=30 / 40)
    }
    assert estimate([trace]).over == over_databases([trace])


def test_acceptance_over_a_database_needs_40_examined_tokens_of_both_kinds():
    # One own token fewer is examined.
    assert over_databases([over_a_database([0] * 21 + [1] * 9 + [2] * 30)]) == {}


@pytest.mark.parametrize("why", ["no room", "off"])
def test_a_round_without_room_is_not_counted_for_the_database(why):
    trace = Trace({"stack": "db > target"})
    trace.add_rows(
        calls=[
            CallRow(0, 0, "db", "lookup", 1, 1, 0, 0, MS),
            CallRow(0, 1, "target", "verify", 1, 2, 0, 0, MS),
        ],
        rounds=[
            verified(1, 1, number=0),
            RoundRow(1, None, 1, 0, 0, 0, "plain", why, 0, 0),
            RoundRow(2, None, 1, 0, 0, 0, "plain", "no match", 0, 0),
        ],
    )
    assert rounds_of([trace])[1] == {("db", "target"): {(1, 1): 1, (0, 0): 1}}


@pytest.mark.parametrize(
    ("values", "weights", "curve"),
    [
        # 4 and 2 make 3 of weight 2; with 0 of weight 2 that makes 6 / 4.
        pytest.param([4.0, 2.0, 0.0], [1.0, 1.0, 2.0], [1.5, 1.5, 1.5], id="a pool of pools"),
        pytest.param([3.0, 1.0], [3.0, 1.0], [2.5, 2.5], id="by weight"),
        pytest.param([1.0, 1.0, 2.0], [1.0, 9.0, 1.0], [1.0, 1.0, 2.0], id="equal is no fall"),
    ],
)
def test_a_falling_curve_is_pooled_by_weight(values, weights, curve):
    assert monotone(values, weights) == pytest.approx(curve)


def forward_passes(times: dict[int, list[float]]) -> Trace:
    """Return verifications of a target, with times in ms by tokens fed."""
    trace = Trace({"stack": "target"})
    for fed, measured in times.items():
        for ms in measured:
            call = CallRow(0, 0, "target", "verify", 1, fed, 0, 0, round(ms * MS))
            trace.add_rows(calls=[call])
    return trace


@pytest.mark.parametrize(
    ("times", "curve"),
    [
        pytest.param({1: [2.0], 3: [4.0]}, [2.0, 3.0, 4.0, 5.0], id="between and beyond"),
        pytest.param({1: [1.0, 2.0, 9.0]}, [2.0, 2.0], id="the median"),
        # A fall: one pass of 4 ms and three of 2 ms.
        pytest.param(
            {1: [4.0], 2: [2.0, 2.0, 2.0]}, [2.5, 2.5], id="pooled by the number of passes"
        ),
    ],
)
def test_the_cost_of_a_verification_by_tokens_fed(times, curve):
    cost = estimate([forward_passes(times)]).costs["target"]
    assert list(map(cost.verifying, range(1, len(curve) + 1))) == pytest.approx(curve)


@pytest.mark.parametrize(
    ("launches", "each", "launch"),
    [
        pytest.param({1: [3.0], 3: [5.0]}, 1.0, 2.0, id="a line: 2 ms and 1 ms a token"),
        pytest.param({2: [5.0]}, 2.5, 0.0, id="one length has no intercept"),
        # Longer launches were faster: through zero, (1 * 3 + 2 * 2) / (1 + 4).
        pytest.param({1: [3.0], 2: [2.0]}, 7 / 5, 0.0, id="a falling line"),
        # 2 ms per token less 1 ms: through zero, by the number of launches, (2 * 1 + 2 * 3) / (2 +
        # 4).
        pytest.param({1: [1.0, 1.0], 2: [3.0]}, 8 / 6, 0.0, id="a negative launch"),
    ],
)
def test_the_cost_of_drafting_by_tokens_per_launch(launches, each, launch):
    trace = Trace({"stack": "d:1 > target"})
    for steps, measured in launches.items():
        for ms in measured:
            call = CallRow(0, 0, "d", "draft", steps, steps, 0, 0, round(ms * MS))
            trace.add_rows(calls=[call])
    trace.add_rows(calls=[CallRow(0, 1, "target", "verify", 1, 1, 0, 0, MS)])
    cost = estimate([trace]).costs["d"]
    assert cost.drafting(1) == pytest.approx(each)
    assert cost.draft_overhead == pytest.approx(launch)


def timed_rounds() -> Trace:
    """Return two rounds of 10 and 12 ms with a pause of 3 ms. Each has 2 ms of look-up, 5 of
    verification and 1 of update.
    """
    trace = Trace({"stack": "db > target", "prefill_ns": 4 * MS, "wall_ns": 34 * MS})
    for number, (start, spent) in enumerate([(5, 10), (18, 12)]):
        calls = [("lookup", 0, "db", 2), ("verify", 1, "target", 5), ("update", 0, "db", 1)]
        for kind, level, name, ms in calls:
            trace.add_rows(calls=[CallRow(number, level, name, kind, 1, 1, 0, start * MS, ms * MS)])
        row = verified(1, 1, number=number, start=start * MS, spent=spent * MS)
        trace.add_rows(rounds=[row])
    return trace


def test_the_overhead_is_the_rest_of_a_round_and_the_pause_after_it():
    calibration = estimate([timed_rounds()])
    # 10 - 8 and 12 - 8 ms: a median of 3, and the pause of 3.
    assert own_times(timed_rounds()) == {0: 2 * MS, 1: 4 * MS}
    assert calibration.costs["target"].overhead == pytest.approx(6.0)
    assert calibration.lookups == {"db": LookupCost(2.0, 1.0)}


def test_the_use_of_each_level_per_token():
    trace = timed_rounds()
    trace.columns["tokens"]["token_id"] = [1, 2, 3, 4]
    database, target = level_use(trace)
    # Of 30 ms without prefill the database has 2 * 3, the target the rest; its calls are 2 * 5.
    assert database.name == "db"
    assert database.forwards == 0.5
    assert database.ms == 1.5
    assert database.calls == 1.5
    assert target.name == "target"
    assert target.forwards == 0.5
    assert target.ms == 6.0
    assert target.calls == 2.5


def test_the_acceptance_of_a_database_is_accepted_over_examined():
    # (3, 1) examines 2, (3, 3) examines 3, a miss nothing: (0.2 + 0.9) / (0.4 + 0.9).
    tier = Tier(((0, 0, 0.5), (3, 1, 0.2), (3, 3, 0.3)))
    assert tier_rate(tier) == pytest.approx(1.1 / 1.3)


@pytest.mark.parametrize(
    ("real", "curve"),
    [
        # In isolation 1 and 2 ms, so 3 and 4 ms at widths 3 and 4.
        pytest.param({4: [4.0] * 20}, [1.0, 2.0, 3.0, 4.0], id="beyond the widest pass"),
        pytest.param({1: [1.0] * 20, 2: [3.0] * 20}, [1.0, 3.0], id="20 rounds at a width"),
        pytest.param({1: [1.0] * 20, 2: [3.0] * 19}, [1.0, 2.0], id="19 are too few"),
        pytest.param({1: [2.0] * 3, 2: [3.0] * 2}, [2.0, 4.0], id="else the most frequent width"),
    ],
)
def test_a_curve_has_the_shape_of_passes_in_isolation_and_the_height_of_real_rounds(real, curve):
    assert fit_curve({1: 1.0, 2: 2.0}, real) == pytest.approx(curve)


@pytest.mark.parametrize(
    ("prompts", "interval"),
    [
        pytest.param("4 other prompts", None, id="too few for an interval"),
        pytest.param("5 other prompts", (2.0, 4.0), id="enough"),
    ],
)
def test_a_plan_of_few_prompts_has_no_intervals(prompts, interval):
    row = {"stack": "target", "measured_ms_per_token": 3.0, "measured_ms_per_token_ci": [2.0, 4.0]}
    unmeasured = {"stack": "db > target", "measured_ms_per_token": None}
    plan = {"measured_on": prompts, "hierarchies": [row, unmeasured]}
    measured = plan_measured(plan)
    assert list(measured) == ["target"]
    assert measured["target"].value == 3.0
    assert measured["target"].interval == interval


def test_models_are_ordered_by_their_parameters_the_target_last():
    traces = []
    for name, parameters in [("b", 5), ("a", 2)]:
        models = [{"name": name, "parameters": parameters}, {"name": "target", "parameters": 1}]
        trace = Trace({"stack": f"{name}:1 > target", "models": models})
        calls = [(0, name, "draft"), (1, "target", "verify")]
        for level, model, kind in calls:
            trace.add_rows(calls=[CallRow(0, level, model, kind, 1, 1, 0, 0, MS)])
        traces.append(trace)
    assert estimate(traces).models == ("a", "b", "target")


def test_a_curve_that_reached_zero_is_shifted_from_its_tail():
    # 0.5 + 0.1, then 0 + 0.1; where nothing was accepted before, the tail's 0.3 + 0.1.
    shifted = Edge((0.5, 0.0, 0.0), tail=0.3).shifted(0.1)
    assert shifted.curve(4) == pytest.approx([1.0, 0.6, 0.06, 0.024, 0.0096])
