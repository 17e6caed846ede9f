"""The picture of block verification shows what the rule does."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest

from tools.docs import block_picture


def test_the_committed_picture_is_drawn_from_the_rule():
    """Drawn with ``python -m tools.docs.block_picture``."""
    assert block_picture.FILE.read_text(encoding="utf-8") == block_picture.picture()


def test_w_and_h_are_those_of_three_lines():
    ratios = [0.5, 2, 0.5]
    w = list(accumulate(ratios, lambda before, ratio: min(1, before * ratio), initial=1))[1:]
    assert block_picture.weights() == w

    for place, carried in enumerate(w[:-1]):
        p = block_picture.VERIFIER[place + 1]
        q = block_picture.DRAFT[place + 1]
        s = sum(max(0, carried * a - b) for a, b in zip(p, q, strict=True))
        assert block_picture.thresholds()[place] == pytest.approx(s / (s + 1 - carried))
    assert block_picture.thresholds()[-1] == w[-1]


def test_the_last_u_below_h_ends_what_is_accepted():
    below = [u < h for u, h in zip(block_picture.UNIFORM, block_picture.thresholds(), strict=True)]
    accepted = 3 - below[::-1].index(True)

    assert block_picture.verdict().accepted == accepted == 2
    assert re.findall("accepted|rejected", block_picture.picture())[1:] == ["accepted"] * 2 + [
        "rejected"
    ]


def test_it_has_colours_for_dark_pages():
    assert "prefers-color-scheme: dark" in block_picture.picture()
