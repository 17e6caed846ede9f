"""Greedy verification inside of the forward: the verdict of the rule in Python, and the rows described on the way."""

from __future__ import annotations

import random

import pytest
import torch
from models import VOCAB, ids, native, random_tree

from hsd_viz.backends import default_build
from hsd_viz.backends.host import HostBackend
from hsd_viz.backends.native.backend import NativeBackend
from hsd_viz.decoding.verify import walk
from hsd_viz.drafting.tree import DraftTree

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


def tree_of(tokens: list[int], parents: list[int]) -> DraftTree:
    tree = DraftTree()
    for token, parent in zip(tokens, parents, strict=True):
        tree.add(token, parent, "context")
    return tree


def likely_draft(model, text: list[int], parents: list[int], rng: random.Random) -> list[int]:
    """Tokens for the nodes of a tree: of each place's children one, sometimes, is what greedy decoding would say there."""
    said, tokens, right = {-1: text}, [], set()
    for node, parent in enumerate(parents):
        token = rng.randrange(VOCAB)
        if parent not in right and parent in said and rng.random() < 0.85:
            token = int(model.session().forward(said[parent], 1).argmax())
            right.add(parent)
            said[node] = [*said[parent], token]
        tokens.append(token)
    return tokens


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_verdict_is_that_of_the_rule(dtype):
    """Chains and trees, with and without tokens to catch up on; some drafts are walked far, some nowhere."""
    model, rng, walked = native("llama", dtype), random.Random(0), 0
    for seed in range(40):
        n = rng.choice([0, 1, 2, 5, 9])
        chain = rng.random() < 0.4
        parents = list(range(-1, n - 1)) if chain else random_tree(n, seed)
        text, pending = ids(12, seed), rng.choice([1, 2, 5])
        tree = tree_of(likely_draft(model, text, parents, rng), parents)
        session = model.session()
        session.forward(text[:-pending], 1)
        shifted = None if chain else [*range(-1, pending - 1), *(pending + parent for parent in parents)]
        found = session.forward_greedy(text[-pending:] + tree.tokens, n + 1, shifted)
        expected = walk(tree, found.logits.argmax(-1).tolist(), None)
        assert found.verdict == expected and found.details is None
        walked += len(expected.accepted)
    assert walked > 40


def test_rows_described_in_the_forward_pass_are_those_described_afterwards():
    model, most = native("llama"), 5
    text, parents = ids(9), [-1, -1, 0, 0, 3]
    tokens = likely_draft(model, text, parents, random.Random(3))
    session, backend = model.session(), NativeBackend(default_build().library)
    session.forward(text[:-1], 1)
    for _ in range(2):
        found = session.forward_greedy([text[-1], *tokens], 6, [-1, *(1 + parent for parent in parents)], most)
        rows = [0, *(node + 1 for node in found.verdict.accepted)]
        drawn = found.logits.argmax(-1)[rows].tolist()
        assert list(found.details) == list(backend.describe(found.logits, rows, drawn))
        assert len(found.details) == 12 * len(rows)
        # Rows that were not walked, against the reference.
        described = list(backend.describe(found.logits, [4], [7]))
        assert described == pytest.approx(HostBackend().describe(found.logits, [4], [7]), rel=1e-4)
        session.truncate(8)


def test_a_larger_draft_with_details_after_a_small_one_without():
    """Buffers grow as needed, whichever kind of forward pass comes first."""
    model = native("llama")
    session, other = model.session(), model.session()
    session.forward([1, 2], 1)
    other.forward([1, 2], 1)
    tree = tree_of(ids(700), list(range(-1, 699)))
    found = session.forward_greedy([3, *tree.tokens], 701, None, 5)
    assert torch.equal(found.logits, other.forward([3, *tree.tokens], 701))
    assert found.verdict == walk(tree, found.logits.argmax(-1).tolist(), None) and len(found.details) >= 12


def test_rows_in_use_are_not_overwritten():
    """Logits that are referenced, or a view of them, stay; others are overwritten."""
    model = native("llama")
    session, text = model.session(), ids(40)
    held = [session.forward([token], 1) for token in text[:10]]
    views = [session.forward(text[k : k + 3], 3)[1:2] for k in range(10, 40, 3)]
    drawn = session.forward([1], 1)[0].numpy()
    copies = [row.clone() for row in [*held, *views, torch.from_numpy(drawn.copy())]]
    for _ in range(10):
        session.forward([2, 3, 4], 3)
    assert all(
        torch.equal(row, copy) for row, copy in zip([*held, *views, torch.from_numpy(drawn)], copies, strict=True)
    )
    places = {session.forward([5], 1).data_ptr() for _ in range(20)}
    assert len(places) <= 3
