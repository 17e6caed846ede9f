"""The map of temporal locality: repeats and copies of the text."""

from __future__ import annotations

import pytest
from make_trace import make_trace

import hsd_viz as hsd
from hsd_viz import views
from hsd_viz.trace import Trace
from hsd_viz.views.locality_map import copied_from, longest_repeats


def slow_repeats(ids: list[int]) -> list[tuple[int, int]]:
    """The definition, word for word."""
    found = []
    for i in range(len(ids)):
        best = (-1, 0)
        for j in range(i):
            n = 0
            while n <= j and n < 32 and ids[j - n] == ids[i - n]:
                n += 1
            if n >= max(1, best[1]):
                best = (j, n)
        found.append(best)
    return found


@pytest.mark.parametrize("ids", [[], [5], [1, 2, 1, 2, 3, 1, 2, 3, 9], [4] * 50, [0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0]])
def test_repeats_are_the_longest_and_latest(ids):
    assert longest_repeats(ids) == slow_repeats(ids)


def test_what_was_copied_is_the_token_that_stands_there():
    trace = hsd.load_bundled("databases")
    text = trace.meta["prompt_ids"] + trace.token_ids
    places = copied_from(trace)
    context = [t.index for t in trace.token_rows if t.kind == "accepted" and t.source == "context"]
    assert [k for k, place in enumerate(places) if place >= 0] == context
    assert all(text[places[k]] == trace.token_rows[k].token_id for k in context)
    assert all(places[k] < len(trace.meta["prompt_ids"]) + k for k in context)


def test_a_map_follows_the_text_through_a_stack():
    # In the made trace the context's token climbed a level: the target's round has its place.
    shown = views.LocalityMap(make_trace())
    assert shown.spec["copied"] == [-1, -1, 1, -1, -1]
    assert shown.spec["sources"][2:] == ["context", "target", "target"]
    assert shown.spec["prompt"] == 2
    with pytest.raises(ValueError, match="no emitted tokens"):
        views.LocalityMap(Trace({"prompt_ids": []}))
    with pytest.raises(ValueError, match="whole number from 1"):
        views.LocalityMap(make_trace(), least=0)
