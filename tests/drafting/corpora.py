"""Provide drafters by name, and an exact database that scans its texts, for comparison."""

from __future__ import annotations

from collections import Counter

from hsd_viz.drafting import DraftTree, Memory, SharedDatabases, make_drafter
from hsd_viz.stack import DraftSource, parse
from hsd_viz.trace.tables import TABLES
from tests.rows import column


def bottom(text):
    return parse(f"{text} > target").bottom


def make(name, *items, statistics=None, state=None, eos=None):
    """Return a drafter for one run, with a statistics database and the state of earlier runs."""
    shared = SharedDatabases({} if statistics is None else {"statistics": statistics})
    memory = Memory({} if state is None else {name: state})
    return make_drafter(DraftSource(name, items), databases=shared, memory=memory, eos=eos)


class Exact:
    """A database that scans ``texts`` for the longest suffix of a context. Equal counts are ordered
    by token.
    """

    def __init__(self, texts, longest=99):
        self.texts = ["".join(map(chr, text)) for text in texts]
        self.longest = longest
        self.asked = []

    def lookup(self, tail, longest=None):
        self.asked.append(tail)
        most = self.longest if longest is None else min(longest, self.longest)
        for n in range(min(most, len(tail)), 0, -1):
            key = tail[len(tail) - n :]
            after = Counter()
            for text in self.texts:
                for i in range(len(text) - n):
                    if text[i : i + n] == key:
                        after[text[i + n]] += 1
            if after:
                ranked = sorted(after.items(), key=lambda item: (-item[1], item[0]))
                return n, sum(after.values()), [(ord(c), count, None) for c, count in ranked]
        return None


def paths(tree):
    """Return the tokens from the text to each node."""
    out = []
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        out.append((*out[parent], token) if parent >= 0 else (token,))
    return out


def check(tree, text, budget, eos):
    """Check the guarantees of every draft."""
    assert isinstance(tree, DraftTree)
    assert len(tree) <= budget
    assert (tree.why_empty is None) == (len(tree) > 0)
    assert tree.why_empty in (None, *TABLES["rounds"].columns["why_no_draft"].names)
    assert len(set(zip(tree.parents, tree.tokens, strict=True))) == len(tree), "equal siblings"
    assert all(-1 <= parent < node for node, parent in enumerate(tree.parents))
    for node, position in enumerate(column(tree.origins, "position")):
        assert position is None or text[position] == tree.tokens[node]
    for parent in tree.parents:
        if parent >= 0:
            assert tree.tokens[parent] not in eos
