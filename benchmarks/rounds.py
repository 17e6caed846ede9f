"""Host time of a target's round on a compiled stack: ``python -m benchmarks.rounds [--json OUT]``.

A draft model proposes five tokens to a tiny Llama with the vocabulary of Llama 3, at temperature
0.7 with top-p 0.9: in the loop that samples and verifies on the host, and in the one on the device.
The figure is the processor time of the calling thread beside the compiled graphs, which other work
on the machine disturbs least. Inductor takes the place of a GPU here: its kernels sweep the caches
of the processor that then runs Python, which those of a GPU do not. So the work of the host is also
measured alone: with graphs that do nothing, and with graphs that only sweep the caches.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from statistics import median
from time import thread_time
from typing import Any

import torch

from benchmarks.gpu.tools import random_llama
from benchmarks.harness import arguments, command
from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.disk import write_whole
from hsd_viz.machine import describe
from hsd_viz.torch_models import graphs
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.device_loop import DeviceLoop
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.steps import Board, DeviceStep

#: Hidden size, layers, heads, key heads, feed-forward width.
SHAPE = (32, 2, 2, 1, 48)
VOCABULARY = 128_256
#: Where no graph runs, its size does not matter.
SMALL_VOCABULARY = 1000
LOOKAHEAD = 5
#: Bytes that are read in place of a graph, more than the caches of a core hold.
SWEPT = 64 << 20
SAMPLING = Sampling(temperature=0.7, top_p=0.9, seed=1)
#: Tokens of the prompt.
PROMPT = 20
LOOPS: dict[str, type[Loop]] = {"on the host": Loop, "on the device": DeviceLoop}


class GraphTime:
    """Adds up the processor time inside of the kernels that are compiled while it is open, in
    seconds.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> GraphTime:
        self._own = graphs.compile_fx_inner
        graphs.compile_fx_inner = self._compile
        return self

    def __exit__(self, *error: object) -> None:
        graphs.compile_fx_inner = self._own

    def _compile(self, *given: Any, **options: Any) -> Any:
        kernels = self._own(*given, **options)
        start = kernels.current_callable

        def timed(tensors: Any) -> Any:
            started = thread_time()
            try:
                return start(tensors)
            finally:
                self.seconds += thread_time() - started

        kernels.current_callable = timed
        return kernels


class LoopMeasurement:
    """The rounds of several decodes by one loop.

    Attributes:
        total: The time of each round in ms.
        beside: What of it passed beside the graphs.
        waits: Waits for the device per round; ``None`` where this is not counted.
        bytes_read: Bytes read per round; ``None`` where this is not counted.
    """

    def __init__(
        self,
        loop_class: type[Loop],
        models: Sequence[CompiledModel],
        tokens: int,
        graph_time: GraphTime,
    ) -> None:
        self._loop_class = loop_class
        self._models = models
        self._tokens = tokens
        self._graph_time = graph_time
        self.total: list[float] = []
        self.beside: list[float] = []
        self.waits: float | None = None
        self.bytes_read: float | None = None

    def decode(self, keep: bool) -> None:
        """Decode; keep the times of the rounds but for those that begin with the longer text of
        the prompt.
        """
        room = self._tokens + PROMPT
        levels = [
            Level("draft", self._models[0].session(room), LOOKAHEAD),
            Level("target", self._models[1].session(room)),
        ]
        prompt = list(range(PROMPT))
        loop = self._loop_class(levels, None, SAMPLING, prompt, max_new_tokens=self._tokens)
        for _ in loop.prefill():
            pass
        before = _crossings(loop)
        total: list[float] = []
        beside: list[float] = []
        inside = self._graph_time.seconds
        started = thread_time()
        for _ in loop.rounds():
            now = thread_time()
            in_graphs = self._graph_time.seconds
            total.append((now - started) * 1e3)
            beside.append((now - started - in_graphs + inside) * 1e3)
            inside = in_graphs
            started = thread_time()
        if not keep:
            return
        self.total += total[1:]
        self.beside += beside[1:]
        if before is not None:
            waits, bytes_read = _crossings(loop) or before
            self.waits = (waits - before[0]) / len(total)
            self.bytes_read = (bytes_read - before[1]) / len(total)

    def summary(self) -> dict[str, Any]:
        """Return medians per round, in ms."""
        return {
            "rounds": len(self.total),
            "ms": round(median(self.total), 3),
            "beside_graphs_ms": round(median(self.beside), 3),
            "waits": self.waits,
            "bytes_read": self.bytes_read,
        }


def _crossings(loop: Loop) -> tuple[int, int] | None:
    """Return how often a loop on the device has waited and how many bytes it has read; ``None``
    for other loops.
    """
    if not isinstance(loop, DeviceLoop):
        return None
    return loop.board.waits, loop.board.bytes_read


class Sweep:
    """Takes the place of :meth:`Board.run`: reads more memory than the caches hold, and computes
    nothing.

    Attributes:
        seconds: The processor time of all reads.
    """

    def __init__(self, size: int = SWEPT) -> None:
        self.seconds = 0.0
        self._memory = torch.zeros(size // 8, dtype=torch.float64)

    def __call__(self, board: Board, step: DeviceStep) -> None:
        started = thread_time()
        self._memory.sum()
        self.seconds += thread_time() - started


class Nothing(Sweep):
    """Takes the place of :meth:`Board.run` and does nothing."""

    def __init__(self) -> None:
        super().__init__(0)

    def __call__(self, board: Board, step: DeviceStep) -> None:
        pass


def host_alone(rounds: int, graph: Sweep) -> dict[str, Any]:
    """Measure rounds of the loop on the device with ``graph`` in place of each graph, whose own
    time is not counted: what is left is the work of the host, as where another processor runs the
    graphs. Every round reports what the last true one did.
    """
    cpu = torch.device("cpu")
    models = [
        CompiledModel(
            HFModel(name, random_llama(SHAPE, SMALL_VOCABULARY, cpu, torch.float32)),
            compiler=graphs.Graph,
        )
        for name in ("draft", "target")
    ]
    tokens = (LOOKAHEAD + 1) * (rounds + 20)
    levels = [
        Level("draft", models[0].session(tokens + PROMPT), LOOKAHEAD),
        Level("target", models[1].session(tokens + PROMPT)),
    ]
    loop = DeviceLoop(
        LoopInputs(levels, None, SAMPLING, list(range(PROMPT)), max_new_tokens=tokens)
    )
    for _ in loop.prefill():
        pass
    steps = loop.rounds()
    for _ in range(5):
        next(steps)
    own = Board.run

    def run(board: Board, step: DeviceStep) -> None:
        graph(board, step)

    Board.run = run  # type: ignore[method-assign]
    spent = []
    try:
        for _ in range(rounds):
            in_graphs = graph.seconds
            started = thread_time()
            next(steps)
            whole = thread_time() - started
            spent.append((whole - graph.seconds + in_graphs) * 1e3)
    finally:
        Board.run = own  # type: ignore[method-assign]
    return {"rounds": rounds, "ms": round(median(spent), 3)}


def measure(args: Any, graph_time: GraphTime) -> dict[str, Any]:
    """Decode with both loops in turns."""
    cpu = torch.device("cpu")
    models = [
        CompiledModel(HFModel(name, random_llama(SHAPE, args.vocabulary, cpu, torch.float32)))
        for name in ("draft", "target")
    ]
    measurements = {
        name: LoopMeasurement(loop_class, models, args.tokens, graph_time)
        for name, loop_class in LOOPS.items()
    }
    for repeat in range(args.repeats + 1):
        for measurement in measurements.values():
            # The first decodes compile.
            measurement.decode(keep=repeat > 0)
    return {name: measurement.summary() for name, measurement in measurements.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure both loops and print what each round costs the host."""
    parser = arguments("rounds", __doc__)
    parser.add_argument("--tokens", type=int, default=120, help="new tokens (default 120)")
    parser.add_argument("--repeats", type=int, default=5, help="decodes by each loop (default 5)")
    parser.add_argument("--alone", action="store_true", help="only the host's work alone")
    parser.add_argument(
        "--vocabulary", type=int, default=VOCABULARY, help=f"tokens (default {VOCABULARY})"
    )

    def work(args: Any) -> int:
        torch.set_num_threads(1)
        rows: dict[str, Any] = {
            "host alone": host_alone(200, Nothing()),
            "host alone, caches swept": host_alone(200, Sweep()),
        }
        if not args.alone:
            with GraphTime() as graph_time:
                rows |= measure(args, graph_time)
        for name, row in rows.items():
            print(name, json.dumps(row))
        facts = {"machine": describe(), "load_average": os.getloadavg()}
        if args.json:
            write_whole(args.json, json.dumps(facts | rows, indent=1) + "\n")
        return 0

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
