"""Copying from the last tokens of a recorded text."""

from __future__ import annotations

import pytest

import hsd_viz as hsd
from hsd_viz.drafting import make_drafter
from hsd_viz.engine.recordings import ANSWERS
from hsd_viz.measure.replay.recent_copies import copied_within
from hsd_viz.measure.replay.text_replay import Text, replay_text
from hsd_viz.stack import parse


@pytest.fixture(scope="module")
def summary():
    return hsd.load_bundled("summary", ANSWERS)


def test_a_memory_of_the_whole_text_is_the_context_database(summary):
    drafter = make_drafter(parse("db[context] > target").bottom, costs=None)
    text = Text("", tuple(summary.meta["prompt_ids"]), tuple(summary.token_ids))
    whole = replay_text(drafter, text, 4)

    assert copied_within(summary, len(text.prompt) + len(text.output)) == pytest.approx(
        whole.tokens / whole.rounds
    )


def test_a_memory_of_one_token_copies_nothing(summary):
    assert copied_within(summary, 1) == 1.0


def test_a_summary_copies_from_its_prompt_which_is_far_away(summary):
    assert copied_within(summary, 32) < 1.1
    assert copied_within(summary, 256) > 2.5
