"""What the host does while the device decodes: what it starts, what it reads, and when it waits."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import UniformNumbers
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.device_loop import BoardSession, DeviceLoop
from hsd_viz.torch_models.graphs import Graph
from hsd_viz.torch_models.steps import Board
from tests.torch_models.devices import decode, eager, on_device


def test_the_next_round_is_started_before_the_last_one_is_read(monkeypatch):
    monkeypatch.setattr("hsd_viz.torch_models.ahead.works_beside", lambda device: True)
    events: list[str] = []
    run = Board.run
    fetch = Board.fetch

    def fetched(self, lines):
        events.append("copy")
        wait = fetch(self, lines)
        return lambda: (events.append("wait"), wait())[1]

    monkeypatch.setattr(Board, "run", lambda self, step: (events.append("step"), run(self, step)))
    monkeypatch.setattr(Board, "fetch", fetched)
    _, record = decode(DeviceLoop, [on_device(0.1), on_device(0.0)], [2], Sampling(seed=1))
    one_round = ["step", "step", "step", "copy"]
    rounds = len([row for row in record["rounds"]["parent"] if row is None])
    assert events == one_round + [*one_round, "wait"] * rounds


def test_a_round_draws_its_numbers_on_the_device(monkeypatch):
    """The loop passes no random numbers to sessions, and the time after a round belongs to the
    host.
    """
    own_verify = BoardSession.verify
    passed: list[UniformNumbers | None] = []

    def verify(self, pending, draft, sampling, numbers, record):
        passed.append(numbers)
        return own_verify(self, pending, draft, sampling, numbers, record)

    monkeypatch.setattr(BoardSession, "verify", verify)
    loop, _ = decode(
        DeviceLoop, [on_device(0.1), on_device(0.0)], [2], Sampling(temperature=0.8, seed=1)
    )
    assert set(passed) == {None}
    assert loop.hooks.result_time is None


class Outside(TorchDispatchMode):
    """A record of the names of operators that run outside of graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.operators: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not self.depth:
            self.operators.append(str(function))
        return function(*args, **(kwargs or {}))

    def graph(self, function):
        """Replace the compiler: all operators that run inside ``function`` are a graph."""

        def inside(*args):
            self.depth += 1
            try:
                return function(*args)
            finally:
                self.depth -= 1

        return Graph(inside)


@pytest.mark.parametrize(
    ("noises", "lookaheads", "waits"),
    [
        pytest.param((0.3, 0.0), (5,), 1, id="one draft"),
        pytest.param((0.3, 0.1, 0.0), (2, 5), 4, id="two drafts"),
    ],
)
def test_what_a_round_costs_outside_of_its_graphs(noises, lookaheads, waits):
    outside = Outside()
    models = [CompiledModel(eager(noise), compiler=outside.graph) for noise in noises]
    levels = []
    for model, lookahead in zip(models, [*lookaheads, None], strict=True):
        levels.append(Level("m", model.session(80), lookahead))
    sampling = Sampling(temperature=0.7, top_p=0.9, seed=1)
    loop = DeviceLoop(LoopInputs(levels, None, sampling, [1, 2, 3], max_new_tokens=60))
    list(loop.prefill())
    rounds = loop.rounds()
    next(rounds)
    before = (loop.board.waits, loop.board.bytes_read)
    with outside:
        next(rounds)
    waited = loop.board.waits - before[0]
    read = loop.board.bytes_read - before[1]
    assert 1 <= waited <= waits
    assert read <= 2000 * waited
    assert len(outside.operators) <= 12 * waited, outside.operators
    # Nothing but the report crosses to the host.
    for name in outside.operators:
        assert "_local_scalar_dense" not in name


def test_a_guaranteed_round_of_a_middle_level_is_not_waited_for(monkeypatch):
    """Two drafts of three tokens cannot reach eight, so the third round is the first that is waited
    for.
    """
    models = [on_device(0.1), on_device(0.05), on_device(0.0)]
    started: list[str] = []
    own_run = Board.run
    own_read = Board.read

    def run(self, step):
        started.append("step")
        return own_run(self, step)

    def read(self, lines):
        started.append("wait")
        return own_read(self, lines)

    monkeypatch.setattr(Board, "run", run)
    monkeypatch.setattr(Board, "read", read)
    decode(DeviceLoop, models, [2, 8], Sampling(seed=1), tokens=60)
    runs = []
    for kind, group in itertools.groupby(started):
        if kind == "step":
            runs.append(len(list(group)))
    assert runs[0] == 9, "three rounds of two drafts and a verification before the first wait"


def test_every_step_is_one_graph():
    """Dynamo refuses a step that reads a value on the host."""

    def traced(function):
        compiled = torch.compile(function, backend="eager", fullgraph=True, dynamic=False)
        return Graph(compiled)

    models = [CompiledModel(eager(noise), compiler=traced) for noise in (0.1, 0.0)]
    sampling = Sampling(temperature=0.7, top_p=0.9, seed=1)
    decoded, _ = decode(DeviceLoop, models, [1], sampling, tokens=8)
    expected, _ = decode(Loop, [eager(0.1), eager(0.0)], [1], sampling, tokens=8)
    assert decoded.text == expected.text
