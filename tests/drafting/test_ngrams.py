"""Compare the n-gram caches of llama.cpp with results computed by hand and by scanning."""

from __future__ import annotations

import pytest

from hsd_viz.drafting.baselines.ngrams import DynamicCache
from tests.drafting.corpora import Exact, make
from tests.rows import column


def fed(text, *, statistics=None, state=None, eos=None):
    cache = make("ngram-cache", statistics=statistics, state=state, eos=eos)
    cache.start(text)
    return cache


@pytest.mark.parametrize(
    ("text", "tail", "token", "length"),
    [
        # One token: two samples and 66 % (two of three are 66.7).
        ([1, 5], [9, 9, 9, 1], None, None),
        ([1, 5, 1, 5], [9, 9, 9, 1], 5, 1),
        ([1, 5, 1, 5, 1, 6], [9, 9, 9, 1], 5, 1),
        ([1, 5, 1, 5, 1, 6, 1, 6], [9, 9, 9, 1], None, None),
        # Two tokens: two samples and half of them.
        ([2, 1, 5], [9, 9, 2, 1], None, None),
        ([2, 1, 5, 2, 1, 6], [9, 9, 2, 1], 5, 2),
        ([2, 1, 5, 2, 1, 6, 2, 1, 7], [9, 9, 2, 1], None, None),
        # Three or four: one sample.
        ([3, 2, 1, 5], [9, 3, 2, 1], 5, 3),
        ([4, 3, 2, 1, 5], [4, 3, 2, 1], 5, 4),
        # The longest that passes: of the four-token key's three followers none has half.
        (
            [4, 3, 2, 1, 5, 4, 3, 2, 1, 6, 4, 3, 2, 1, 7, 8, 3, 2, 1, 7, 8, 3, 2, 1, 7],
            [4, 3, 2, 1],
            7,
            3,
        ),
    ],
)
def test_context_thresholds(text, tail, token, length):
    tree = fed(text).draft(tail, 1)
    assert (tree.tokens or [None]) == [token]
    assert (column(tree.origins, "key_length") or [None]) == [length]
    if token is None:
        assert tree.why_empty == "not worth it"


def test_dynamic_thresholds_are_strict_and_the_context_goes_first():
    def warm(runs, text, tail):
        dynamic = DynamicCache()
        for run in runs:
            fed(run, state=dynamic)
        return fed(text, state=dynamic).draft(tail, 1)

    four = [4, 3, 2, 1, 5]
    assert warm([four], [], four[:4]).why_empty == "not worth it", "two samples are needed"
    assert warm([four, four], [], four[:4]).tokens == [5]
    assert warm([four, four], [4, 3, 2, 1, 6], four[:4]).tokens == [6], "this text's own goes first"
    one = [1, 5]
    assert warm([one] * 3, [], [9, 9, 9, 1]).why_empty == "not worth it", "four samples"
    assert warm([one] * 4, [], [9, 9, 9, 1]).tokens == [5]
    assert warm([one] * 3 + [[1, 6]], [], [9, 9, 9, 1]).tokens == [5], "three of four are 75 %"
    assert warm([one] * 5 + [[1, 6]] * 2, [], [9, 9, 9, 1]).why_empty == "not worth it"
    assert warm([], [], [9, 1]).why_empty == "no match"


def test_the_static_cache_confirms_and_comes_last():
    static = Exact([[2, 1, 6], [2, 1, 6], [2, 1, 8]])
    # 5 was seen twice and 6 once: what the static cache knows counts a hundredfold, yet the share
    # is that of 6 alone.
    text = [2, 1, 5, 2, 1, 6]
    assert fed(text).draft([9, 9, 2, 1], 1).tokens == [5]
    assert fed(text, statistics=static).draft([9, 9, 2, 1], 1).tokens == [6]
    assert fed([2, 1, 5, 2, 1, 5, 2, 1, 6], statistics=static).draft([9, 9, 2, 1], 1).tokens == [
        6
    ], "two of three"
    tree = fed([], statistics=static).draft([2, 1], 4)
    assert tree.tokens == [6]
    assert column(tree.origins, "key_length") == [2]
    assert column(tree.origins, "count") == [2]
    assert fed([], statistics=Exact([[2, 1, 6]])).draft([2, 1], 4).why_empty == "not worth it", (
        "two samples"
    )
    assert fed([], statistics=static).draft([1], 4).why_empty == "no match", "one token is no pair"


def test_a_chain_goes_on_through_its_own_tokens():
    text = [1, 2, 3, 4, 5, 6, 7]
    tree = fed(text).draft([9, 1, 2, 3], 16)
    assert tree.tokens == [4, 5, 6, 7]
    assert tree.parents == [-1, 0, 1, 2]
    assert column(tree.origins, "key_length") == [3, 4, 4, 4]
    assert fed(text).draft([9, 1, 2, 3], 2).tokens == [4, 5]
    assert fed(list(range(40))).draft([0, 1, 2], 99).tokens == list(range(3, 19)), "sixteen at most"
    assert fed(text, eos=5).draft([9, 1, 2, 3], 16).tokens == [4, 5]
    assert fed(text).draft(text, 0).why_empty == "no room"
