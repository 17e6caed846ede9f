"""Point-mass drafts accepted on the device: the walk of the reference, its keys in place, its probabilities."""

from __future__ import annotations

import random

import pytest
import torch
from models import random_tree
from tape import TapeCapturer
from test_graphs import eager

from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.backends.cuda_graphs.accept import accepted_of, chances_by_row, compact
from hsd_viz.backends.cuda_graphs.buffers import Layout, StaticCache
from hsd_viz.backends.cuda_graphs.forward import Feed, width_of
from hsd_viz.backends.device import TorchBackend
from hsd_viz.decoding.backend import Notes
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import walk
from hsd_viz.drafting.tree import DraftTree

CPU = torch.device("cpu")


def drafted(seed: int, vocabulary: int = 5) -> tuple[list[int], list[int], DraftTree]:
    """Pending tokens, parents of all that is fed, and the draft: siblings differ."""
    rng, tree = random.Random(seed), DraftTree()
    pending = [rng.randrange(vocabulary) for _ in range(rng.choice([1, 1, 2, 4]))]
    for parent in random_tree(rng.choice([0, 1, 4, 9]), seed):
        taken = {t for t, p in zip(tree.tokens, tree.parents, strict=True) if p == parent}
        if free := [t for t in range(vocabulary) if t not in taken]:
            tree.add(rng.choice(free), parent if parent < len(tree) else -1, "context")
    return pending, [*range(-1, len(pending) - 1), *(len(pending) + p for p in tree.parents)], tree


def test_the_accepted_tokens_are_those_of_the_walk():
    index, found = torch.arange(512), 0
    for seed in range(400):
        pending, parents, tree = drafted(seed)
        n, rng, cached = len(parents), random.Random(seed + 1), 7
        feed = Feed(width_of(n), CPU)
        feed.fill(pending + tree.tokens, None, cached, parents, len(tree) + 1)
        own = torch.tensor([rng.randrange(5) for _ in range(feed.width)])
        verdict = walk(tree, own[len(pending) - 1 : n].tolist(), None)
        expected = [*range(len(pending)), *(len(pending) + node for node in verdict.accepted)]
        accepted = accepted_of(own, feed, index)
        assert accepted.nonzero()[:, 0].tolist() == expected
        cache = StaticCache(Layout(((2, 3, 3),), torch.float32), 64, CPU)
        cache.blocks[0].copy_(torch.arange(64.0)[None, None, :, None].expand_as(cache.blocks[0]))
        compact(cache, feed, accepted)
        places = cache.blocks[0][0, 0, :, 0].tolist()
        assert places[cached : cached + len(expected)] == [cached + k for k in expected]
        assert places[:cached] == [*range(cached)] and places[cached + feed.width :] == [
            *range(cached + feed.width, 64)
        ]
        found += len(verdict.accepted)
    assert found > 60


def test_the_numbers_by_row_are_those_by_depth():
    parents = [-1, 0, 1, 1, 2, 4]
    assert chances_by_row([0.1, 0.2, 0.3, 0.4], 5, 6, parents, 8) == [0, 0.1, 0.2, 0.2, 0.3, 0.4, 0, 0]
    assert chances_by_row([0.1, 0.2], 2, 3, None, 4) == [0, 0.1, 0.2, 0]


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), Sampling(0.7, top_k=9)], ids=str)
def test_a_verdict_is_that_of_the_backend(sampling):
    """Over rolled-back texts; notes, and the rows that follow, are the same."""
    model, backend, walked = GraphModel(eager("llama"), capturer=TapeCapturer()), TorchBackend(CPU), 0
    ours, theirs, probe = (model.session() for _ in range(3))
    rng, own = random.Random(4), 0
    for session in (ours, theirs, probe):
        session.forward([1, 2, 3], 1)
    for seed in range(12):
        pending, parents, tree = drafted(seed, 4)
        base, numbers = ours.length + len(pending), [rng.random() for _ in range(12)]
        probe.truncate(ours.length)
        for depth, fed in enumerate((pending, None)):  # the first drafted tokens are the model's own
            row = probe.forward(fed or [own], 1)
            own, _ = backend.draw(row, sampling, numbers[depth])
            if depth >= len(tree) or tree.parents[depth] != depth - 1:
                break
            same = [k for k, parent in enumerate(tree.parents) if parent == depth - 1 and tree.tokens[k] == own]
            for k in same:
                tree.tokens[k] = tree.tokens[depth]
            tree.tokens[depth] = own
        rows, chain = len(tree) + 1, tree.is_chain
        lines = None if chain else parents
        depth = rows if chain else max(tree.depths()) + 1
        notes = [Notes(True, 8, 1.0) for _ in range(2)]
        chances = [] if sampling.greedy else numbers[:depth]
        fed = pending + tree.tokens
        found = ours.forward_verified(fed, rows, lines, sampling, chances, 5, None, False, None, notes[0])
        logits = theirs.forward(fed, rows, lines)
        expected, _ = backend.verify_tree(tree, logits, sampling, numbers.__getitem__, None, False, notes[1])
        verdict = found.verdict
        assert (verdict.accepted, verdict.token, verdict.examined) == (
            expected.accepted,
            expected.token,
            expected.examined,
        )
        assert [-1 if p is None else p for p in verdict.p] == pytest.approx(
            [-1 if p is None else p for p in expected.p]
        )
        assert notes[0].described == [pytest.approx(row, rel=1e-4, abs=1e-5) for row in notes[1].described]
        assert notes[0].likeliest[0] == notes[1].likeliest[0]
        if not sampling.greedy and len(tree):
            assert [row[0] for row in notes[0].left] == pytest.approx([row[0] for row in notes[1].left])
        probe.truncate(base)
        if len(verdict.accepted):
            probe.forward([tree.tokens[node] for node in verdict.accepted], 1)
        for session in (ours, theirs):
            if chain:
                session.truncate(base + len(verdict.accepted))
            else:
                session.keep(base, [base + node for node in verdict.accepted])
        walked += len(verdict.accepted)
        after = [session.forward([5], 1) for session in (ours, theirs, probe)]
        assert torch.allclose(after[0], after[1], atol=1e-4) and torch.allclose(after[0], after[2], atol=1e-4)
    assert walked > 4
