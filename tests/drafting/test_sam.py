from collections import Counter

from corpora import paths
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting.baselines.sam import SAMDecoding, StaticAutomaton, SuffixAutomaton

texts = st.lists(st.integers(0, 3), max_size=40)


def ends_of(text, part):
    """The places at which ``part`` ends in ``text``."""
    return [i + len(part) - 1 for i in range(len(text) - len(part) + 1) if text[i : i + len(part)] == part]


# --- the automaton ----------------------------------------------------------------------------------------------------


@given(texts)
def test_the_automaton_knows_every_substring_and_nothing_else(text):
    automaton = SuffixAutomaton()
    for token in text:
        automaton.append(token)
    whole = SuffixAutomaton(text)
    for name in ("length", "link", "follow", "first", "last"):
        assert getattr(automaton, name) == getattr(whole, name)
    assert len(automaton.length) <= max(2, 2 * len(text))
    counts = automaton.occurrences()
    seen = {}
    for i in range(len(text)):
        state = 0
        for j in range(i, len(text)):
            state = automaton.follow[state][text[j]]
            seen[tuple(text[i : j + 1])] = state
    for part, state in seen.items():
        ends = ends_of(text, list(part))
        assert automaton.first[state] == ends[0] and counts[state] == len(ends)
        assert automaton.length[automaton.link[state]] < len(part) <= automaton.length[state]
    # No walk spells what the text does not hold.
    assert sum(automaton.length[s] - automaton.length[automaton.link[s]] for s in range(1, len(counts))) == len(seen)


@given(texts, texts)
def test_stepping_keeps_the_longest_suffix(text, walk):
    automaton, at = SuffixAutomaton(text), (0, 0)
    for k, token in enumerate(walk):
        at = automaton.step(*at, token)
        tail = walk[: k + 1]
        assert at[1] == max(n for n in range(len(tail) + 1) if n == 0 or ends_of(text, tail[len(tail) - n :]))


# --- from the text ----------------------------------------------------------------------------------------------------


def reference(text, ahead, most, alpha, budget):
    """(draft, key length, place): every suffix of text and ahead that goes on in the text, longest first."""
    whole, choice = text + ahead, None
    before = None
    for m in range(len(whole), 0, -1):
        ends = ends_of(text, whole[len(whole) - m :])
        if not ends or ends[0] == len(text) - 1 or ends == before:
            continue
        # Suffixes that end at the same places are one: the longest of them is tried.
        before = ends
        wanted = min(most, 1 + alpha * m, budget)
        choice = text[ends[0] + 1 : ends[0] + 1 + wanted], m, ends[0] + 1
        if len(choice[0]) == wanted:
            break
    return choice or ([], None, None)


@settings(deadline=None, max_examples=300)
@given(texts, st.lists(st.integers(0, 3), max_size=3), st.integers(1, 12), st.integers(1, 3), st.integers(1, 20))
def test_the_rule(text, ahead, most, alpha, budget):
    drafter = SAMDecoding()
    drafter.nodes, drafter.alpha = most, alpha
    drafter.start(text[: len(text) // 2])
    for token in text[len(text) // 2 :]:
        drafter.extend([token])
    copied, length, place = reference(text, ahead, most, alpha, budget)
    for _ in range(2):
        tree = drafter.draft(text + ahead, budget)
        assert tree.tokens == copied
        assert tree.parents == list(range(-1, len(copied) - 1))
        assert tree.key_lengths == [length] * len(copied)
        assert tree.positions == [place + i for i in range(len(copied))] if copied else not tree.positions
        assert (tree.why_empty is None) == bool(copied)


def test_by_hand():
    # "1 2" stood there twice: the earliest place is copied, 1 + 4 * 2 tokens of it.
    text = [1, 2, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 1, 2, 40, 1, 2]
    drafter = SAMDecoding()
    drafter.start(text)
    tree = drafter.draft(text, 99)
    assert tree.tokens == list(range(30, 39)) and tree.key_lengths[0] == 2
    # After "1 1 1" the match of two tokens has one token to offer, that of one token two.
    drafter.start([1, 1, 1])
    tree = drafter.draft([1, 1, 1], 99)
    assert tree.tokens == [1, 1] and tree.key_lengths == [1, 1] and tree.positions == [1, 2]
    long = list(range(100, 200))
    drafter.start(long * 2)
    assert len(drafter.draft(long * 2, 99)) == 60
    ended = SAMDecoding(eos=0)
    ended.start([5, 6, 0, 7, 5])
    assert ended.draft([5, 6, 0, 7, 5], 9).tokens == [6, 0]
    assert ended.draft([5], 0).why_empty == "no room"


# --- from other texts -------------------------------------------------------------------------------------------------


def test_the_static_match_must_be_longer_by_more_than_the_bias():
    key = list(range(10, 16))
    static = StaticAutomaton([[*key, 1, 2, 3]])
    for n, source in ((6, "dynamic"), (7, "static")):
        # The text ends in n tokens that the static text knows, and repeats the last of them only.
        known = [9, *key][-n:]
        static = StaticAutomaton([[*known, 1, 2, 3]])
        text = [known[-1], 77, *known]
        drafter = SAMDecoding(static=static)
        drafter.start(text[:3])
        drafter.extend(text[3:])
        tree = drafter.draft(text, 9)
        assert tree.tokens[0] == {"dynamic": 77, "static": 1}[source], "one token of its own, a bias of five"
        assert tree.key_lengths[0] == {"dynamic": 1, "static": n}[source]


class Unbiased(SAMDecoding):
    bias = 0


def test_a_static_draft_is_a_tree_by_counts():
    one, other = [1, 2, 3, 4, 5], [1, 2, 3, 6, 7]
    drafter = Unbiased(static=StaticAutomaton([one, other, one, [9, *one]]))
    drafter.start([1, 2, 3])
    tree = drafter.draft([1, 2, 3], 9)
    assert paths(tree) == [(4,), (4, 5), (6,), (6, 7)] and tree.counts == [3, 3, 1, 1]
    assert tree.scores == [0.75, 0.75, 0.25, 0.25] and tree.positions == [None] * 4
    assert drafter.draft([1, 2, 3], 3).tokens == [4, 5, 6]
    assert drafter.draft([1, 2, 3, 6], 3).tokens == [7], "tokens ahead count"
    wide = Unbiased(static=StaticAutomaton([[1, 2, k, 50 + k] for k in range(10, 30)]))
    wide.start([1, 2])
    tree = wide.draft([1, 2], 99)
    # Nine tokens are wanted after a match of two; eight of them fit on the first depth, the lower tokens first.
    assert Counter(tree.depths()) == {1: 8, 2: 1} and tree.tokens == [*range(10, 18), 60]


def test_static_texts_do_not_run_into_each_other():
    drafter = Unbiased(static=StaticAutomaton([[1, 2], [3, 4]]))
    drafter.start([1, 2])
    assert drafter.draft([1, 2], 9).why_empty == "no match"
