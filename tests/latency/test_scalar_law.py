"""The vectorised law against the scalar one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier
from hsd_viz.latency.law import expected_latency
from hsd_viz.latency.vectorised import predict

MODELS = ("a", "b", "c", "target")
costs = st.floats(1e-3, 10)
chances = st.floats(0, 1)
edges = st.builds(lambda steps, tail: Edge(tuple(survival(steps)), tail), st.lists(chances, max_size=6), chances)


def survival(steps: list[float]) -> list[float]:
    """Conditional acceptances as S(1), S(2), ..."""
    out, product = [], 1.0
    for step in steps:
        product *= step
        out.append(product)
    return out


@st.composite
def tiers(draw) -> Tier:
    drafts = draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 9)), min_size=1, max_size=6))
    return Tier.counted((m, min(m, a), n) for m, a, n in drafts)


@st.composite
def stacks(draw):
    """(models, their costs, overheads, lookaheads, edges, (look-up, update, tier) or None)"""
    drafts = draw(st.integers(0, 3))
    models = MODELS[3 - drafts :]
    numbers = lambda of, n: draw(st.lists(of, min_size=n, max_size=n))
    database = draw(st.none() | st.tuples(costs, costs, tiers()))
    return (
        models,
        numbers(costs, drafts + 1),
        numbers(costs, drafts + 1),
        numbers(st.integers(1, 12), drafts),
        numbers(edges, drafts),
        database,
    )


@given(stacks())
def test_vectorised_law_is_the_scalar_law(stack):
    models, prices, overheads, lookaheads, known, database = stack
    calibration = Calibration(
        models,
        {m: LevelCost((c,), overhead=o) for m, c, o in zip(models, prices, overheads, strict=True)},
        dict(zip(pairwise(models), known, strict=True)),
        {} if database is None else {("db", models[0]): database[2]},
        {} if database is None else {"db": LookupCost(*database[:2])},
    )
    text = " > ".join([*(f"{m}:{g}" for m, g in zip(models, lookaheads, strict=False)), "target"])
    survivals = [edge.curve(200) for edge in known]
    if database is None:
        found = predict(text, calibration)
        drafting = prices[:1] if lookaheads else [prices[0] + overheads[0]]
        verifying = [c + o for c, o in zip(prices[1:], overheads[1:], strict=True)]
        expected = expected_latency([*drafting, *verifying], lookaheads, survivals)
    else:
        found = predict(f"db > {text}", calibration)
        lookup, update, tier = database
        verifying = [c + o for c, o in zip(prices, overheads, strict=True)]
        verifying[-1] += update  # once in each round of the target
        accepted = dict(enumerate(tier.accepted().tolist()))
        expected = expected_latency([lookup, *verifying], [1, *lookaheads], [[1.0], *survivals], accepted)
    assert found.ms_per_token == pytest.approx(expected.cost, rel=1e-12)
    assert found.forwards_per_token == pytest.approx(expected.forwards, rel=1e-12)


def test_published_formula():
    """One draft model: (g c_0 + c_1) (1 - a) / (1 - a^(g+1)), Leviathan et al. 2023; and plain decoding."""
    a, g = 0.8, 5
    found = expected_latency([0.05, 1.0], [g], [[a**k for k in range(g + 1)]])
    length = (1 - a ** (g + 1)) / (1 - a)
    assert found.cost == pytest.approx((g * 0.05 + 1) / length, rel=1e-12)
    assert found.forwards == pytest.approx((g / length, 1 / length), rel=1e-12)
    assert expected_latency([3.0], [], []) == (3.0, (1.0,))
