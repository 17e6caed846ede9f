"""Test the rules of verification: decisions, records, and what the loop stores of both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.rejection_sampling import judge
from hsd_viz.decoding.sampling import UniformNumbers, describe, distribution, likeliest
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.decoding.verify import block_rule, token_rule, walk
from hsd_viz.drafting.tree import DraftTree
from tests.lossless.toys import Guesser, loop_of, models

ONE = Sampling(temperature=1.0)


def tree_of(*nodes: tuple[int, int]) -> DraftTree:
    tree = DraftTree()
    for token, parent in nodes:
        tree.add(token, parent, "context")
    return tree


def tokens_of(weights: list[tuple[int, float]]) -> list[int]:
    """Return the tokens of pairs of a token and its weight."""
    return [token for token, _ in weights]


@st.composite
def trees(draw_from) -> DraftTree:
    """A strategy for trees of up to nine nodes over four tokens, with siblings in any order."""
    tree = DraftTree()
    taken = set()
    for _ in range(draw_from(st.integers(0, 9))):
        parent = draw_from(st.integers(-1, len(tree) - 1))
        token = draw_from(st.integers(0, 3))
        if (parent, token) not in taken:
            taken.add((parent, token))
            tree.add(token, parent, "context")
    return tree


@settings(deadline=None)
@given(trees(), st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_a_walk_follows_the_children_that_were_drawn(tree, drawn):
    asked = []
    accepted, token, compared = walk(tree, lambda row: asked.append(row) or drawn[row])
    place = -1
    path = []
    looked = []
    while True:
        children = [node for node, parent in enumerate(tree.parents) if parent == place]
        looked += children
        following = [node for node in children if tree.tokens[node] == drawn[place + 1]]
        if not following:
            break
        place = following[0]
        path.append(place)
    assert accepted == path
    assert token == drawn[place + 1]
    assert sorted(compared) == sorted(looked)
    assert asked == [0, *(node + 1 for node in path)], (
        "a row is asked for where the walk gets, and once"
    )


def scores_of(rows) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.array(rows, float))


def test_a_corrections_residual_has_no_drafted_token_at_the_text():
    """Two children were drafted after the text; the verifier drew another token."""
    tree = tree_of((0, -1), (1, -1), (2, 0))
    scores = scores_of([[0.4, 0.3, 0.1, 0.2]] * 4)
    verdict = judge(scores, Draft(tree), ONE, UniformNumbers([0.75, 0.5]), RecordOptions(details=5))
    assert verdict.accepted == []
    assert verdict.token == 2
    assert verdict.examined == 1
    assert verdict.p == pytest.approx([0.4, 0.3, None])
    assert tokens_of(verdict.correction.residual_top) == [3, 2]
    assert verdict.correction.residual_sum == pytest.approx(0.3)
    assert [p for _, p in verdict.correction.residual_top] == pytest.approx([2 / 3, 1 / 3])
    assert verdict.correction.q_top is None


def test_a_corrections_residual_has_no_drafted_token_at_a_nodes_row():
    """As before, but after an accepted node: only its children are excluded from the residual."""
    tree = tree_of((0, -1), (1, -1), (2, 0), (3, 0))
    rows = [[0.4, 0.3, 0.1, 0.2], [0.5, 0.2, 0.2, 0.1], *[[0.25] * 4] * 3]
    verdict = judge(
        scores_of(rows), Draft(tree), ONE, UniformNumbers([0.1, 0.1, 0.1]), RecordOptions(details=5)
    )
    assert verdict.accepted == [0]
    assert verdict.token == 0
    assert verdict.row == 1
    assert verdict.examined == 2
    assert verdict.p == pytest.approx([0.4, 0.3, 0.2, 0.1])
    assert tokens_of(verdict.correction.residual_top) == [0, 1]
    assert verdict.correction.residual_sum == pytest.approx(0.7)


@pytest.mark.parametrize("rule", ["token", "block"])
def test_a_chains_correction_is_drawn_from_the_residual_that_is_recorded(rule):
    p = [[0.1, 0.5, 0.4]] * 2
    q = np.array([[0.6, 0.3, 0.1]])
    draft = Draft(DraftTree.chain([0], "m"), rows=q)
    verdict = judge(
        scores_of(p),
        draft,
        Sampling(temperature=1.0, rule=rule),
        UniformNumbers([0.5, 0.5], [0.9]),
        RecordOptions(details=5),
    )
    assert verdict.accepted == []
    assert verdict.token == 2
    assert verdict.examined == 1
    assert tokens_of(verdict.correction.residual_top) == [2, 1]
    assert verdict.correction.residual_sum == pytest.approx(0.5)
    assert tokens_of(verdict.correction.q_top) == [0, 1, 2]
    assert verdict.rows == pytest.approx(np.array(p[:1])), "the full row, not the residual, goes up"
    assert verdict.u == [0.9]
    assert verdict.q == [0.6]
    assert verdict.p == pytest.approx([0.1])
    bonus = judge(
        scores_of(p),
        draft,
        Sampling(temperature=1.0, rule=rule),
        UniformNumbers([0.5, 0.5], [0.0]),
        RecordOptions(details=5),
    )
    assert bonus.accepted == [0]
    assert bonus.correction is None
    assert bonus.examined == 1


def test_block_verification_of_a_chain_by_hand():
    """p = (.3, .7) and q = (.6, .4) at both positions, so w_1 = .5 and h_1 = s / (s + 1 - w_1) with
    s = (.5 .3 - .6)+ + (.5 .7 - .4)+.
    """
    p = np.array([[0.3, 0.7]] * 3)
    q = np.array([[0.6, 0.4]] * 2)
    verdict = block_rule([0, 1], q, p, [0.0, 0.9])
    # w_2 = min(1, .5 * .7 / .4) = .875 is the chance of the whole draft; nothing is left at place
    # 1, so h_1 = 0.
    assert verdict.accepted == 0
    assert verdict.h == pytest.approx([0.0, 0.875])
    assert verdict.compared == range(2)
    assert verdict.residual == pytest.approx([0, 0.3])
    verdict = block_rule([0, 1], q, p, [0.99, 0.8])
    assert verdict.accepted == 2
    assert verdict.compared == range(1, 2)
    assert verdict.residual is None
    # Ratios above 1 are not carried over: w_1 = 1, so that h_2 = w_2 = .5.
    verdict = block_rule([1, 0], q, p, [0.99, 0.4])
    assert verdict.accepted == 2
    assert verdict.h[1] == pytest.approx(0.5)


def test_equal_rows_are_always_accepted_and_disjoint_ones_never():
    row = np.array([[0.25, 0.5, 0.25]])
    assert token_rule([1], row, np.concatenate([row, row]), [1 - 2**-52]).accepted == 1
    p = np.array([[0.0, 1.0], [0.5, 0.5]])
    q = np.array([[1.0, 0.0]])
    assert token_rule([0], q, p, [0.0]).accepted == 0
    # A place that was rejected where nothing is left of p - q: p itself is the limit.
    draft = Draft(DraftTree.chain([0], "m"), rows=np.array([[0.5, 0.5]]))
    verdict = judge(
        scores_of([[0.0, 0.5], [0.5, 0.5]]) + 0.0,
        draft,
        ONE,
        UniformNumbers([0.3, 0.3], [0.5]),
        RecordOptions(),
    )
    assert verdict.accepted == []
    assert verdict.token == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("vocabulary", [6, 4096, 5003])
def test_a_row_is_described_at_temperature_1(vocabulary, dtype):
    rows = np.random.default_rng(vocabulary).normal(size=(4, vocabulary)).astype(dtype) * 5
    rows[1, [1, 5]] = -np.inf  # forbidden tokens
    rows[2] *= 40  # next to certain
    rows[3] *= 1e-3  # next to uniform
    for row, token in zip(rows, (1, 3, 0, 5), strict=True):
        p, entropy, top = describe(row, token, 5)
        exact = np.exp(row.astype(float) - row.max())
        exact /= exact.sum()
        assert p == pytest.approx(exact[token], rel=1e-4, abs=1e-30)
        seen = exact[exact > 0]
        assert entropy == pytest.approx(-(seen * np.log(seen)).sum(), rel=1e-4, abs=1e-4)
        best = np.argsort(-exact, kind="stable")[:5]
        assert [v for _, v in top] == pytest.approx(exact[best], rel=1e-4, abs=1e-30)
        assert [t for t, v in top if v > 1e-30] == [t for t in best if exact[t] > 1e-30]


def test_equal_weights_come_by_their_number():
    weights = np.zeros(300, np.float32)
    weights[[250, 7, 123]] = 1.0
    before = weights.copy()
    assert tokens_of(likeliest(weights, 5)) == [7, 123, 250, 0, 1]
    assert (weights == before).all()


def test_a_drafter_learns_from_every_row_of_the_draft():
    tree = tree_of((0, -1), (1, -1))
    scores = np.random.default_rng(0).normal(size=(3, 9))
    order = judge(scores, Draft(tree), Sampling(), None, RecordOptions(observe=3)).observed
    assert order.tokens == [np.argsort(-row)[:3].tolist() for row in scores]
    warm = judge(
        scores, Draft(tree), Sampling(), None, RecordOptions(observe=3, temperature=0.5)
    ).observed
    assert warm.tokens == order.tokens
    p = distribution(scores, Sampling(temperature=0.5))
    for row, tokens in enumerate(warm.tokens):
        assert warm.values[row] == [p[row, token] for token in tokens]


# --- what the loop keeps --------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_nothing_is_recorded_of_what_follows_an_end_token(temperature):
    """Only the emitted tokens have details and count as examined, and there is no correction."""
    stopped = beyond = 0
    for seed in range(60):
        sampling = Sampling(temperature=temperature, seed=seed, rule="token")
        below, target = models(2, seed=1)
        loop = loop_of(
            [target], [], sampling, 40, Guesser(below, seed), eos=frozenset({seed % 6}), details=3
        )
        for verified in loop.rounds():
            tables = loop.log.take()
            rounds = tables["rounds"]
            tokens = tables["tokens"]
            assert tokens["token_id"] == verified.tokens
            assert None not in tokens["top"]
            drawn = verified.outcome == "correction" and temperature > 0
            assert [r is not None for r in tokens["residual_sum"]] == [
                *[False] * (len(verified.tokens) - 1),
                drawn,
            ]
            if verified.outcome == "stopped":
                stopped += 1
                beyond += len(verified.verdict.accepted) > len(verified.accepted)
                assert verified.tokens[-1] in loop.eos
                assert len(verified.tokens) == len(verified.accepted)
                assert rounds["examined"][-1] == rounds["accepted"][-1] == len(verified.accepted)
    assert stopped > 3, (stopped, beyond)
    assert beyond or not temperature, (stopped, beyond)


@pytest.mark.parametrize(
    ("tokens", "positions", "text"), [(7, None, 8), (7, 8, 8), (7, 6, 6), (1, 100, 2)]
)
def test_limits_by_position_end_the_text_exactly(tokens, positions, text):
    for lookaheads, database in (([4], False), ([2, 3], False), ([], True)):
        tables = models(len(lookaheads) + 1)
        drafter = Guesser(models(2)[0]) if database else None
        loop = loop_of(tables, lookaheads, ONE, tokens, drafter, positions=positions)
        for _ in loop.rounds():
            pass
        assert len(loop.text) == text


def test_the_random_numbers_of_a_round_do_not_depend_on_its_outcome():
    """A draft of n tokens uses n numbers. Its verification uses n below the target and n + 1 by the
    target; that of a tree uses 1 + its depth.
    """
    taken = []

    class Counted(loop_of(models(2), [3], ONE, 1).draws.__class__):
        def fresh(self, n):
            taken.append(n)
            return super().fresh(n)

    loop = loop_of(models(3), [3, 4], ONE, 30)
    loop.draws = Counted(1)
    for verified in loop.rounds():
        assert taken[-1] == len(verified.draft) or not len(verified.draft)
        below = taken[: -1 if len(verified.draft) else None]
        for n in below:
            assert n in (1, 2, 3, 4)
        taken.clear()
