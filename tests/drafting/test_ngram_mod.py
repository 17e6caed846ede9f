"""llama.cpp's ngram-mod against a brute-force table, and its resets."""

from __future__ import annotations

import random

from hsd_viz.drafting.baselines import ngrams
from hsd_viz.drafting.baselines.ngrams import HashTable, NgramMod


def slot(tokens: list[int]) -> int:
    """The hash as the program writes it: in 64 bits, then modulo the size."""
    place = 0
    for token in tokens:
        place = (place * ngrams.FACTOR + token) % 2**64
    return place % ngrams.SLOTS


def test_drafts_are_those_of_a_table_of_all_ngrams():
    rng = random.Random(0)
    for n in (2, 3, 5):
        text = [rng.randrange(3) for _ in range(200)]
        drafter = NgramMod(match=n, least=1)
        drafter.start(text)
        table = {slot(text[k : k + n]): text[k + n] for k in range(len(text) - n)}
        expected, tail = [], text[-n:]
        while len(expected) < 20 and (token := table.get(slot(tail))) is not None:
            expected.append(token)
            tail = [*tail[1:], token]
        assert expected and drafter.draft(text, 20).tokens == expected


def test_text_is_added_in_strides_and_short_drafts_are_dropped():
    phrase = list(range(10, 40))
    drafter = NgramMod(match=4, least=8)
    drafter.start(phrase)
    assert drafter.draft([*phrase, *phrase[:4]], 64).tokens == phrase[4:]
    assert drafter.draft([*phrase, *phrase[-10:-6]], 64).why_empty == "not worth it", "six tokens are too few"
    assert drafter.draft([*phrase, *phrase[-10:-6]], 5).tokens == phrase[-6:-1], "as many as the budget are enough"
    assert drafter.draft([1, 2], 64).why_empty == "no match"
    before = len(drafter.table.slots)
    drafter.extend(range(50, 60))
    assert len(drafter.table.slots) == before, "not yet"
    drafter.extend(range(60, 100))
    assert len(drafter.table.slots) > before


def test_rejected_drafts_clear_the_table_and_an_accepted_one_ends_the_streak():
    phrase = list(range(10, 30))
    for good in (True, False):
        drafter = NgramMod(match=4, least=1)
        drafter.start(phrase)
        for k in range(ngrams.STREAK):
            assert drafter.draft([*phrase, *phrase[:4]], 8).tokens == phrase[4:12]
            drafter.extend(phrase[4:12] if good and k == 2 else [7])
        assert bool(drafter.table.slots) is good
    # The text itself is added again as soon as it is long enough.
    drafter.extend([*phrase, 7])
    assert drafter.draft([*phrase, 7, *phrase[:4]], 8).tokens == phrase[4:12]


def test_the_table_outlives_a_run_and_a_full_one_is_cleared(monkeypatch):
    table, phrase = HashTable(), list(range(10, 40))
    NgramMod(table=table, match=4).start(phrase)
    warm = NgramMod(table=table, match=4, least=1)
    warm.start([1])
    assert warm.draft([1, *phrase[:4]], 3).tokens == phrase[4:7]
    monkeypatch.setattr(ngrams, "FULL", 5)
    warm.start([1])
    assert not table.slots
