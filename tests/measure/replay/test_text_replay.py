"""Rounds counted over a text that is there must be the rounds of the decode that wrote it."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest

from benchmarks.budgets import run_budgets, write_texts
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.measure.replay.text_replay import Text, can_replay, replay_text
from hsd_viz.prompts.suites import load_suite
from tests.rows import column

BOTTOMS = (
    "db",
    "db[context,model]",
    "hd",
    "lookup",
    "lookup[original]",
    "sam",
    "suffix",
    "retrieval",
    "ngram-cache",
)


@pytest.fixture(scope="module")
def suite():
    return load_suite("python").limited(3)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_replay_counts_what_the_decode_counted(engine, suite, temperature):
    texts = write_texts(engine, suite, temperature, 40)
    run = partial(engine.run, max_new_tokens=40, temperature=temperature, record=False, budget=9)
    for stack, text in product((f"{bottom} > target" for bottom in BOTTOMS), texts):
        drafter, eos = engine.drafter(stack, temperature=temperature)
        counted = replay_text(drafter, text, 9, eos, 40)
        figures = run(list(text.prompt), stack).metrics()
        counts = counted.tokens, counted.rounds, counted.drafted, sum(counted.accepted.values())
        assert counts == tuple(
            figures[k] for k in ("tokens", "target_forwards", "drafted", "accepted")
        ), stack
        for key in counted.accepted:
            assert counted.accepted[key] <= counted.examined[key]


class Fixed(Drafter):
    """Drafts one tree, whatever the text."""

    name = "fixed"
    nodes = 8

    def __init__(self, tree):
        self._tree = tree

    def start(self, prompt):
        self.emitted = []

    def extend(self, tokens):
        self.emitted += tokens

    def draft(self, text, budget):
        return self._tree


def test_branches_limits_and_ends_of_text():
    tree = DraftTree()
    wrong = tree.add(9, -1, "context", 1)
    right = tree.add(5, -1, "model", 2)
    tree.add(6, right, "model", 3)
    tree.add(7, wrong, "context", 1)
    drafter = Fixed(tree)
    one = replay_text(drafter, Text("c", (1,), (5, 6, 8, 5, 6)), 8)
    # 5 6 accepted, 8 the target's own; then 5 accepted (6 would leave no room for a token of its
    # own) and 6.
    assert one.rounds == 2
    assert one.tokens == 5
    assert one.drafted == 6
    assert dict(one.accepted) == {("model", 2): 2, ("model", 3): 1}
    assert dict(one.examined) == {("context", 1): 2, ("model", 2): 2, ("model", 3): 1}
    assert drafter.emitted == [5, 6, 8, 5, 6]
    # The text ended with the accepted 6: no token of the target's own comes after it.
    ended = replay_text(Fixed(tree), Text("c", (1,), (5, 6)), 8, frozenset((6,)), limit=20)
    assert ended.rounds == 1
    assert ended.tokens == 2
    assert sum(ended.accepted.values()) == 2


def test_what_looks_at_the_targets_rows_is_not_replayed(engine):
    for bottom in ("recycling", "db[context,logits]"):
        drafter, _ = engine.drafter(f"{bottom} > target")
        assert not can_replay(drafter)
        with pytest.raises(ValueError, match="cannot be replayed"):
            replay_text(drafter, Text("c", (1,), (2, 3)), 4)
    with pytest.raises(ValueError, match="no drafter"):
        engine.drafter("nano:4 > target")


def test_rows_have_states_and_add_up(engine, suite):
    texts = write_texts(engine, suite, 0.0, 24)
    rows = run_budgets(
        engine, texts, ("db", "recycling", "db[context,logits]"), (4,), temperature=0.0, tokens=24
    )
    both = list(product(("recycling", "db[context,logits]"), ("cold", "warm")))
    assert [(r["drafter"], r["state"]) for r in rows] == [("db", "cold"), *both]
    tokens = sum(len(t.output) for t in texts)
    for row in rows:
        assert row["tokens"] == tokens == sum(column(row["by_category"].values(), "tokens"))
        assert row["mean_acceptance_length"] == row["tokens"] / row["target_forwards"]
    assert rows[0]["by_source"]
    for r in rows[0]["by_source"]:
        assert r["accepted"] <= r["examined"]


def test_an_accepted_end_token_ends_its_round():
    """No token of the target follows it: where a log goes on, that is another round."""

    done = replay_text(
        Fixed(DraftTree.chain([9], "db")), Text("", (1,), (9, 5, 6)), 4, frozenset({9}), 3
    )
    assert done.rounds == 3
    assert done.tokens == 3
    assert done.accepted.total() == 1
