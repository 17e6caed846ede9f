"""A live comparison: stacks that run one after the other."""

from __future__ import annotations

import pytest
from test_views_versus import recorded

from hsd_viz.engine.replay import SIDE_BY_SIDE, ReplayEngine
from hsd_viz.trace import Finished, Stage, Step
from hsd_viz.views.versus import SIDES, Versus, decode_each, traces_of


class Engine:
    """Replays, and writes down what it was asked and in which order."""

    def __init__(self) -> None:
        self.replay = ReplayEngine(SIDE_BY_SIDE / "greedy", pace=0)
        self.asked: list[tuple[str, int]] = []
        self.closed: list[str] = []

    def decode(self, prompt, stack="target", *, max_new_tokens=128, **options):
        events = self.replay.decode(prompt, stack, **options)

        def told():
            self.asked.append((stack, max_new_tokens))
            try:
                yield from events
            finally:
                self.closed.append(stack)

        return told()


def prompt() -> str:
    return recorded("greedy", "plain")[0].meta["prompt"]


def test_stacks_run_one_after_the_other_each_after_a_start_that_does_not_count():
    engine = Engine()
    events = list(decode_each(engine, prompt(), ["plain", "db > target"], warm_up=4, max_new_tokens=128))
    assert engine.asked == [("target", 4), ("target", 128), ("db > target", 4), ("db > target", 128)]
    assert [k for k, e in events if isinstance(e, Finished)] == [0, 1]
    assert [k for k, _ in events] == sorted(k for k, _ in events)
    assert (
        sum(isinstance(e, Step) for k, e in events if k == 1) == recorded("greedy", "databases")[0].metrics()["rounds"]
    )
    assert any(isinstance(e, Stage) and "warming up" in e.text for _, e in events)
    cold = Engine()
    assert [t.meta["stack"] for t in traces_of(cold, prompt(), ["both", "plain"], warm_up=0)] == [
        SIDES["both"],
        "target",
    ]
    assert cold.asked == [(SIDES["both"], 128), ("target", 128)]


def test_nothing_runs_when_a_stack_or_their_number_is_wrong():
    engine = Engine()
    for stacks, said in (
        (["plain"], "too few"),
        (list(SIDES)[:4], "too many"),
        (["plain", "nano:99 > target"], "64"),
        ([], "No runs"),
    ):
        with pytest.raises(ValueError, match=said):
            decode_each(engine, prompt(), stacks)
    with pytest.raises(ValueError, match="nothing was recorded"):
        decode_each(engine, "another prompt", ["plain", "both"])
    assert engine.asked == []


def test_closing_cancels_the_run_in_progress_and_those_to_come():
    engine = Engine()
    events = decode_each(engine, prompt(), ["plain", "databases"], warm_up=0)
    next(e for e in events if isinstance(e[1], Step))
    events.close()
    assert engine.asked == [("target", 128)] and engine.closed == ["target"]


def test_a_live_comparison_is_a_view():
    widget = Versus.of(Engine(), prompt(), ["plain", "databases"], warm_up=0)
    assert widget.refusal == "" and [r["stack"] for r in widget.data["runs"]] == ["target", "db > target"]
