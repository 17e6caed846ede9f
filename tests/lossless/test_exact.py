"""The walk of a tree by exact enumeration in float64, with no tolerance but rounding (1e-12), rows,
draws and numbers.

``judge`` runs once for each outcome of its uniform numbers, which are known only as far as they
were compared; the rules of sampled chains are enumerated in whole stacks
(``test_stacks_exact.py``).
"""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.rejection_sampling import judge
from hsd_viz.decoding.sampling import Draws, UniformNumbers, distribution, draw
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.measure.audit import enumeration

TOLERANCE = 1e-12
ONE = Sampling(temperature=1.0)


def random_rows(n: int, v: int, seed: int, zeros: bool = False) -> np.ndarray:
    random = np.random.default_rng(seed)
    rows = random.random((n, v)) ** 2
    if zeros:
        rows[random.random((n, v)) < 0.3] = 0
        rows[:, 0] += 0.05
    return rows / rows.sum(1, keepdims=True)


def scores_of(rows: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(rows)


@pytest.mark.parametrize("zeros", [False, True])
def test_a_tree_gives_the_verifiers_law(zeros):
    v = 3
    tree = DraftTree()
    a = tree.add(0, -1, "context")
    tree.add(2, -1, "model")
    b = tree.add(1, a, "context")
    tree.add(0, a, "statistics")
    tree.add(1, b, "context")
    rows = random_rows(len(tree) + 1, v, 5, zeros)
    texts = {(): 0}
    for node, parent in enumerate(tree.parents):
        path = next(t for t, row in texts.items() if row == parent + 1)
        texts[(*path, tree.tokens[node])] = node + 1

    def verdict(choices):
        judged = judge(
            scores_of(rows), Draft(tree), ONE, UniformNumbers(choices.random(4)), RecordOptions()
        )
        return (*(tree.tokens[node] for node in judged.accepted), judged.token)

    law = enumeration.law(verdict)
    assert abs(sum(law.values()) - 1) < TOLERANCE
    for text, weight in law.items():
        exact = float(np.prod([rows[texts[text[:k]], token] for k, token in enumerate(text)]))
        assert abs(weight - exact) < TOLERANCE, text


def test_a_draw_gives_each_token_its_probability():
    row = random_rows(1, 200, 9, True)[0]
    law = enumeration.law(lambda choices: draw(row, choices.random()))
    assert max(abs(law.get(token, 0.0) - p) for token, p in enumerate(row)) < TOLERANCE
    assert draw(np.array([0.0, 1.0, 0.0]), 0.0) == 1
    assert draw(np.array([0.0, 1.0, 0.0]), 1 - 2**-52) == 1


def test_a_draw_at_a_strides_rounded_end_can_be_drawn():
    """Partial sums may round apart; a token without probability is never drawn, for any number."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        p = rng.random(192)
        p[60:64] = p[120:130] = p[190:] = 0
        for border in (p.cumsum() / p.sum())[[59, 63, 119, 127, 189]]:
            for r in (np.nextafter(border, 0), border, min(np.nextafter(border, 1), 1 - 2**-52)):
                assert p[draw(p, float(min(r, 1 - 2**-52)))] > 0


def test_a_distribution_is_temperature_then_top_k_then_top_p():
    scores = np.array([[2.0, 1.0, 0.0, -1.0, -2.0]])
    p = distribution(scores, Sampling(temperature=0.5, top_k=3, top_p=0.95))[0]
    weights = np.exp(np.array([4.0, 2.0, 0.0]))
    shares = weights / weights.sum()
    # 0.867 + 0.117 = 0.984 reaches 0.95, so the third falls out.
    assert shares[0] < 0.95 < shares[0] + shares[1]
    assert np.abs(p - np.array([*(weights[:2] / weights[:2].sum()), 0, 0, 0])).max() < TOLERANCE


def test_the_nucleus_ends_with_the_token_that_reaches_top_p():
    """Where the likeliest tokens sum to top-p exactly, no token more; just above it, one more."""
    scores = np.random.default_rng(3).normal(size=6)
    ordered = np.sort(distribution(scores, ONE))[::-1]
    reached = ordered.cumsum()
    for k in range(4):
        exactly, above = (
            distribution(scores, Sampling(temperature=1.0, top_p=p))
            for p in (reached[k], reached[k] + 1e-12)
        )
        assert (exactly > 0).sum() == k + 1
        assert (above > 0).sum() == k + 2


def test_min_p_keeps_tokens_by_their_ratio_to_the_likeliest():
    scores = np.log(np.array([[0.5, 0.25, 0.15, 0.1]]))
    p = distribution(scores, Sampling(temperature=1.0, min_p=0.3))[0]
    # 0.25 and 0.15 are at least 0.3 * 0.5 = 0.15 up to rounding; 0.1 is not.
    expected = np.array([0.5, 0.25, 0.15, 0])
    assert np.abs(p - expected / expected.sum()).max() < TOLERANCE


def test_a_token_at_the_border_of_min_p_is_kept():
    row = distribution(np.random.default_rng(3).normal(size=6), ONE)
    ordered = np.sort(row)[::-1]
    border = float(ordered[2] / ordered[0])
    while ordered[0] * border > ordered[2]:  # the quotient was rounded up
        border = float(np.nextafter(border, 0))
    scores = np.random.default_rng(3).normal(size=6)
    kept = distribution(scores, Sampling(temperature=1.0, min_p=border))
    fewer = distribution(scores, Sampling(temperature=1.0, min_p=border + 1e-9))
    assert (kept > 0).sum() == 3
    assert (fewer > 0).sum() == 2


def test_min_p_of_1_keeps_the_likeliest_alone():
    scores = np.array([[0.0, 2.0, 1.0]])
    assert (distribution(scores, Sampling(temperature=1.0, min_p=1.0)) > 0).tolist() == [
        [False, True, False]
    ]


def test_min_p_follows_temperature_top_k_and_top_p():
    """At temperature 2 the third token is within the ratio, but top-k has dropped it."""
    scores = np.array([[2.0, 1.0, 0.5, -4.0]])
    p = distribution(scores, Sampling(temperature=2.0, top_k=2, min_p=0.4))[0]
    weights = np.exp(scores[0, :2] / 2)
    assert np.abs(p[:2] - weights / weights.sum()).max() < TOLERANCE
    assert p[2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(10))
def test_the_cuts_are_those_of_transformers(seed):
    torch = pytest.importorskip("torch")
    process = pytest.importorskip("transformers.generation.logits_process")
    scores = np.random.default_rng(seed).normal(size=(1, 40)) * 2
    cuts = [
        process.TemperatureLogitsWarper(0.8),
        process.TopKLogitsWarper(20),
        process.TopPLogitsWarper(0.9),
        process.MinPLogitsWarper(0.1),
    ]
    theirs = torch.tensor(scores)
    for cut in cuts:
        theirs = cut(torch.zeros(1, 1, dtype=torch.long), theirs)
    ours = distribution(scores, Sampling(temperature=0.8, top_k=20, top_p=0.9, min_p=0.1))
    assert np.abs(ours - theirs.softmax(-1).numpy()).max() < 1e-12


def test_no_temperature_is_too_small_or_too_large():
    scores = np.array([[300.0, 1.0, 300.0 - 1e-3, -400.0]], np.float32)
    for temperature in (5e-324, 1e-300, 1e-38, 1e-9, 0.3, 100.0):
        p = distribution(scores, Sampling(temperature=temperature))
        assert np.isfinite(p).all()
        assert abs(float(p.sum()) - 1) < 1e-6
        if temperature < 1e-5:
            assert p[0].tolist() == [1, 0, 0, 0]


def test_numbers_are_those_of_splitmix64():
    """The first outputs of splitmix64 for the seed 1234567 are published with its code
    (rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64).
    """
    from hsd_viz.decoding.sampling import number

    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [number(1234567, k) for k in range(1, 5)] == [(n >> 12) * 2.0**-52 for n in published]


def test_numbers_never_repeat_and_do_not_depend_on_each_other():
    one = Draws(5)
    other = Draws(5)
    first = one.fresh(3)
    assert one.at(7) == other.at(7)
    assert other.fresh(5)[:3] == first
    numbers = [*first, *one.fresh(2000), *map(one.at, range(2000)), *Draws(6).fresh(2000)]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) >= 0
    assert max(numbers) < 1
    assert abs(np.mean(numbers) - 0.5) < 0.02
