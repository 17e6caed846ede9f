from hypothesis import given
from hypothesis import strategies as st

from hsd_viz.drafting.context_database import ContextDatabase
from hsd_viz.drafting.tree import spell

tokens = st.lists(st.integers(0, 3), max_size=60)


def brute(text, tail, most):
    """Return the longest suffix of ``tail``, of at most ``most`` tokens, that a token follows in
    ``text``, with all positions of it.
    """
    for n in range(min(most, len(tail)), 0, -1):
        key = list(tail[len(tail) - n :])
        places = []
        for i in range(len(text) - n):
            if text[i : i + n] == key:
                places.append(i + n)
        if places:
            return n, places
    return None


@given(tokens, st.lists(st.integers(0, 3), max_size=4), st.integers(1, 9), st.integers(1, 4))
def test_lookup_finds_the_longest_suffix(text, ahead, cap, most):

    class Database(ContextDatabase):
        recent = 5

    Database.most = most
    database = Database(longest=8)
    half = len(text) // 2
    database.extend(text[:half])
    database.extend(text[half:])
    tail = tuple((text + ahead)[-8:])
    expected = brute(text, tail, min(cap, 8))
    match = database.lookup(spell(tail), cap)
    if expected is None:
        assert match is None
        return
    n, places = expected
    places = places[-5:]
    followers = [text[p] for p in places]
    key_length, total, continuations = match
    assert key_length == n
    assert total == len(places)
    last_place = {text[place]: place for place in sorted(places)}
    ranked = sorted(
        ((followers.count(t), last_place[t], t) for t in set(followers)),
        reverse=True,
    )
    assert continuations == [(t, c, p) for c, p, t in ranked[:most]]


def test_tokens_not_emitted_yet_are_matched_but_not_copied():
    database = ContextDatabase()
    database.extend([1, 2, 3, 4, 5])
    match = database.lookup(spell((5, 2, 3)))
    assert match == (2, 1, [(4, 1, 3)])
    assert database.lookup(chr(9)) is None
    assert database.lookup(chr(5)) is None, "the last token has nothing after it"


def test_the_four_latest_followers_of_a_key_are_counted():
    context = ContextDatabase()
    context.extend([1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1])
    # Of 2 to 6 the latest four, the latest first, each with its place in the text.
    assert context.lookup(spell([1])) == (1, 4, [(6, 1, 9), (5, 1, 7), (4, 1, 5), (3, 1, 3)])
