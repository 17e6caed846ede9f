from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting.baselines.sam import SAMDecoding

texts = st.lists(st.integers(0, 3), max_size=40)


def ends_of(text, part):
    """The places at which ``part`` ends in ``text``."""
    return [i + len(part) - 1 for i in range(len(text) - len(part) + 1) if text[i : i + len(part)] == part]


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
