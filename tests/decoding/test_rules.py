"""The rules of sampling and verification, on the host and on a device: the same tokens, against plain references."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.backends import device
from hsd_viz.backends.device import TorchBackend
from hsd_viz.backends.host import HostBackend
from hsd_viz.decoding import sampling as reference
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import verify_block, walk
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.records import RULES

HOST, DEVICE = HostBackend(), TorchBackend(torch.device("cpu"))
SAMPLINGS = [
    Sampling(1.0),
    Sampling(0.7),
    Sampling(1.3, top_k=9),
    Sampling(1.0, top_p=0.8),
    Sampling(0.5, top_k=20, top_p=0.9),
]


@st.composite
def trees(draw_from) -> DraftTree:
    """Any tree of up to nine nodes over four tokens, siblings in any order among the nodes."""
    tree = DraftTree()
    taken: set[tuple[int, int]] = set()
    for _ in range(draw_from(st.integers(0, 9))):
        parent = draw_from(st.integers(-1, len(tree) - 1))
        token = draw_from(st.integers(0, 3))
        if (parent, token) not in taken:
            taken.add((parent, token))
            tree.add(token, parent, "context")
    return tree


@settings(deadline=None)
@given(trees(), st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_a_walk_is_what_following_children_gives(tree, drawn):
    verdict = walk(tree, drawn, None)
    place, accepted, examined, looked = -1, [], 0, {}
    while True:
        children = [node for node, parent in enumerate(tree.parents) if parent == place]
        examined += bool(children)
        looked |= {node: float(tree.tokens[node] == drawn[place + 1]) for node in children}
        following = [node for node in children if looked[node]]
        if not following:
            break
        place = following[0]
        accepted.append(place)
    assert (verdict.accepted, verdict.row, verdict.token, verdict.examined) == (
        accepted,
        place + 1,
        drawn[place + 1],
        examined,
    )
    assert verdict.p == [looked.get(node) for node in range(len(tree))]


@settings(deadline=None)
@given(trees(), st.integers(0, 99))
def test_a_tree_is_walked_alike_on_host_and_device(tree, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(len(tree) + 1, 4)) * 2
    numbers = rng.random(len(tree) + 1).tolist()
    sampling = Sampling(1.0)
    logits = torch.from_numpy(scores)
    ours, rows = HOST.verify_tree(tree, logits, sampling, numbers.__getitem__)
    theirs, their_rows = DEVICE.verify_tree(tree, logits, sampling, numbers.__getitem__)
    p = device.distribution(logits, sampling)
    assert (ours.accepted, ours.token, ours.row, ours.examined) == (
        theirs.accepted,
        theirs.token,
        theirs.row,
        theirs.examined,
    )
    assert [v is None for v in ours.p] == [v is None for v in theirs.p]
    assert [v for v in ours.p if v is not None] == pytest.approx([v for v in theirs.p if v is not None])
    # The rows proposed are those of the walked places, in their order.
    walked = [0, *(node + 1 for node in ours.accepted)]
    assert torch.allclose(rows, p[walked]) and torch.allclose(their_rows[: len(walked)], p[walked])


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None)
@given(st.integers(1, 6), st.integers(0, 999))
def test_a_chain_is_judged_alike_on_host_and_device(rule, n, seed):
    rng = np.random.default_rng(seed)
    q = torch.from_numpy(rng.dirichlet(np.full(5, 0.5), size=n).reshape(n, 5))
    p = torch.from_numpy(rng.dirichlet(np.full(5, 0.5), size=n + 1))
    if seed % 3 == 0:
        p[:n] = q
    tokens, u, r = rng.integers(0, 5, size=n).tolist(), rng.random(n).tolist(), rng.random(n + 1).tolist()
    ours, theirs = HOST.verify_chain(tokens, q, p, u, r, rule), DEVICE.verify_chain(tokens, q, p, u, r, rule)
    assert (ours.accepted, ours.token, ours.row, ours.examined) == (
        theirs.accepted,
        theirs.token,
        theirs.row,
        theirs.examined,
    )
    assert (ours.p, ours.q, ours.u, ours.tokens) == (theirs.p, theirs.q, theirs.u, theirs.tokens)
    assert (ours.residual is None) == (theirs.residual is None)
    if ours.residual is not None:
        assert torch.allclose(ours.residual, theirs.residual)
    assert (ours.h is None) == (theirs.h is None) == (rule == "token")
    if rule == "block":
        assert [v is None for v in ours.h] == [v is None for v in theirs.h] == [v is None for v in ours.u]
        assert [v for v in ours.h if v is not None] == pytest.approx([v for v in theirs.h if v is not None])


def test_block_verification_of_a_chain_by_hand():
    """p = (.3, .7) and q = (.6, .4) at both places: w_1 = .5, h_1 = s / (s + 1 - w_1), s = (.5 .3 - .6)+ + (.5 .7 - .4)+."""
    p, q = np.array([[0.3, 0.7]] * 3), np.array([[0.6, 0.4]] * 2)
    verdict = verify_block([0, 1], q, p, [0.0, 0.9], [0.5] * 3)
    # w_2 = min(1, .5 * .7 / .4) = .875 is the chance of the whole draft; nothing is left at place 1, so h_1 = 0.
    assert verdict.accepted == [] and verdict.h == pytest.approx([0.0, 0.875]) and verdict.u == [0.0, 0.9]
    assert verdict.examined == 1 and verdict.p == [0.3, 0.7] and verdict.residual == pytest.approx([0, 0.3])
    verdict = verify_block([0, 1], q, p, [0.99, 0.8], [0.5] * 3)
    assert verdict.accepted == [0, 1] and verdict.u == [None, 0.8] and verdict.residual is None
    # Ratios above 1 are not carried over: w_1 = 1, so that h_2 = w_2 = .5.
    verdict = verify_block([1, 0], q, p, [0.99, 0.4], [0.5] * 3)
    assert verdict.accepted == [0, 1] and verdict.h[1] == pytest.approx(0.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("vocabulary", [5, 64, 1000])
def test_rows_are_alike_on_host_and_device(vocabulary, sampling, dtype):
    torch.manual_seed(vocabulary)
    logits = (torch.randn(4, vocabulary) * 3).to(dtype)
    logits[1, :2] = -torch.inf
    ours, theirs = HOST.rows(logits, sampling), DEVICE.rows(logits, sampling)
    assert ours.dtype == theirs.dtype and torch.equal(ours == 0, theirs == 0)
    assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-9)
    assert torch.allclose(ours.sum(-1), torch.ones(4, dtype=ours.dtype), atol=1e-5)


@pytest.mark.parametrize("vocabulary", [1, 6, 64, 65, 1000, 4096])
def test_draws_are_alike_on_host_and_device(vocabulary):
    rng = np.random.default_rng(vocabulary)
    p = torch.from_numpy(rng.random((200, vocabulary)) * (rng.random((200, vocabulary)) < 0.5))
    p[:, -1] += 1e-3
    r = torch.from_numpy(np.concatenate([rng.random(198), [0.0, 1 - 2**-52]]))
    theirs = device.draw(p, r)
    ours = torch.tensor([reference.draw(row, number) for row, number in zip(p.numpy(), r.tolist(), strict=True)])
    # Sums in another order differ in their last bits: a token differs where r lies that near a border, if anywhere.
    assert (ours == theirs).float().mean() > 0.99
    assert (p[torch.arange(200), ours] > 0).all()


def test_a_draw_at_a_strides_rounded_end_can_be_drawn():
    """The sum of a stride and the sums within it may round apart; whatever r is, a token without probability is never drawn."""
    rng = np.random.default_rng(0)
    apart = 0
    for _ in range(300):
        p = rng.random(192)
        p[60:64] = p[120:130] = p[190:] = 0
        edges = np.add.reduceat(p, [0, 64, 128]).cumsum()
        apart += edges[1] - edges[0] != p[64:128].cumsum()[-1]
        for border in edges[:2] / edges[-1]:
            for r in (np.nextafter(border, 0), border, np.nextafter(border, 1)):
                assert p[reference.draw(p, float(r))] > 0
    assert apart > 20, "nothing rounded apart: the test saw no such case"
