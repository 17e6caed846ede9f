"""Test estimates of acceptance, intervals and costs on traces of known truth and on the bundled
recordings.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hsd_viz
from hsd_viz.latency.inputs import Edge, LevelCost, LookupCost
from hsd_viz.latency.law import predict
from hsd_viz.latency.traced_acceptance import ENOUGH, estimate_edge, rounds_of
from hsd_viz.latency.traced_calibration import estimate
from hsd_viz.latency.traced_costs import monotone, verifications
from hsd_viz.trace import CallRow, RoundRow, Trace
from tests.changes import replace_rows
from tests.rows import column

RECORDINGS = Path(hsd_viz.__file__).parent / "traces"


def row(drafted, accepted, outcome=None, level=1, id=0, parent=None, start=0, spent=0, why=None):
    outcome = outcome or ("bonus" if accepted == drafted else "correction")
    examined = accepted if outcome == "stopped" else min(accepted + 1, drafted)
    return RoundRow(id, parent, level, drafted, examined, accepted, outcome, why, start, spent)


def test_the_curve_is_found_again_through_drafts_of_any_length():
    """Draft lengths differ and the end of the text cuts some rounds, so an average over rounds
    would be too low.
    """
    random = np.random.default_rng(0)
    truth = Edge((0.9, 0.6, 0.5), 0.95)
    s = np.array(truth.curve(40))
    rows = []
    for _ in range(20_000):
        drafted = int(random.integers(1, 9))
        accepted = min(int(np.sum(random.random() < s[1:])), drafted)
        rows.append(row(drafted, accepted))
        # Every tenth token ends the text; if it is accepted, later tokens are not examined.
        end = int(random.geometric(0.1))
        if end <= accepted:
            rows[-1] = row(drafted, end, "stopped")
    edge = estimate_edge(rows)
    assert np.abs(np.subtract(edge.curve(8), truth.curve(8))).max() < 0.015
    assert edge.curve(20)[20] == pytest.approx(truth.curve(20)[20], abs=0.04)


def test_curves_are_of_one_rule():
    """Rounds of another rule are excluded, and the rule is reported."""
    names = [{"name": "nano", "parameters": 1}, {"name": "target", "parameters": 9}]
    meta = {"stack": "nano:2 > target", "models": [{**m, "level": k} for k, m in enumerate(names)]}
    traces = []
    for rule, accepted, n in (("token", 0, 10), ("block", 2, 30)):
        trace = Trace(meta)
        replace_rows(
            trace, "rounds", [row(2, accepted, id=k)._replace(rule=rule) for k in range(n)]
        )
        replace_rows(
            trace,
            "calls",
            [CallRow(0, k, m["name"], "verify", 1, 1, 0, 0, 1) for k, m in enumerate(names)],
        )
        traces.append(trace)
    (rows,) = rounds_of(traces)[0].values()
    assert set(column(rows, "rule")) == {"block"}
    assert len(rows) == 30
    assert set(column(rounds_of(traces[:1])[0]["nano", "target"], "rule")) == {"token"}


def test_monotone_curve_is_the_closest_one():
    assert monotone([3.0, 1.0, 2.0, 5.0, 4.0], [1, 1, 2, 1, 3]) == pytest.approx(
        [2.0, 2.0, 2.0, 4.25, 4.25]
    )
    assert monotone([1.0, 2.0, 3.0], [1, 1, 1]) == [1.0, 2.0, 3.0]


def timed_trace(lookahead: int) -> Trace:
    """Return a trace with these times in ms: launch 0.5 + 0.2 per step, verification 2 + 0.1 m,
    overhead 0.3, pause 0.4.
    """
    ms = 1_000_000
    trace = Trace(
        {
            "stack": f"d:{lookahead} > target",
            "models": [{"name": "d", "parameters": 1}, {"name": "target", "parameters": 9}],
        }
    )
    now = 0
    for k in range(60):
        start = now
        drafted = lookahead
        spent = int((0.5 + 0.2 * drafted) * ms)
        trace.add_rows(calls=[CallRow(k, 0, "d", "draft", drafted, drafted, 0, now, spent)])
        now += spent
        # Every tenth forward is disturbed.
        verify = int((2 + 0.1 * (drafted + 1) + (5 if k % 10 == 0 else 0)) * ms)
        trace.add_rows(calls=[CallRow(k, 1, "target", "verify", 1, drafted + 1, 0, now, verify)])
        now += verify + int(0.3 * ms)
        trace.add_rows(
            rounds=[
                row(
                    drafted, min(k % (lookahead + 2), drafted), id=k, start=start, spent=now - start
                )
            ]
        )
        now += int(0.4 * ms)
    return trace


def test_costs_come_from_calls():
    calibration = estimate([timed_trace(2), timed_trace(6), timed_trace(4)])
    draft = calibration.costs["d"]
    target = calibration.costs["target"]
    assert calibration.models == ("d", "target")
    assert [*calibration.edges] == [("d", "target")]
    # A launch's steps are not a single forward.
    assert draft.drafting(1) == pytest.approx(0.2)
    assert draft.draft_overhead == pytest.approx(0.5)
    assert target.overhead == pytest.approx(0.7)
    assert list(map(target.verifying, range(1, 10))) == pytest.approx(
        [2.3, 2.3, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9]
    )
    assert tuple(verifications([timed_trace(2), timed_trace(6)])["target"]) == (3, 7)

    assert estimate([timed_trace(3)]).costs["d"].drafting(1) == pytest.approx(1.1 / 3)
    trace = timed_trace(3)
    trace.meta["models"] = []
    assert estimate([trace]).models == ("d", "target")


def test_a_verification_costs_what_it_costs_above_the_model_that_just_ran():
    """Verifications of equal width take half as long again above `e` as above `d`; the law predicts
    both times.
    """
    ms = 1_000_000
    traces = []
    for name, cost in (("d", 2 * ms), ("e", 3 * ms)):
        models = [{"name": name, "parameters": 1}, {"name": "target", "parameters": 9}]
        trace = Trace({"stack": f"{name}:1 > target", "models": models})
        for k in range(60):
            calls = [
                CallRow(k, 0, name, "draft", 1, 1, 0, 0, 0),
                CallRow(k, 1, "target", "verify", 1, 2, 0, 0, cost),
            ]
            trace.add_rows(rounds=[row(1, 0, id=k, start=k * cost, spent=cost)], calls=calls)
        traces.append(trace)
    known = estimate(traces)
    assert [predict(t.stack, known).ms_per_token for t in traces] == pytest.approx([2, 3])


def test_a_database_is_counted_by_length_and_luck():
    trace = Trace({"stack": "db[context] > target"})
    for k, (drafted, accepted, why) in enumerate(
        [(3, 1, None), (3, 1, None), (0, 0, "no match"), (2, 2, None), (0, 0, "no room")]
    ):
        trace.add_rows(calls=[CallRow(k, 0, "db", "lookup", 1, drafted, 0, 0, 20_000)])
        trace.add_rows(calls=[CallRow(k, 1, "target", "verify", 1, 1 + drafted, 0, 0, 1_000_000)])
        trace.add_rows(calls=[CallRow(k, 0, "db", "update", 1, 1, 0, 0, 10_000)])
        trace.add_rows(
            rounds=[
                row(drafted, accepted, "plain" if why else None, id=k, spent=1_000_000, why=why)
            ]
        )
    calibration = estimate([trace])
    tier = calibration.tiers["db[context]", "target"]
    # The look-up near the limit says nothing of the database.
    assert tier.outcomes == ((0, 0, 0.25), (2, 2, 0.25), (3, 1, 0.5))
    assert tier.drafted()[0] == 0.25
    assert tier.tokens == 2.0
    assert calibration.lookups == {"db[context]": LookupCost(0.02, 0.01)}
    assert not calibration.edges
    assert predict("db[context] > target", calibration).forwards_per_token == (0.5, 0.5)


def test_shifted_acceptance_moves_as_far_as_it_says():
    truth = Edge((0.8, 0.6), 0.7)
    assert truth.shifted(0.05).curve(3) == pytest.approx([1, 0.85, 0.85 * 0.8, 0.85 * 0.8 * 0.75])
    assert Edge(tail=0.98).shifted(0.05).tail == 1.0


@pytest.mark.parametrize(
    "name", ["plain", "one-draft", "hierarchy", "databases", "both", "sampled"]
)
def test_a_recording_is_predicted_from_itself(name):
    """The law predicts nearly the measured time from the acceptance and costs of a few dozen
    rounds.
    """
    trace = Trace.load(RECORDINGS / f"{name}.json.gz")
    said = predict(trace.meta["stack_resolved"], estimate([trace]))
    measured = (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e6 / len(trace)
    print(f"\n{said.stack}: predicted {said.ms_per_token:.2f} ms/token, measured {measured:.2f}")
    assert said.ms_per_token == pytest.approx(measured, rel=0.15)


def test_stopped_rounds_are_no_lookups():
    """A round that the end of the text cuts does not show the length of the database's draft."""
    trace = Trace({"stack": "db > target"})
    replace_rows(
        trace,
        "calls",
        [
            CallRow(0, 0, "db", "lookup", 1, 3, 0, 0, 1),
            CallRow(0, 1, "target", "verify", 1, 4, 0, 0, 1),
        ],
    )
    replace_rows(trace, "rounds", [row(3, 2, id=0), row(3, 1, "stopped", id=1), row(3, 0, id=2)])
    _, looked_up = rounds_of([trace])
    assert looked_up == {("db", "target"): {(3, 2): 1, (3, 0): 1}}


def test_the_tail_pools_the_last_two_places():
    """Positions 1 to 3 are examined 40, 20 and 10 times, and 4 too rarely: the tail counts 2, 3 and
    4.
    """
    rows = []
    for accepted, n in ((0, ENOUGH), (1, ENOUGH), (2, ENOUGH), (3, 2), (4, 3)):
        rows += [row(4, accepted) for _ in range(n)]
    n = ENOUGH
    assert len(estimate_edge(rows).survival) == 3
    assert estimate_edge(rows).tail == pytest.approx((n + 5 + 5 + 3) / (2 * n + 5 + n + 5 + 5))


def test_a_cost_curve_continues_with_its_last_step():
    cost = LevelCost((1.0, 1.5, 2.5))
    assert list(map(cost.verifying, (3, 4, 6))) == pytest.approx([2.5, 3.5, 5.5])
    assert LevelCost((1.0, 2.0, 1.5)).verifying(5) == 1.5  # falling at its end: noise
