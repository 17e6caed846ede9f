"""What a launch cost is told by the device, once it is through: own times add up to no more than the wall, and never overlap."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import pytest
import torch
from tape import TapeCapturer
from test_graphs import eager

from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.backends.cuda_graphs.slot import Capturable
from hsd_viz.backends.device import TorchBackend
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.record import Recorder
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting import make_drafter
from hsd_viz.stack import DraftSource


class Device:
    """A clock for the host and a device that works beside it: a timer's time is what was launched before it was stopped."""

    def __init__(self):
        self.time = 0

    def log(self):
        return Log.by(lambda: self.time)

    def timer(self, ns):
        device = self

        class Timer:
            launched = device.time

            def stop(self):
                pass

            def ns(self):
                assert device.time >= self.launched + ns, "asked before the device was through"
                return ns

        return Timer()


@pytest.fixture
def device():
    return Device()


def spans(log):
    return [(c.start_ns, c.start_ns + c.duration_ns) for c in log.calls]


def test_a_launch_takes_its_time_from_the_call_that_waited_for_it(device):
    log = device.log()
    log.open_round(1)
    device.time = 10
    timer = device.timer(600)
    device.time = 30  # the launch returned after 20
    log.call(0, "nano", "draft", 10, fed=4, steps=4, timer=timer)
    device.time = 40
    start = log.now()
    device.time = 2_000  # the verification waited for both
    log.call(1, "target", "verify", start, fed=5)
    assert spans(log) == [(10, 610), (610, 2_000)]


def test_several_launches_follow_each_other(device):
    log = device.log()
    log.open_round(1)
    timers = [device.timer(100), device.timer(300)]
    device.time = 50
    log.call(0, "nano", "draft", 0, fed=1, timer=timers[0])
    log.call(0, "nano", "draft", 50, fed=1, timer=timers[1])
    device.time = 1_000
    log.call(1, "target", "verify", 60, fed=3)
    assert spans(log) == [(0, 100), (100, 400), (400, 1_000)]


def test_a_launch_that_was_over_before_the_next_call_began_leaves_that_one_alone(device):
    log = device.log()
    log.open_round(1)
    timer = device.timer(100)
    log.call(0, "nano", "draft", 0, fed=1, timer=timer)
    device.time = 900
    log.call(1, "target", "verify", 500, fed=3)
    assert spans(log) == [(0, 100), (500, 900)]


def test_calls_that_wait_for_themselves_are_as_they_were(device):
    log = device.log()
    log.open_round(0)
    device.time = 70
    log.call(0, "target", "verify", 20, fed=1)
    assert spans(log) == [(20, 70)]


def test_the_loop_times_its_launches(monkeypatch):
    """A device that claims a millisecond for each launch gets it, out of the verification that follows."""
    asked = []

    class Timer:
        def stop(self):
            asked.append("stopped")

        def ns(self):
            return 1_000

    target = GraphModel(eager("llama"), capturer=TapeCapturer())
    draft, verifier = target.session(), target.session()
    backend = TorchBackend(torch.device("cpu"))
    backend.timer = Timer
    levels = [Level("nano", draft, 3), Level("target", verifier)]
    loop = Loop(levels, None, Sampling(), [1, 2, 3], max_new_tokens=24, backend=backend)
    for _ in loop.prefill():
        pass
    for _ in loop.rounds():
        pass
    calls = [c for c in loop.log.calls if c.kind != "prefill"]
    drafts = [c for c in calls if c.kind == "draft"]
    assert len(asked) == len(drafts) > 3
    assert {c.duration_ns for c in drafts} == {1_000}
    for before, after in pairwise(calls):
        assert before.start_ns + before.duration_ns <= after.start_ns
    assert sum(c.duration_ns for c in calls) <= loop.log.now()


#: Lookaheads of the draft models above an optional drafter. ``recycling`` learns from the target's likeliest tokens,
#: ``db[logits]`` from its probabilities.
STACKS = {
    "plain": ([], None),
    "one draft": ([3], None),
    "two drafts": ([2, 5], None),
    "database": ([], DraftSource("db", ("context",))),
    "database under a draft": ([4], DraftSource("db", ("context",))),
    "tokens harvested": ([], DraftSource("recycling")),
    "probabilities harvested": ([], DraftSource("db", ("context", "logits"))),
    "harvested under a draft": ([4], DraftSource("recycling")),
}


CASES = [(stack, sampling) for stack in STACKS for sampling in (Sampling(), Sampling(1.0, seed=3))]
CASES.append(("one draft", Sampling(1.0, seed=3, rule="block")))


def decode(stack: str, sampling: Sampling, recorded: bool, backend: TorchBackend | None = None):
    """A loop behind its prefill, and what is to be called with each of its rounds."""
    lookaheads, bottom = STACKS[stack]
    model, draft = GraphModel(eager("llama"), capturer=TapeCapturer()), eager("llama")
    with torch.no_grad():  # a draft of other weights, so that there are rejections
        for parameter in draft.module.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    below = GraphModel(draft, capturer=TapeCapturer())
    levels = [Level(f"m{k}", below.session(), n) for k, n in enumerate(lookaheads)]
    levels.append(Level("target", model.session()))
    drafter = make_drafter(bottom, costs=None) if bottom else None
    backend = backend or TorchBackend(torch.device("cpu"))
    loop = Loop(levels, drafter, sampling, [1, 2, 3] * 5, max_new_tokens=20, backend=backend)
    recorder = Recorder(loop, None, recorded)
    deque(loop.prefill(), maxlen=0)
    return loop, recorder


@pytest.mark.parametrize("recorded", [False, True], ids=["bare", "recorded"])
@pytest.mark.parametrize(("stack", "sampling"), CASES)
def test_a_verification_looks_at_the_device_once(stack, sampling, recorded, monkeypatch):
    """The path of a GPU, run here: whatever would make the host wait raises, but for one transfer a verification."""
    loop, recorder = decode(stack, sampling, recorded)
    looks = []
    honest = torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "tolist", lambda self: looks.append(1) or honest(self))
    drafted, rounds = 0, 0
    with torch.inference_mode(), Capturable():
        for verified in loop.rounds():
            rounds += len(loop.log.rounds)
            recorder.step(verified)
            drafted += len(verified.draft)
    assert (drafted > 0) == (stack != "plain") and rounds >= 5 and len(looks) == rounds


@pytest.mark.parametrize(("stack", "sampling"), CASES)
def test_what_is_fetched_with_a_verdict_is_what_was_asked_for_after_it(stack, sampling):
    """Details, corrections and the drafter's harvest, in the verdict's transfer and in transfers of their own."""

    class Separate(TorchBackend):
        fetches_notes = False

    found = []
    for backend in (TorchBackend(torch.device("cpu")), Separate(torch.device("cpu"))):
        loop, recorder = decode(stack, sampling, True, backend)
        steps = [recorder.step(verified).record for verified in loop.rounds()]
        found.append((loop.text, [step[6:8] for step in steps]))
    (text, ours), (same_text, theirs) = found
    assert text == same_text
    for (details, (top, q, left)), (plain_details, (plain_top, plain_q, plain_left)) in zip(ours, theirs, strict=True):
        assert details == pytest.approx(plain_details, rel=1e-4, abs=1e-5)
        assert (left is None) == (plain_left is None) and (left is None or left == pytest.approx(plain_left))
        for mine, other in ((top, plain_top), (q, plain_q)):
            assert (mine is None) == (other is None)
            assert mine is None or [t for t, _ in mine] == [t for t, _ in other]
    if not sampling.greedy and stack != "plain":
        assert any(left is not None for _, (_, _, left) in ours), "there are corrections to compare"
