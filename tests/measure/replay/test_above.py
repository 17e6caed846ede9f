"""A database above the drafter of a record, by hand, and on requests that this project decoded."""

from __future__ import annotations

import json

import pytest

from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.errors import Unsupported
from hsd_viz.measure.replay.above import Above, RecordedRounds, above
from hsd_viz.measure.replay.api import replay
from hsd_viz.measure.replay.text_replay import Text
from hsd_viz.records.sample import RecordedVerification

#: One token of the prefill, then rounds of 4, 2 and 1 tokens.
OUTPUT = (9, 1, 2, 3, 4, 5, 6, 7)
ROUNDS = (RecordedVerification(3, 3), RecordedVerification(3, 1), RecordedVerification(3, 0))


class Listed(Drafter):
    """A drafter of given drafts by the length of the output, each token with a score."""

    name = "db"
    nodes = 8

    def __init__(self, score: float = 0.9, **drafts: list[int]) -> None:
        self.score = score
        self.drafts = {int(name[1:]): tokens for name, tokens in drafts.items()}
        self.learned: list[int] = []

    def start(self, prompt):
        self.learned = [*prompt]

    def extend(self, tokens):
        self.learned += tokens

    def draft(self, text, budget):
        assert list(text) == self.learned
        tree = DraftTree(why_empty="no match")
        for k, token in enumerate(self.drafts.get(len(text), [])):
            tree.add(token, k - 1, "context", score=self.score)
        return tree


def what_if(drafter) -> Above:
    return above(drafter, Text("", (), OUTPUT), ROUNDS, 8)


def test_without_drafts_the_rounds_are_the_recorded_ones():
    assert what_if(Listed()) == Above(tokens=7, recorded=3, fewest=3, most=3, by_database=0)


def test_inside_a_recorded_round_its_drafter_is_accepted_for_the_rest_or_as_a_whole():
    """The database brings 1, 2 and its own 3; the recorded draft at 4 brings 4 alone, or 4
    tokens.
    """
    assert what_if(Listed(n1=[1, 2])) == Above(7, recorded=3, fewest=2, most=4, by_database=1)


def test_up_to_the_end_of_a_round_the_count_is_exact():
    """5, 6 and 7 in one round, where the record needed two."""
    assert what_if(Listed(n5=[5, 6])) == Above(7, recorded=3, fewest=2, most=2, by_database=1)


def test_a_database_drafts_where_it_expects_more_than_the_recorded_drafter():
    """The record accepted 4 tokens in 3 rounds: 1.33 a round; two tokens of 0.6 are fewer."""
    assert what_if(Listed(0.6, n5=[5, 6])).by_database == 0
    assert what_if(Listed(0.7, n5=[5, 6])).by_database == 1


def test_a_wrong_draft_costs_a_round_with_one_token():
    assert what_if(Listed(n5=[8, 8])).most == 4


@pytest.mark.parametrize(("output", "starts"), [(7, (0, 4, 6)), (8, (1, 5, 7)), (7, (0, 4, 6))])
def test_where_rounds_begin(output, starts):
    assert RecordedRounds.of(ROUNDS, output).starts == starts


def test_a_last_round_may_be_cut():
    assert RecordedRounds.of((*ROUNDS, RecordedVerification(3, 3)), 9).end == 9


@pytest.mark.parametrize("output", [6, 10, 90])
def test_rounds_of_another_output_are_refused(output):
    with pytest.raises(Unsupported, match=f"emitted 7 tokens and its output has {output}"):
        RecordedRounds.of(ROUNDS, output)


def request(output: list[int], rounds: list[tuple[int, int]] | None) -> dict:
    meta = {"prompt_tokens": 2, "completion_tokens": len(output), "spec_verify_ct": 3}
    meta["finish_reason"] = {"type": "length"}
    if rounds is None:
        meta |= {"spec_accept_token_num": 4, "spec_draft_token_num": 9}
    else:
        meta["speculative_decoding_stats"] = {
            "verify_lengths": [1 + drafted for drafted, _ in rounds],
            "accept_lengths": [1 + accepted for _, accepted in rounds],
        }
    response = {"text": "", "output_ids": output, "meta_info": meta}
    return {"request": {"input_ids": [5, 6]}, "response": response}


def test_a_log_with_recorded_rounds_has_the_table(tmp_path):
    repeating = [1, 2, 3, 4, 5, 6, 7, 8] * 20
    rounds = [(3, 1)] * 80
    log = tmp_path / "served.jsonl"
    log.write_text("".join(json.dumps(request(repeating, rounds)) + "\n" for _ in range(3)))
    report = replay(log, drafters=["lookup"])
    assert report.above.requests == 3
    assert report.above.tokens.recorded.value == 2.0
    assert report.above.tokens.least.value > 2.5
    assert report.above.tokens.most.value >= report.above.tokens.least.value
    assert any("What if a database were asked before" in line for line in report.lines())
    assert "What if: a database above the recorded drafter" in report.to_text()


def test_a_log_of_counts_alone_says_what_is_missing(tmp_path):
    log = tmp_path / "served.jsonl"
    log.write_text(json.dumps(request([1, 2, 3, 4, 5, 6, 7], None)) + "\n")
    report = replay(log, drafters=["lookup"])
    assert "does not report each verification" in "\n".join(report.lines())
    assert report.above.requests == 0
    assert "What if:" not in report.to_text()
