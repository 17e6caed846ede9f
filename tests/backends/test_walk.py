"""Verification and decoding inside of the native call: the verdicts of the rule in Python, rows described on the way."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import torch
from models import VOCAB, ids, native, random_tree

from hsd_viz.backends import default_build
from hsd_viz.backends.host import HostBackend, NativeBackend
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import walk
from hsd_viz.drafting.tree import DraftTree

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


GREEDY = Sampling()


def tree_of(tokens: list[int], parents: list[int]) -> DraftTree:
    tree = DraftTree()
    for token, parent in zip(tokens, parents, strict=True):
        tree.add(token, parent, "context")
    return tree


def likely_draft(
    model, text: list[int], parents: list[int], rng: random.Random, own=lambda row, depth: int(row.argmax())
) -> list[int]:
    """Tokens for the nodes of a tree: of each place's children one, sometimes, is the model's ``own`` there."""
    said, tokens, right = {-1: text}, [], set()
    for node, parent in enumerate(parents):
        token = rng.randrange(VOCAB)
        if parent not in right and parent in said and rng.random() < 0.85:
            token = own(model.session().forward(said[parent], 1), len(said[parent]) - len(text))
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
        found = session.forward_verified(text[-pending:] + tree.tokens, n + 1, shifted, GREEDY, [])
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
        found = session.forward_verified(
            [text[-1], *tokens], 6, [-1, *(1 + parent for parent in parents)], GREEDY, [], most
        )
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
    found = session.forward_verified([3, *tree.tokens], 701, None, GREEDY, [], 5)
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sampling", [Sampling(0.7), Sampling(1.3, top_k=9), Sampling(1e-6), Sampling(100.0)], ids=str)
def test_a_sampled_walk_is_that_of_the_reference(dtype, sampling):
    """The same tokens; probabilities and what a correction was drawn from agree up to rounding."""
    model, rng, host, corrections, walked = native("llama", dtype), random.Random(1), HostBackend(), 0, 0
    for seed in range(30):
        n = rng.choice([0, 1, 3, 9])
        parents = random_tree(n, seed)
        text, numbers = ids(12, seed), [rng.random() for _ in range(n + 1)]
        own = lambda row, depth, numbers=numbers: host.draw(row, sampling, numbers[depth])[0]
        tree = tree_of(likely_draft(model, text, parents, rng, own), parents)
        session = model.session()
        session.forward(text[:-1], 1)
        shifted = [-1, *(1 + parent for parent in parents)]
        found = session.forward_verified([text[-1], *tree.tokens], n + 1, shifted, sampling, numbers, 5)
        expected, rows = host.verify_tree(tree, found.logits, sampling, numbers.__getitem__)
        verdict = found.verdict
        assert (verdict.accepted, verdict.token, verdict.row) == (expected.accepted, expected.token, expected.row)
        known = [[-1 if value is None else value for value in p] for p in (verdict.p, expected.p)]
        assert verdict.examined == expected.examined and known[0] == pytest.approx(known[1], rel=1e-5, abs=1e-9)
        assert len(found.details) == 12 * (len(verdict.accepted) + 1)
        walked += len(verdict.accepted)
        if verdict.examined > len(verdict.accepted):
            rest = rows[-1].clone()
            rest[[t for t, p in zip(tree.tokens, parents, strict=True) if p == verdict.row - 1]] = 0
            top, total = host.likeliest(rest)
            assert found.left[0] == pytest.approx(total, rel=1e-5)
            assert found.left[2::2][: len(top)] == pytest.approx([p for _, p in top], rel=1e-5)
            corrections += 1
    assert corrections > 3 and walked > 15


def test_a_token_that_rounding_could_decide_is_left_open():
    model, text, sampling = native("llama"), ids(9), Sampling(1.0)
    session = model.session()
    p = HostBackend().rows(session.forward(text, 1), sampling)[0].double()
    edge = float(p[: int(p.argmax())].sum() / p.sum())
    for chance, is_open in [(edge, True), (edge + 1e-8, True), (edge + float(p.max()) / 2, False)]:
        session.truncate(8)
        assert (session.forward_verified(text[-1:], 1, None, sampling, [chance]).verdict is None) == is_open
        session.truncate(8)
        run = session.decode(text[-1:], 2, sampling, [chance, edge], frozenset())
        assert len(run.tokens) == len(run.times) - 1 and bool(run.tokens) != is_open
        assert session.length == 8 + len(run.tokens)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7, seed=4), Sampling(1.0, top_k=5)], ids=str)
def test_plain_rounds_in_one_call_are_those_of_single_calls(sampling):
    """Tokens, rounds, calls and details are the same; a decode can be cancelled between any two tokens."""
    model, text = native("llama"), ids(20)
    eos = frozenset({decoded(model, text, sampling, frozenset(), False)[0][40]})
    for ends in (frozenset(), eos):
        one, several = (decoded(model, text, sampling, ends, in_one_call) for in_one_call in (False, True))
        assert one[0] == several[0] and one[1:3] == several[1:3]
        assert several[3] == pytest.approx(one[3], rel=1e-12) and several[4] < one[4] == len(one[0])
    loop = loop_of(model, text, sampling, frozenset())
    for _ in loop.prefill():
        pass
    rounds = loop.rounds()
    assert [next(rounds).tokens for _ in range(9)] == [[token] for token in loop.text[20:]]


def loop_of(model, text: list[int], sampling: Sampling, eos: frozenset[int]) -> Loop:
    levels, backend = [Level("target", model.session())], NativeBackend(default_build().library)
    loop = Loop(levels, None, sampling, text, backend=backend, max_new_tokens=60, eos=eos)
    loop.details = 5
    return loop


def decoded(model, text: list[int], sampling: Sampling, eos: frozenset[int], in_one_call: bool) -> tuple:
    """Tokens, rounds and calls without their times, details, and the number of calls of the model."""
    loop, details, calls = loop_of(model, text, sampling, eos), [], 0
    loop.in_one_call = loop.in_one_call and in_one_call
    session = loop.levels[-1].model
    for name in ("decode", "forward_verified"):
        inner = getattr(session, name)

        def counted(*args, inner=inner):
            nonlocal calls
            calls += 1
            return inner(*args)

        setattr(session, name, counted)
    list(loop.prefill())
    for verified in loop.rounds():
        details += verified.forward.details
        assert loop.text[-1] == verified.tokens[0] and verified.outcome == "plain"
    _, rounds, made = loop.log.take()
    spans = [(call.start_ns, call.duration_ns) for call in made]
    assert all(a + d <= b for (a, d), (b, _) in pairwise(spans))
    still = [row._replace(start_ns=0, duration_ns=0) for row in rounds]
    return loop.text[20:], still, [row._replace(start_ns=0, duration_ns=0) for row in made], details, calls
