"""The prompts of a short run, by hand: from the categories in turn, in the suite's order."""

from __future__ import annotations

import pytest

from hsd_viz.prompts import Prompt, Suite
from tests.rows import column

#: Three prompts of a, one of b.
SUITE = Suite(
    "some",
    {"a": "A.", "b": "B."},
    tuple(Prompt(name, name[0], name) for name in ("a1", "a2", "a3", "b1")),
)


@pytest.mark.parametrize(
    ("limit", "chosen"),
    [
        (1, ["a1"]),
        (2, ["a1", "b1"]),
        # b has no more.
        (3, ["a1", "a2", "b1"]),
        (4, ["a1", "a2", "a3", "b1"]),
        (None, ["a1", "a2", "a3", "b1"]),
    ],
)
def test_prompts_are_taken_from_the_categories_in_turn(limit, chosen):
    assert column(SUITE.limited(limit).prompts, "id") == chosen
