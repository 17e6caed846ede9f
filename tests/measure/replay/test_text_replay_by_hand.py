"""The counts of a replayed text, by hand."""

from __future__ import annotations

from collections import Counter

from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.measure.replay.text_replay import Text, replay_text


class Scripted(Drafter):
    """A drafter that proposes these trees in turn, then nothing."""

    name = "db"
    nodes = 16

    def __init__(self, *trees: DraftTree) -> None:
        self.trees = list(trees)
        self.written: list[list[int]] = []

    def start(self, prompt) -> None:
        pass

    def extend(self, tokens) -> None:
        self.written.append(list(tokens))

    def draft(self, text, budget) -> DraftTree:
        return self.trees.pop(0) if self.trees else DraftTree()


def branching() -> DraftTree:
    """2 then 3 from the context, and 9 then 8 from the model, all with keys of one token."""
    tree = DraftTree()
    for token, parent, source in [
        (2, -1, "context"),
        (9, -1, "model"),
        (3, 0, "context"),
        (8, 1, "model"),
    ]:
        tree.add(token, parent, source, 1)
    return tree


def test_a_round_counts_what_it_examined_and_accepted():
    drafter = Scripted(branching())
    counts = replay_text(drafter, Text("a", (1,), (2, 3, 4, 5, 6)), budget=16)
    # 2 and 3 are accepted, 4 is the target's; then 5 and 6 without a draft.
    assert counts.tokens == 5
    assert counts.rounds == 3
    assert counts.drafted == 4
    assert drafter.written == [[2, 3, 4], [5], [6]]
    # 8 follows a token that was rejected: it is not examined.
    assert counts.examined == Counter({("context", 1): 2, ("model", 1): 1})
    assert counts.accepted == Counter({("context", 1): 2})
    # (tokens, nodes, depth, accepted)
    assert counts.shapes == Counter({(3, 4, 2, 2): 1, (1, 0, 0, 0): 2})


def test_a_draft_leaves_room_for_the_targets_own_token():
    chain = DraftTree.chain([2, 3, 4, 5, 6], "context", 1)
    counts = replay_text(Scripted(chain), Text("a", (1,), (2, 3, 4, 5)), budget=16)
    assert counts.drafted == 3
    assert counts.rounds == 1
    assert counts.tokens == 4
