"""What a bench takes from a trace, by hand, and how turns and repeats become one output."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hsd_viz.measure.bench.block import RoundPart, RoundProfile
from hsd_viz.measure.bench.figures import round_profile
from hsd_viz.measure.bench.output import Output, from_trace, median_of, round_parts
from hsd_viz.measure.bench.runner import ask
from hsd_viz.prompts.suites import Prompt
from hsd_viz.trace import CallRow
from tests.trace.samples import hierarchy_trace, sample_trace


def test_the_parts_of_a_round_by_hand():
    (parts,) = round_parts(hierarchy_trace())
    # A round of 15 us: passes of m 1 + 3, of the target 2.5, look-ups 0.1 + 0.2 and an update of
    # 0.3 us.
    assert parts == {
        "forward m": 4_000,
        "forward target": 2_500,
        "drafting": 600,
        "rest": 15_000 - 4_000 - 2_500 - 600,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token_ids", (1, 2)),
        ("timed_tokens", 2),
        ("seconds", 20e-6),
        ("prefill_seconds", 1e-6),
        ("target_forwards", 1),
        ("drafted", 2),
        ("accepted", 1),
        ("draft_seconds", (600e-9,)),
        # The end of the only round.
        ("first_token_seconds", 17e-6),
        ("waits", ()),
        # Passes and look-ups; neither the prefill nor the update.
        ("calls", {"target": 1, "db": 2, "m": 2}),
    ],
)
def test_an_output_by_hand(name, value):
    figure = getattr(from_trace(hierarchy_trace()), name)
    assert figure == (pytest.approx(value) if isinstance(value, float) else value)


def test_a_launch_of_several_steps_counts_as_so_many_passes():
    trace = hierarchy_trace()
    trace.add_rows(calls=[CallRow(0, 0, "nano", "draft", 3, 3, 0, 0, 10)])
    assert from_trace(trace).calls["nano"] == 3
    assert round_parts(trace)[0]["forward nano"] == 10


def test_waits_are_between_the_ends_of_rounds():
    decoded = from_trace(sample_trace())
    # Rounds end at 1.8 and 2.8 us and bring two tokens each.
    assert decoded.first_token_seconds == pytest.approx(1.8e-6)
    assert decoded.waits == ((pytest.approx(1e-6), 2),)


def output(seconds: float, tokens: int = 1) -> Output:
    return Output(
        token_ids=tuple(range(tokens)),
        seconds=seconds,
        timed_tokens=tokens,
        prefill_seconds=seconds / 10,
        target_forwards=1,
        drafted=4,
        accepted=2,
        draft_seconds=(seconds,),
        first_token_seconds=seconds,
        waits=((seconds, 1),),
        calls={"target": 3},
    )


def test_repeats_have_the_median_of_their_times():
    median = median_of([output(1.0), output(7.0), output(2.0)])
    assert median.seconds == 2.0
    assert median.prefill_seconds == 0.2
    assert median.first_token_seconds == 2.0
    assert median.draft_seconds == (1.0, 7.0, 2.0)
    assert median.waits == ((1.0, 1), (7.0, 1), (2.0, 1))


def test_turns_are_summed_and_their_first_tokens_averaged():
    answers = iter([output(1.0, 2), output(4.0, 3), output(7.0, 1)])
    template = SimpleNamespace(write=lambda turns, answers: "x", read=lambda ids: "y")
    prompt = Prompt("q", "all", "one", turns=("one", "two", "three"))
    conversation = ask(lambda text: next(answers), prompt, template)
    assert conversation.seconds == 12.0
    assert conversation.timed_tokens == 6
    assert conversation.target_forwards == 3
    assert conversation.drafted == 12
    assert conversation.accepted == 6
    assert conversation.calls == {"target": 9}
    assert conversation.first_token_seconds == 4.0
    assert conversation.token_ids == (0, 1, 0, 1, 2, 0)


def test_a_profile_by_hand():
    rounds = [
        {"forward target": 4_000, "rest": 1_000},
        {"forward target": 6_000, "drafting": 2_000, "rest": 1_000},
        {"forward target": 5_000, "rest": 1_000},
    ]
    # 20 us in all: 15 of passes, 2 of drafting (in one round of three), 3 of the rest.
    assert round_profile(rounds) == RoundProfile(
        rounds=3,
        round_us=6.0,
        parts={
            "forward target": RoundPart(median_us=5.0, share=15 / 20),
            "drafting": RoundPart(median_us=0.0, share=2 / 20),
            "rest": RoundPart(median_us=1.0, share=3 / 20),
        },
    )
