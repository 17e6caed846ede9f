import itertools
from functools import partial
from itertools import chain, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.hd import StoredDrafts
from hsd_viz.drafting.index.build import build_fivegrams
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.shared import vocabulary_hash
from hsd_viz.stack import DraftSource, parse
from tests.drafting.corpora import Exact, paths
from tests.rows import column


def chains(tree):
    """Return the drafts of a tree, which are the paths to its leaves, in the order of their last
    nodes.
    """
    inner = set(tree.parents)
    return [path for node, path in enumerate(paths(tree)) if node not in inner]


def heads(tree):
    """Return the first tokens of the drafts of a tree."""
    return [chain[0] for chain in chains(tree)]


def at_tokens(tree, values, *tokens):
    """Return the values of a tree at the nodes of the given tokens."""
    return [values[tree.tokens.index(token)] for token in tokens]


def gram(i):
    return [1, 10 + i, 20 + i, 30 + i, 40 + i]


def tail(i):
    return tuple(gram(i)[1:])


class Ranked:
    """A file of 5-grams: by the first token, the other four tokens, most frequent first."""

    def __init__(self, grams):
        self.grams = grams
        self.asked = []

    def lookup(self, key, longest=None):
        self.asked.append(key)
        continuations = self.grams.get(ord(key[0]), [])
        rank = ord(key[1])
        if rank >= len(continuations):
            return None
        count = 9 - rank
        return 2, count, [(token, count, None) for token in continuations[rank]]


def drafter(sources=("context",), **shared):
    return make_drafter(DraftSource("hd", tuple(sources)), databases=SharedDatabases(shared))


# --- the context database -------------------------------------------------------------------------


def test_tokens_that_were_not_emitted_are_not_copied():
    hd = drafter()
    hd.start([1, 2, 3, 4, 5])
    for _ in range(2):
        assert chains(hd.draft([1, 2, 3, 4, 5, 9, 9, 9, 9, 1], 28)) == [(2, 3, 4, 5)]
    assert hd.draft([1, 2, 3, 4, 5, 9], 28).why_empty == "no match"


def test_a_full_bucket_drops_its_oldest_five_gram():
    hd = drafter()
    text = [*chain(*map(gram, range(8))), 1]
    hd.start(text)
    assert heads(hd.draft(text, 28)) == [17, 16, 15, 14, 13, 12, 11]


def test_a_draft_names_the_place_in_the_text_that_it_was_copied_from():
    hd = drafter()
    text = [*gram(0), *gram(1), 1]
    hd.start(text)
    # The newest first: gram 1 is the text from place 5 on, gram 0 from place 0, each without its
    # key.
    assert column(hd.draft(text, 28).origins, "position") == [6, 7, 8, 9, 1, 2, 3, 4]


# --- the order of access --------------------------------------------------------------------------


def test_after_seven_drafts_no_database_is_asked():
    model = Ranked({1: [(5, 5, 5, 5)]})
    statistics = Exact([[1, 6, 6, 6, 6]])
    hd = drafter(("context", "model", "statistics"), fivegrams=model, statistics=statistics)
    text = [*chain(*map(gram, range(7))), 1]
    hd.start(text)
    assert len(chains(hd.draft(text, 28))) == 7
    assert not model.asked
    assert not statistics.asked


def test_each_database_adds_to_the_draft_of_the_one_before():
    model = Ranked({1: [(50 + i, 5, 5, 5) for i in range(4)]})
    statistics = Exact([[8, 1, 60, 6, 6, 6], [8, 1, 61, 6, 6, 6]])
    hd = drafter(("context", "model", "statistics"), fivegrams=model, statistics=statistics)
    text = [*gram(0), *gram(1), 8, 1]
    hd.start(text)
    tree = hd.draft(text, 28)
    assert heads(tree) == [11, 10, 50, 51, 52, 53, 60], "two, four, and room for one"
    assert at_tokens(tree, column(tree.origins, "source"), 11, 53, 60) == [
        "context",
        "model",
        "statistics",
    ]
    assert tree.origins[tree.tokens.index(60)].key_length == 2
    turned = drafter(("statistics", "model"), fivegrams=model, statistics=statistics)
    turned.start(text)
    assert heads(turned.draft(text, 28)) == [60, 61, 50, 51, 52, 53]


def test_statistics_asks_two_tokens_then_one():
    corpus = Exact([[7, 1, 2, 3], [7, 1, 2, 4, 5, 6, 7], [8, 1, 9, 9, 9, 9, 9]])
    hd = drafter(("statistics",), statistics=corpus)
    tree = hd.draft([7, 1], 28)
    # Longest first, cut to four; the two-token key's rows before the one-token key's.
    assert chains(tree) == [(2, 4, 5, 6), (2, 3), (9, 9, 9, 9)]
    assert at_tokens(tree, column(tree.origins, "key_length"), 4, 3, 9) == [2, 2, 1]
    assert chains(drafter(("statistics",), statistics=corpus).draft([1], 28))[0] == (9, 9, 9, 9), (
        "no pair"
    )


def test_the_longest_path_decides_even_beyond_four_tokens():
    # Both rows show four tokens; the rarer one goes on for longer.
    corpus = Exact([[1, 2, 4, 5, 6, 7, 8], [1, 3, 14, 15, 16], [1, 3, 14, 15, 16]])
    tree = drafter(("statistics",), statistics=corpus).draft([1], 28)
    assert heads(tree) == [2, 3]


def test_the_budget_cuts_the_last_draft():
    hd = drafter()
    text = [*gram(0), *gram(1), 1]
    hd.start(text)
    assert chains(hd.draft(text, 6)) == [tail(1), tail(0)[:2]]
    assert hd.draft(text, 0).why_empty == "no room"


def test_nothing_after_the_end_of_text():
    hd = make_drafter(DraftSource("hd", ("context",)), eos=0)
    hd.start([1, 2, 0, 3, 4, 1])
    assert hd.draft([1], 28).tokens == [2, 0]


tokens = st.integers(0, 3)
fours = st.tuples(tokens, tokens, tokens, tokens)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(tokens, max_size=60),
    st.integers(0, 60),
    st.lists(fours, unique=True, max_size=7),
    st.permutations(["context", "model"]),
)
def test_the_tree_is_the_published_chains_merged(text, given_first, stored, order):
    """Compare the tree with the published rule, written with lists: buckets, order and seven
    positions.
    """
    hd = drafter(order, fivegrams=Ranked(dict.fromkeys(range(4), stored)))
    hd.start(text[:given_first])
    for token in text[given_first:]:
        hd.extend([token])
    buckets = {0: [], 1: [], 2: [], 3: []}
    for i in range(len(text) - 4):
        bucket = buckets[text[i]]
        four = tuple(text[i + 1 : i + 5])
        if four in bucket:
            bucket.remove(four)
        bucket.append(four)
        del bucket[:-7]
    if not text:
        return
    wanted = []
    for source in order:
        for four in buckets[text[-1]][::-1] if source == "context" else stored:
            if four not in wanted and len(wanted) < 7:
                wanted.append(four)
    tree = hd.draft(text, 28)
    assert sorted(chains(tree)) == sorted(wanted)
    beginnings = {chain_[:k] for chain_, k in product(wanted, range(1, 5))}
    assert len(tree) == len(beginnings), "no beginning twice"
    assert list(dict.fromkeys(p for p in paths(tree) if len(p) == 4)) == wanted


# --- the file of 5-grams --------------------------------------------------------------------------


@pytest.fixture
def fivegrams(tmp_path):
    outputs = [
        [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5],
        [1, 2, 3, 4, 6],
        [9, 1, 2, 3, 4, 6],
        *([1, 7, 7, 7, k] for k in range(8)),
    ]
    vocabulary = {f"t{i}": i for i in range(10)}
    build = partial(
        build_fivegrams, vocabulary_size=10, vocabulary_hash=vocabulary_hash(vocabulary)
    )
    build(outputs, tmp_path / "fivegrams.hsdb")
    return tmp_path, vocabulary, outputs, build


def test_fivegrams_count_once_per_output(fivegrams):
    folder, vocabulary, outputs, build = fivegrams
    shared = SharedDatabases.open(folder, vocabulary)
    rows = StoredDrafts(shared.present).model(chr(1))
    # 1 2 3 4 6 is in two outputs; 1 2 3 4 5 three times, but in one output, like the rest: these go
    # by their tokens.
    assert [(tuple(map(ord, row.tokens)), row.count) for row in rows] == [
        ((2, 3, 4, 6), 2),
        ((2, 3, 4, 5), 1),
        *(((7, 7, 7, k), 1) for k in range(5)),
    ]
    assert [tuple(map(ord, row.tokens)) for row in StoredDrafts(shared.present).model(chr(9))] == [
        (1, 2, 3, 4)
    ]
    assert StoredDrafts(shared.present).model(chr(7)) == []
    build(outputs, folder / "few.hsdb", most=3)
    assert sum(Index(folder / "few.hsdb").header["keys_by_length"].values()) == 3
    build([[1, 2]], folder / "none.hsdb")
    assert StoredDrafts({"fivegrams": Index(folder / "none.hsdb")}).model(chr(1)) == []


def test_made_from_the_stack(fivegrams):
    folder, vocabulary, *_ = fivegrams
    shared = SharedDatabases.open(folder, vocabulary)
    hd = make_drafter(parse("hd > target").bottom, databases=shared)
    assert hd.sources == ("context", "model")
    assert make_drafter(parse("hd[model,context] > target").bottom, databases=shared).sources == (
        "model",
        "context",
    )
    assert make_drafter(parse("hd > target").bottom).sources == ("context",)
    with pytest.raises(
        ValueError, match=r"'hd\[statistics\]' cannot be used: no statistics database"
    ):
        make_drafter(parse("hd[statistics] > target").bottom, databases=shared)
    with pytest.raises(ValueError, match="cannot be used: no fivegrams database"):
        make_drafter(
            parse("hd[model] > target").bottom, databases=SharedDatabases({"model": object()})
        )
    hd.start([1])
    assert [c[:3] for c in itertools.islice(chains(hd.draft([1], 28)), 2)] == [(2, 3, 4), (2, 3, 4)]
