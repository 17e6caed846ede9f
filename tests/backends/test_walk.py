"""Greedy verification inside of the forward: the verdict of the rule in Python, and the rows described on the way."""

from __future__ import annotations

import random

import pytest
import torch
from models import VOCAB, ids, native, random_tree

from hsd_viz.backends import default_build
from hsd_viz.decoding.details import describe
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
        logits = session.forward(text[-pending:] + tree.tokens, n + 1, shifted)
        expected = walk(tree, logits.argmax(-1).tolist(), None)
        assert session.walk() == expected
        walked += len(expected.accepted)
    assert walked > 40


def test_rows_described_on_the_way_are_those_described_when_asked_for():
    model = native("llama")
    text, parents = ids(9), [-1, -1, 0, 0, 3]
    tokens = likely_draft(model, text, parents, random.Random(3))
    told, asked = model.session(), model.session()
    told.foresee(5)
    for session in (told, asked):
        session.forward(text[:-1], 1)
    for _ in range(2):
        seen = []
        for session in (told, asked):
            logits = session.forward([text[-1], *tokens], 6, [-1, *(1 + parent for parent in parents)])
            verdict = session.walk()
            rows = [0, *(node + 1 for node in verdict.accepted)]
            drawn = logits.argmax(-1)[rows].tolist()
            seen.append(list(describe(logits, rows, drawn, session)))
            # Fewer rows, as when an end token comes first; and rows that nobody walked.
            assert list(describe(logits, rows[:1], drawn[:1], session)) == seen[-1][:12]
            assert list(describe(logits, [4], [7], session)) == pytest.approx(describe(logits, [4], [7]), rel=1e-4)
            session.truncate(8)
        assert seen[0] == seen[1] and len(seen[0]) == 12 * len(rows)


def test_rows_that_somebody_holds_are_not_written_over():
    """Whoever keeps logits, or a view of them, has them for good; rows that nobody keeps are written over."""
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
