"""Compare the law with the engine's loop on real tokens of table models, with invented costs.

Acceptance is estimated from the same run (on-policy), so the law and the estimator are tested
together.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hsd_viz.decoding.options import Sampling
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import predict
from hsd_viz.latency.traced_acceptance import rounds_of
from hsd_viz.latency.traced_calibration import estimate
from hsd_viz.measure.audit.exact import softmax
from hsd_viz.trace import CallRow, RoundRow, Trace
from tests.lossless.toys import Guesser, loop_of
from tests.rows import column

V = 6
COSTS = {
    "m0": LevelCost((0.05, 0.08)),
    "m1": LevelCost((0.15, 0.25, 0.33), overhead=0.05),
    "m2": LevelCost((0.25, 0.40, 0.50), overhead=0.06),
    "target": LevelCost((1.0, 1.1, 1.25), overhead=0.2),
}


def even(models: int, seed: int) -> list[np.ndarray]:
    """Return tables whose rows are rotations of one another, so that all positions are equally
    hard.
    """
    random = np.random.default_rng(seed)
    rows = [random.normal(size=V) * 1.5]
    for _ in range(models - 1):
        rows.append(rows[-1] + random.normal(size=V) * 0.5)
    return list(map(rolled, rows))


def rolled(row: np.ndarray) -> np.ndarray:
    """Return the rows after each token: one row, rotated by the token."""
    return np.stack([np.roll(row, token) for token in range(V)])


def decode(
    tables, lookaheads, tokens: int, drafter=None, seed: int = 0, rule: str = "token"
) -> Trace:
    """Return the rows of the loop as a trace."""
    # The token rule accepts each position by itself, so that its acceptance is known without a run.
    loop = loop_of(
        tables, lookaheads, Sampling(temperature=1.0, seed=seed, rule=rule), tokens, drafter
    )
    names = [f"m{k}:{g}" for k, g in enumerate(lookaheads)]
    trace = Trace({"stack": " > ".join([*(["db"] if drafter else []), *names, "target"])})
    loop.log.take()
    for _ in loop.rounds():
        taken = loop.log.take()
        rounds = map(RoundRow, *taken["rounds"].values())
        calls = map(CallRow, *taken["calls"].values())
        trace.add_rows(rounds=list(rounds), calls=list(calls))
    trace.meta["tokens"] = len(loop.text) - 1
    return trace


def priced(trace: Trace, costs) -> float:
    """Return the time that the forward passes of a run would take, in ms per token."""
    spent = 0.0
    for call in trace.call_rows:
        if call.kind not in ("draft", "verify"):
            continue
        cost = costs[call.name]
        # A call of several steps: a forward pass over the pending tokens, then one for each token
        # but the last.
        spent += cost.verifying(call.fed - call.steps + 1) + (call.steps - 1) * cost.verifying(1)
        if call.kind == "verify":
            spent += cost.overhead
    return spent / trace.meta["tokens"]


def error(trace: Trace, edges, tiers) -> float:
    """Return the law's relative error in ms per token with these acceptances."""
    called = set(column(trace.call_rows, "name"))
    models = tuple(name for name in COSTS if name in called)
    return (
        predict(trace.meta["stack"], Calibration(models, COSTS, edges, tiers)).ms_per_token
        / priced(trace, COSTS)
        - 1
    )


@pytest.mark.parametrize(
    ("models", "lookaheads", "database"),
    [(3, [2, 5], False), (4, [1, 3, 6], False), (2, [4], True)],
)
def test_law_is_what_the_real_loop_does(models, lookaheads, database):
    tables = even(models, 1)
    trace = decode(tables, lookaheads, 12_000, Guesser(tables[-1], seed=3) if database else None)
    known = estimate([trace])
    rounds, _ = rounds_of([trace])

    # Acceptance estimated from the run: as measured curves, and independent.
    flat = {}
    for pair, rows in rounds.items():
        accepted = sum(column(rows, "accepted"))
        flat[pair] = Edge(tail=accepted / sum(column(rows, "examined")))
    for edges in (known.edges, flat):
        assert abs(error(trace, edges, known.tiers)) <= 0.01
    # Sum of min(p, q) at any one place: what is accepted of the draft, known without a run, whose
    # own luck remains.
    p = [softmax(table[0]) for table in tables]
    names = [*(f"m{k}" for k in range(models - 1)), "target"]
    edges = {}
    for k, (a, b) in enumerate(pairwise(names)):
        edges[(a, b)] = Edge(tail=float(np.minimum(p[k], p[k + 1]).sum()))
    assert abs(error(trace, edges, known.tiers)) <= 0.02


@pytest.mark.parametrize("lookaheads", [[5], [2, 5]])
def test_law_is_what_the_loop_does_under_block_verification(lookaheads):
    """The curves are estimated under block verification. Those of the token rule predict too many
    forward passes.
    """
    tables = even(len(lookaheads) + 1, 1)
    traces = {}
    for rule in ("token", "block"):
        traces[rule] = decode(tables, lookaheads, 8_000, rule=rule)
    estimates = {rule: estimate([trace]) for rule, trace in traces.items()}
    assert {row.rule for row in traces["block"].round_rows if row.drafted} == {"block"}
    own = error(traces["block"], estimates["block"].edges, estimates["block"].tiers)
    other = error(traces["block"], estimates["token"].edges, estimates["token"].tiers)
    print(f"{lookaheads}: curves of the rule {own:+.2%}, of the token rule {other:+.2%}")
    assert abs(own) <= 0.01
    assert other > 0.01
    assert priced(traces["block"], COSTS) < priced(traces["token"], COSTS)
