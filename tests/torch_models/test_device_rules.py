"""Compare sampling and rules on the device with numpy in float64, and with enumerations."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from hsd_viz.decoding import verify
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import distribution, draw, total
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.torch_models import rules
from hsd_viz.torch_models import sampling as device
from tests.rows import column

RULES = ("token", "block", "branch")
SAMPLINGS = [
    Sampling(temperature=1.0),
    Sampling(temperature=0.3),
    Sampling(temperature=2.0, top_k=1),
    Sampling(temperature=0.8, top_k=50),
    Sampling(temperature=0.7, top_p=0.9),
    Sampling(temperature=1.5, top_p=0.05),
    Sampling(temperature=0.9, top_k=40, top_p=0.8),
    Sampling(temperature=0.9, min_p=0.2),
    Sampling(temperature=1.3, top_k=40, top_p=0.9, min_p=0.1),
]


def shaped(scores: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Return the probabilities of these logits on the device."""
    return device.distribution(
        scores,
        torch.tensor(sampling.temperature, dtype=torch.float64),
        torch.tensor(sampling.top_k),
        torch.tensor(sampling.top_p, dtype=torch.float64),
        torch.tensor(sampling.min_p, dtype=torch.float64),
        device.Shaping.of(sampling, scores.shape[-1]),
    )


def test_every_setting_of_sampling_is_known_here():
    """A new setting must be added to the graphs, or stacks of compiled models would ignore it."""
    known = {"temperature", "top_k", "top_p", "min_p", "seed", "rule"}
    assert set(column(dataclasses.fields(Sampling), "name")) == known


def logits(rows: int, vocabulary: int, seed: int = 0) -> np.ndarray:
    return 3 * np.random.default_rng(seed).normal(size=(rows, vocabulary))


@pytest.mark.parametrize("vocabulary", [5, 64, 1000])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_probabilities_are_the_references(sampling, vocabulary):
    scores = logits(6, vocabulary)
    shaped_rows = shaped(torch.from_numpy(scores), sampling).numpy()
    expected = distribution(scores, sampling)
    assert np.abs(shaped_rows - expected).max() <= 1e-12
    assert ((shaped_rows > 0) == (expected > 0)).all()


def test_forbidden_tokens_and_ties_at_a_border_are_the_references():
    scores = logits(3, 40)
    scores[:, 7] = -np.inf
    scores[:, 3] = scores[:, 9] = scores[:, 20]
    for sampling in (
        Sampling(temperature=0.7, top_k=5),
        Sampling(temperature=1e-3, top_p=0.5),
        Sampling(temperature=1.0, top_p=0.3),
    ):
        shaped_rows = shaped(torch.from_numpy(scores), sampling).numpy()
        assert np.abs(shaped_rows - distribution(scores, sampling)).max() <= 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.9999])
def test_the_nucleus_is_that_of_the_sorted_row(share, dtype):
    """Rows are flat, have many equal numbers, or need only a single token."""
    for scale in (0.01, 1.0, 8.0):
        scores = scale * logits(4, 10_000, seed=7)
        scores[1] = np.round(scores[1], 1)
        rows = torch.from_numpy(scores).to(dtype)
        p = shaped(rows, Sampling(temperature=1.0)).numpy()
        ordered = np.sort(p)[:, ::-1]
        border = (ordered[:, :-1].cumsum(-1, dtype=np.float64) < share).sum(-1, keepdims=True)
        expected = p >= np.take_along_axis(ordered, border, -1)
        nucleus = shaped(rows, Sampling(temperature=1.0, top_p=share)).numpy() > 0
        assert (nucleus == expected).all()


@pytest.mark.parametrize("bits", [31, 63])
def test_the_largest_key_that_reaches_a_weight(bits):
    rng = np.random.default_rng(4)
    dtype = torch.int32 if bits == 31 else torch.int64
    for case in range(40):
        spread = int(rng.integers(1, bits))
        keys = rng.integers(0, 2**spread, size=(3, 30))
        weights = rng.integers(0, 5, size=(3, 30))
        mark = int(rng.integers(1, 80))
        largest = device.largest_reaching(
            torch.tensor(keys, dtype=dtype), torch.tensor(weights), torch.tensor(mark)
        )
        for row in range(3):
            reaching = [key for key in keys[row] if weights[row][keys[row] >= key].sum() >= mark]
            assert largest[row] == max(reaching, default=0), (case, row)


def test_forbidden_tokens_are_beyond_the_border_of_top_k():
    scores = np.full((1, 50), -np.inf)
    scores[0, [3, 20, 40]] = [0.0, -1.0, -2.0]
    shaped_rows = shaped(torch.from_numpy(scores), Sampling(temperature=1.0, top_k=10)).numpy()
    assert (
        np.abs(shaped_rows - distribution(scores, Sampling(temperature=1.0, top_k=10))).max()
        <= 1e-12
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_does_not_depend_on_the_rows_beside_it(dtype):
    """Sums have the same order for any number of rows, so rows are equal bit for bit."""
    scores = torch.from_numpy(logits(17, 3000)).to(dtype)
    together = shaped(scores, Sampling(temperature=0.7, top_p=0.9))
    for k in (0, 5, 16):
        assert torch.equal(
            shaped(scores[k : k + 1], Sampling(temperature=0.7, top_p=0.9))[0], together[k]
        )
        assert torch.equal(device.total(together[k : k + 1])[0], device.total(together)[k])


@pytest.mark.parametrize("vocabulary", [3, 64, 65, 1000])
def test_draws_are_the_references(vocabulary):
    rng = np.random.default_rng(1)
    weights = rng.random((200, vocabulary)) * (rng.random((200, vocabulary)) < 0.5)
    weights[:, 1] += 0.1
    r = rng.random(200)
    r[:3] = [0.0, 1 - 2.0**-52, 0.5]
    drawn = device.draw(torch.from_numpy(weights), torch.from_numpy(r)).tolist()
    assert drawn == [draw(row, number) for row, number in zip(weights, r, strict=True)]


def test_a_token_of_probability_0_is_never_drawn():
    weights = torch.zeros((2, 130), dtype=torch.float64)
    weights[:, 70] = 0.1
    weights[:, 75] = 0.3
    r = torch.tensor([0.0, 1 - 2.0**-52], dtype=torch.float64)
    assert device.draw(weights, r).tolist() == [70, 75]


def test_the_likeliest_tokens_are_the_first_of_equal_ones():
    weights = torch.tensor([[0.1, 0.4, 0.4, 0.1, 0.0]])
    places, values = device.likeliest(weights, 4)
    assert places.tolist() == [[1, 2, 0, 3]]
    assert values[0].tolist() == pytest.approx([0.4, 0.4, 0.1, 0.1])


@pytest.mark.parametrize("rule", RULES)
def test_verdicts_on_chains_are_the_references(rule):
    rng = np.random.default_rng(2)
    seen = set()
    for case in range(120):
        m = int(rng.integers(1, 6))
        n = int(rng.integers(1, m + 1))
        scores = rng.normal(size=(m + 1, 8))
        p = distribution(scores, Sampling(temperature=1.0))
        q = distribution(
            scores[:m] + 0.8 * rng.normal(size=(m, 8)), Sampling(temperature=0.8, top_k=6)
        )
        tokens = [draw(row, float(rng.random())) for row in q]
        u = rng.random(m)
        expected = verify.RULES[rule](tokens[:n], q[:n], p[: n + 1], u[:n])
        verdict = rules.judge_chain(
            rule, torch.tensor(tokens), torch.tensor(n), *map(torch.from_numpy, (p, q, u))
        )
        accepted = int(verdict.accepted)
        assert accepted == expected.accepted, case
        weights = p[n] if expected.residual is None else expected.residual
        assert np.abs(verdict.weights.numpy() - weights).max() <= 1e-12
        mass = 0.0 if expected.residual is None else total(expected.residual)
        assert float(verdict.mass) == pytest.approx(mass, abs=1e-12)
        for k in expected.compared if expected.h is not None else ():
            assert float(verdict.h[k]) == pytest.approx(expected.h[k], abs=1e-12)
        seen.add(accepted == n)
    assert seen == {True, False}


def test_rows_that_are_equal_accept_everything():
    p = torch.full((3, 4), 0.25, dtype=torch.float64)
    u = torch.full((2,), 1 - 2.0**-52, dtype=torch.float64)
    for rule in RULES:
        verdict = rules.judge_chain(rule, torch.tensor([1, 2]), torch.tensor(2), p, p[:2], u)
        assert int(verdict.accepted) == 2


def thresholds(rule: str, tokens, q, p) -> list[float]:
    """Return the probability that each random number is below its threshold."""
    if rule == "token":
        return [min(1.0, p[k, token] / q[k, token]) for k, token in enumerate(tokens)]
    return list(verify.RULES[rule](tokens, q, p, [1.0] * len(tokens)).h)


def beside(mark: float, below: bool) -> float:
    """Return a number just below or just above a mark."""
    return mark * (1 - 1e-9) if below else mark + (1 - mark) * 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", RULES)
def test_the_law_of_a_chain_is_the_targets(rule, seed):
    """Enumerate all drafts and all outcomes of comparisons: lossless to 1e-12."""
    # With fewer tokens a residual has often one token, whatever it is computed from.
    v = 5
    n = 2
    rng = np.random.default_rng(seed)
    target = distribution(1.5 * rng.normal(size=(v + 1, v)), Sampling(temperature=1.0))
    drafter = distribution(1.5 * rng.normal(size=(v + 1, v)), Sampling(temperature=1.0))
    # Row v is the one after the text, row k that after token k.
    law = np.zeros((v,) * (n + 1))
    for tokens in itertools.product(range(v), repeat=n):
        places = [v, *tokens]
        p = target[places]
        q = drafter[places[:n]]
        weight = np.prod([q[k, token] for k, token in enumerate(tokens)])
        marks = thresholds(rule, tokens, q, p)
        for below in itertools.product((True, False), repeat=n):
            chance = np.prod([t if yes else 1 - t for t, yes in zip(marks, below, strict=True)])
            if chance <= 0:
                continue
            u = [beside(mark, yes) for mark, yes in zip(marks, below, strict=True)]
            given = (p, q, np.array(u))
            verdict = rules.judge_chain(
                rule, torch.tensor(tokens), torch.tensor(n), *map(torch.from_numpy, given)
            )
            own = verdict.weights.numpy() / verdict.weights.numpy().sum()
            prefix = tokens[: int(verdict.accepted)]
            for token in range(v):
                _add(law, target, (*prefix, token), weight * chance * own[token])
    expected = np.zeros_like(law)
    _add(expected, target, (), 1.0)
    assert np.abs(law - expected).max() < 1e-12


def _add(law: np.ndarray, target: np.ndarray, prefix: tuple[int, ...], weight: float) -> None:
    """Add the law of texts that begin with a prefix and continue by the target."""
    if len(prefix) == law.ndim:
        law[prefix] += weight
        return
    row = target[prefix[-1] if prefix else -1]
    for token, p in enumerate(row):
        _add(law, target, (*prefix, token), weight * p)


def random_tree(rng: np.random.Generator, nodes: int) -> DraftTree:
    tree = DraftTree()
    for _ in range(nodes):
        parent = int(rng.integers(-1, len(tree)))
        token = int(rng.integers(4))
        if (token, parent) not in zip(tree.tokens, tree.parents, strict=True):
            tree.add(token, parent, "context")
    return tree


def test_walks_of_trees_are_the_references():
    rng = np.random.default_rng(3)
    lengths = set()
    for _ in range(150):
        tree = random_tree(rng, int(rng.integers(1, 12)))
        own = rng.integers(4, size=len(tree) + 1).tolist()
        accepted, token, compared = verify.walk(tree, own.__getitem__)
        padded = 12 - len(tree)
        tokens = torch.tensor([*tree.tokens, *[0] * padded])
        parents = torch.tensor([*tree.parents, *range(len(tree) - 1, 11)])
        rows = torch.tensor([*own, *[0] * padded])
        lineage = rules.lineage_of(parents)
        walk = rules.walk_tree(tokens, parents, torch.tensor(len(tree)), lineage, rows)
        assert walk.accepted.nonzero().flatten().tolist() == accepted
        assert walk.compared.nonzero().flatten().tolist() == compared
        assert rows[walk.row].item() == token
        lengths.add(len(accepted))
    assert len(lengths) > 3


@pytest.mark.parametrize("m", [1, 2, 3, 8, 33])
def test_the_lineage_of_a_chain_is_all_before(m):
    lineage = rules.lineage_of(torch.arange(m) - 1)
    assert torch.equal(lineage, torch.ones(m, m, dtype=torch.bool).tril())
