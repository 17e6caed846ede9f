"""Compare Token Recycling and retrieval with results computed by hand, and test the guarantees of
all drafters.
"""

from __future__ import annotations

import time
from collections import Counter
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting import DraftTree, SharedDatabases, make_drafter
from hsd_viz.drafting import make as make_module
from hsd_viz.drafting.baselines.recycling import TEMPLATE, TokenRecycling, unfold
from hsd_viz.drafting.make import Memory
from hsd_viz.drafting.tree import Observer
from hsd_viz.stack import DraftSource
from tests.drafting.corpora import Exact, check, make, paths
from tests.rows import column

# --- the registry ---------------------------------------------------------------------------------


def test_two_threads_see_the_drafters_of_other_packages(monkeypatch):
    """The second thread waits while the first one loads the drafters."""
    registry = make_module._Registry()
    seen: list[bool] = []
    second = Thread(target=lambda: seen.append("mine" in registry.all()))

    class Point:
        name = value = "mine"

        def load(self):
            second.start()
            # Not until something has happened: a thread that does not wait ends at once.
            second.join(0.2)
            registry.add(make_module.Registration("mine", "mine", (), None, None, make_drafter))

    monkeypatch.setattr(make_module, "entry_points", lambda group: [Point()])
    assert "mine" in registry.all()
    second.join(60)
    assert seen == [True]


# --- Token Recycling ------------------------------------------------------------------------------


def test_the_template_is_the_published_one():
    nodes = list(unfold(TEMPLATE))
    ranks = []
    for parent, rank in nodes:
        ranks.append((*ranks[parent], rank) if parent >= 0 else (rank,))
    assert Counter(map(len, ranks)) == {1: 8, 2: 21, 3: 25, 4: 15, 5: 8, 6: 3}
    assert len(set(ranks)) == TokenRecycling.nodes == 80
    assert ranks == sorted(ranks, key=lambda path: (len(path), path)), "breadth first"
    for node in "07 13 22 31 40 50 60 70 007 012 021 070 101 110 200 500 000100".split():
        assert tuple(map(int, node)) in ranks
    for node in ("14", "23", "32", "41", "013", "022", "120", "600"):
        assert tuple(map(int, node)) not in ranks


def test_rows_are_overwritten_rejected_nodes_too():
    drafter = make("recycling")
    assert isinstance(drafter, Observer)
    drafter.start([1, 2])
    assert drafter.draft([1, 2], 80).why_empty == "no match", "cold, and the prompt teaches nothing"
    drafter.observe([1, 2], DraftTree(), [[5, 6]])
    tree = drafter.draft([1, 2], 80)
    assert paths(tree) == [(5,), (6,)]
    assert column(tree.origins, "key_length") == [1, 1]
    assert tree.parents == [-1, -1]
    # 5 was accepted and 6 refused; both are known now. 2 stands in the tree again below 6: the
    # later place counts.
    deeper = tree.add(2, 1, "recycling")
    drafter.observe([1, 2], tree, [[6, 5], [2, 7], [2, 5], [7, 8]])
    assert drafter.successors == {2: (7, 8), 5: (2, 7), 6: (2, 5)}
    assert deeper == 2
    assert paths(drafter.draft([9, 5], 80))[:4] == [(2,), (7,), (2, 7), (2, 8)]
    assert drafter.draft([9, 5], 3).tokens == [2, 7, 7]
    assert drafter.draft([9, 5], 0).why_empty == "no room"


def test_a_full_matrix_fills_the_template_and_the_kth_child_is_the_kth_successor():
    successors = {}
    for token in range(97):
        successors[token] = tuple((token * 7 + k) % 97 for k in range(8))
    tree = make("recycling", state=successors).draft([3], 99)
    assert len(tree) == 80
    for token, parent, (above, rank) in zip(
        tree.tokens, tree.parents, unfold(TEMPLATE), strict=True
    ):
        assert parent == above
        assert token == successors[3 if parent < 0 else tree.tokens[parent]][rank]
    ended = make("recycling", state=successors, eos=21).draft([3], 99)
    assert [ended.tokens[p] for p in ended.parents if p >= 0].count(21) == 0
    assert 21 in ended.tokens


# --- retrieval ------------------------------------------------------------------------------------


def rest(texts, text, longest, shortest, depth):
    """Return the suffix length and the prefix counts as the paper defines them: all prefixes of the
    continuations of all matches.
    """
    for n in range(min(longest, len(text)), shortest - 1, -1):
        key = text[len(text) - n :]
        counts = Counter()
        for known in texts:
            for i in range(len(known) - n + 1):
                if known[i : i + n] == key:
                    after = tuple(known[i + n : i + n + depth])
                    counts.update(after[:k] for k in range(1, len(after) + 1))
        if counts:
            return n, counts
    return None, Counter()


# Tokens of one text never repeat, so that a path is never longer than what the corpus holds.
corpora = st.lists(st.lists(st.integers(0, 7), unique=True, max_size=8), max_size=8)


@settings(deadline=None, max_examples=200)
@given(corpora, st.lists(st.integers(0, 7), max_size=5), st.integers(1, 30), st.integers(1, 6))
def test_the_most_frequent_prefixes_after_the_longest_suffix(texts, text, budget, depth):
    drafter = make("retrieval", statistics=Exact(texts))
    drafter.depth = depth
    length, counts = rest(texts, text, 16, 2, depth)
    tree = drafter.draft(text, budget)
    # Beyond its longest match a database may go on with what a shorter suffix says: only full keys
    # are compared.
    exact = {
        path: c
        for path, c in zip(paths(tree), column(tree.origins, "count"), strict=True)
        if path in counts
    }
    assert exact == {path: counts[path] for path in exact}
    assert set(column(tree.origins, "key_length")) <= {length}
    assert column(tree.origins, "count") == sorted(column(tree.origins, "count"), reverse=True)
    if length is None:
        assert tree.why_empty == "no match"
    elif len(tree) == budget:
        # Nothing more frequent was left out.
        for path in counts:
            if path not in set(paths(tree)):
                assert counts[path] <= tree.origins[-1].count
    else:
        assert set(counts) <= set(paths(tree))


def test_retrieval_by_hand():
    corpus = Exact([[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 6], [8, 2, 9], [8, 2, 9]])
    tree = make("retrieval", statistics=corpus).draft([1, 2], 64)
    assert paths(tree) == [(3,), (6,), (3, 4), (3, 5)]
    assert column(tree.origins, "count") == [2, 1, 1, 1]
    assert column(tree.origins, "key_length") == [2] * 4
    assert column(tree.origins, "score") == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1 / 3])
    assert make("retrieval", statistics=corpus).draft([7, 2], 64).why_empty == "no match", (
        "one token is no key"
    )
    shorter = make("retrieval", statistics=corpus)
    fewer = make("retrieval", statistics=corpus)
    shorter.shortest = 1
    fewer.nodes = 2
    assert shorter.draft([7, 2], 2).tokens == [3, 9]
    assert fewer.draft([1, 2], 64).tokens == [3, 6]
    assert paths(make("retrieval", statistics=corpus, eos=3).draft([1, 2], 64)) == [(3,), (6,)]


# --- all of them ----------------------------------------------------------------------------------

BOTTOMS = [
    DraftSource("hd"),
    DraftSource("lookup"),
    DraftSource("lookup", ("original",)),
    DraftSource("sam"),
    DraftSource("suffix"),
    DraftSource("recycling"),
    DraftSource("retrieval"),
    DraftSource("ngram-cache"),
]
CORPUS_TEXTS = [np.arange(start, start + 40, 3) % 7 for start in range(5)]
CORPUS = Exact([text.tolist() for text in CORPUS_TEXTS], longest=6)
SHARED = SharedDatabases({"statistics": CORPUS})


def top_of(text, tree, size=8):
    """Return eight different tokens for each row, from the sum of its path."""
    rows = []
    for path in [(), *paths(tree)]:
        first = sum(path) + len(text)
        rows.append([(first + 3 * k) % 11 for k in range(size)])
    return rows


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(BOTTOMS),
    st.lists(st.integers(0, 7), max_size=60),
    st.integers(0, 60),
    st.lists(st.integers(0, 7), max_size=3),
    st.integers(0, 60),
)
def test_every_tree_is_well_formed(bottom, text, prompted, ahead, budget):
    drafter = make_drafter(bottom, databases=SHARED, memory=Memory(), eos=0)
    drafter.start(text[:prompted])
    done = text[:prompted]
    for token in text[prompted:]:
        if done:
            tree = drafter.draft(done, budget)
            check(tree, done, budget, {0})
            if isinstance(drafter, Observer):
                drafter.observe(done, tree, top_of(done, tree))
        drafter.extend([token])
        done.append(token)
    whole = text + ahead
    if whole:
        tree = drafter.draft(whole, budget)
        check(tree, whole, budget, {0})
        assert drafter.draft(whole, budget) == tree, "a draft leaves no trace"
        assert len(tree) <= drafter.nodes


@pytest.mark.parametrize("bottom", BOTTOMS, ids=str)
@pytest.mark.parametrize(
    "text",
    [
        [],
        [199_999],
        [7] * 1500,
        [1, 2] * 700,
        [(k * k * 7919) % 200_000 for k in range(800)],
        [0xD800, 0xDFFF] * 20,
    ],
    ids=[
        "empty",
        "a high id",
        "one token over and over",
        "two in turn",
        "wide",
        "halves of characters",
    ],
)
def test_no_text_hangs_or_breaks(bottom, text):
    begin = time.process_time()
    drafter = make_drafter(bottom, databases=SHARED, memory=Memory())
    drafter.start(text[: len(text) // 2])
    drafter.extend(text[len(text) // 2 :])
    for token in (text[:1] or [3]) * 3:
        tree = drafter.draft([*text, token], 80)
        check(tree, [*text, token], 80, set())
        if isinstance(drafter, Observer):
            drafter.observe([*text, token], tree, top_of(text, tree))
        drafter.extend([token])
        text = [*text, token]
    assert time.process_time() - begin < 20


def test_state_is_kept_only_in_the_memory_of_the_run():
    """The state of a run is stored only in the memory that the run was given."""
    text = [3, 1, 4, 1, 5, 9, 2, 6, 5, 7] * 2
    for name, learned in (
        ("suffix", True),
        ("ngram-cache", True),
        ("recycling", True),
        ("sam", False),
        ("hd", False),
        ("lookup", False),
    ):
        memory = Memory()
        drafts = []
        for state in (memory, memory, Memory(), None):
            drafter = make_drafter(DraftSource(name), memory=state)
            drafter.start([8])
            drafts.append(drafter.draft([8, 3, 1, 4], 8).tokens)
            for k, token in enumerate(text):
                if isinstance(drafter, Observer):
                    drafter.observe([8, *text[:k]], DraftTree(), [text[k : k + 1]])
                drafter.extend([token])
        cold, warm, fresh, none = drafts
        assert cold == fresh == none == []
        assert bool(warm) == learned


def test_an_unknown_drafter_or_an_absent_database_is_refused():
    with pytest.raises(ValueError, match="'retrieval' cannot be used: no statistics database"):
        make_drafter(DraftSource("retrieval"))
    with pytest.raises(ValueError, match="unknown drafter 'what': expected db, hd, lookup"):
        make_drafter(DraftSource("what"))
    assert make_drafter(DraftSource("ngram-cache")).static is None
