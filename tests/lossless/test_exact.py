"""The verification rules by exact enumeration in float64: no sampling, no tolerance but rounding (1e-12).

The rules take their uniform numbers as arguments, so that every probability can be read off the code itself: the chance that
a token is accepted is the u up to which it is, found by bisection.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from toys import HOST, distribution, draw

from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import walk
from hsd_viz.drafting.tree import DraftTree

TOLERANCE = 1e-12
verify_chain = HOST.verify_chain


def random_rows(n: int, v: int, seed: int, zeros: bool) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand(n, v, generator=generator, dtype=torch.float64) ** 2
    if zeros:
        rows[torch.rand(n, v, generator=generator) < 0.3] = 0
        rows[:, 0] += 0.05
    return rows / rows.sum(1, keepdim=True)


def acceptance(tokens, q, p, place: int) -> float:
    """The probability with which verify_chain accepts the token at ``place``, given that it accepted those before."""

    def accepts(u: float) -> bool:
        numbers = [0.0] * place + [u] + [1.0] * (len(tokens) - place - 1)
        return len(verify_chain(tokens, q, p, numbers, [0.5] * (len(tokens) + 1)).accepted) > place

    low, high = 0.0, 1.0
    if accepts(1.0 - 2**-53):
        return 1.0
    if not accepts(0.0):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if accepts(middle) else (low, middle)
    return low


def probabilities_of(row: torch.Tensor) -> np.ndarray:
    """What ``draw`` makes of a row: the length of r's interval for each token, found by bisection of its borders."""
    borders = [0.0]
    v = row.shape[-1]
    for token in range(v - 1):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (
                (middle, high)
                if int(draw(row[None], torch.tensor([middle], dtype=torch.float64))) <= token
                else (low, middle)
            )
        borders.append(low)
    return np.diff([*borders, 1.0])


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("length", "v"), [(1, 5), (3, 3)])
def test_chain_rule_gives_the_verifiers_distribution(length, v, zeros):
    """Sum over every chain the drafter can sample: the tokens that come out are distributed as the verifier's own.

    Both models are tables by prefix, so that every position has its own rows. The chain is examined as a whole and the
    output is compared up to the number of tokens that every outcome fixes: the first one; given that the first was accepted,
    the second; and so on, which is the joint law by induction.
    """
    prefixes = [c for n in range(length + 1) for c in itertools.product(range(v), repeat=n)]
    p_rows = dict(zip(prefixes, random_rows(len(prefixes), v, 1 + zeros, zeros), strict=True))
    q_rows = dict(zip(prefixes, random_rows(len(prefixes), v, 11 + zeros, zeros), strict=True))
    # mass[prefix][token]: probability that the token at len(prefix) comes out as `token`, given that prefix was accepted.
    mass = {prefix: np.zeros(v) for prefix in prefixes}
    seen = {prefix: 0.0 for prefix in prefixes}
    for chain in itertools.product(range(v), repeat=length):
        q = torch.stack([q_rows[chain[:k]] for k in range(length)])
        p = torch.stack([p_rows[chain[:k]] for k in range(length + 1)])
        for place in range(length):
            prefix, weight = chain[:place], 1.0
            for k in range(place, length):
                weight *= float(q[k, chain[k]])
            if weight == 0 or any(float(q[k, chain[k]]) == 0 for k in range(place)):
                continue
            chance = acceptance(chain, q, p, place)
            numbers = [0.0] * place + [1.0] * (length - place)
            verdict = verify_chain(chain, q, p, numbers, [0.5] * (length + 1))
            if len(verdict.accepted) < place:
                continue  # a token before has p = 0: the prefix cannot be accepted
            seen[prefix] += weight
            mass[prefix][chain[place]] += weight * chance
            if chance < 1:
                assert verdict.residual is not None
                mass[prefix] += weight * (1 - chance) * probabilities_of(verdict.residual)
        everything = verify_chain(chain, q, p, [0.0] * length, [0.5] * (length + 1))
        if len(everything.accepted) == length:
            assert everything.residual is None  # the bonus stands on p itself
    checked = 0
    for prefix in prefixes:
        if len(prefix) < length and seen[prefix] > 0:
            assert abs(seen[prefix] - 1) < TOLERANCE
            assert np.abs(mass[prefix] - p_rows[prefix].numpy()).max() < TOLERANCE
            checked += 1
    assert checked >= 1


def test_bonus_is_drawn_from_the_last_row():
    p, q = random_rows(3, 5, 3, False), random_rows(2, 5, 4, False)
    for r in np.linspace(0, 0.999, 37):
        verdict = verify_chain([1, 2], q, p, [0.0, 0.0], [0.1, 0.1, r])
        assert verdict.accepted == [0, 1]
        assert verdict.token == int(draw(p[2:], torch.tensor([r])))


@pytest.mark.parametrize("zeros", [False, True])
def test_tree_rule_gives_the_verifiers_distribution(zeros):
    """Every draw of every row, weighted with its probability: the walked path is distributed as plain decoding."""
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
    out: dict[tuple[int, ...], float] = {}
    for drawn in itertools.product(range(v), repeat=len(rows)):
        weight = float(np.prod([rows[k, t] for k, t in enumerate(drawn)]))
        if weight == 0:
            continue
        verdict = walk(tree, drawn, [0.0] * len(tree))
        text = (*(tree.tokens[n] for n in verdict.accepted), verdict.token)
        out[text] = out.get(text, 0.0) + weight
    assert abs(sum(out.values()) - 1) < TOLERANCE
    for text, weight in out.items():
        exact = 1.0
        for k in range(len(text)):
            exact *= float(rows[texts[text[:k]], text[k]])
        assert abs(weight - exact) < TOLERANCE, text


def test_draw_gives_each_token_its_probability():
    row = random_rows(1, 6, 9, True)[0]
    assert np.abs(probabilities_of(row) - row.numpy()).max() < TOLERANCE
    assert int(draw(torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([0.0]))) == 1
    assert int(draw(torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([1 - 2**-52], dtype=torch.float64))) == 1


def test_distribution_is_temperature_then_top_k_then_top_p():
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]], dtype=torch.float64)
    p = distribution(logits, Sampling(temperature=0.5, top_k=3, top_p=0.95))[0]
    weights = np.exp(np.array([4.0, 2.0, 0.0]))
    shares = weights / weights.sum()
    # 0.867 + 0.117 = 0.984 reaches 0.95, so the third falls out.
    assert shares[0] < 0.95 < shares[0] + shares[1]
    exact = np.array([*(weights[:2] / weights[:2].sum()), 0, 0])
    assert np.abs(p.numpy() - exact).max() < TOLERANCE


def test_no_temperature_is_too_small_or_too_large():
    logits = torch.tensor([[300.0, 1.0, 300.0 - 1e-3, -400.0]])
    for temperature in (5e-324, 1e-300, 1e-38, 1e-9, 0.3, 100.0):
        p = distribution(logits, Sampling(temperature=temperature))
        assert torch.isfinite(p).all() and abs(float(p.sum()) - 1) < 1e-6
        if temperature < 1e-5:
            assert p[0].tolist() == [1, 0, 0, 0]


def test_equal_rows_are_always_accepted_and_disjoint_ones_never():
    row = random_rows(1, 4, 2, False)
    assert acceptance((1,), row, torch.cat([row, row]), 0) == 1.0
    p, q = torch.tensor([[0.0, 1.0], [0.5, 0.5]]).double(), torch.tensor([[1.0, 0.0]]).double()
    verdict = verify_chain((0,), q, p, [0.0], [0.3, 0.3])
    assert verdict.accepted == [] and verdict.token == 1
