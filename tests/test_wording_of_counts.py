"""Wordings that several packages share."""

from __future__ import annotations

import pytest

from hsd_viz.text import counted


def test_one_of_a_thing_and_several():
    assert [counted(n, "thread") for n in (0, 1, 2)] == ["0 threads", "1 thread", "2 threads"]


@pytest.mark.parametrize(
    ("n", "noun", "words"),
    [(1, "forward pass", "1 forward pass"), (2, "forward pass", "2 forward passes")],
)
def test_a_noun_that_ends_in_s(n, noun, words):
    assert counted(n, noun) == words
