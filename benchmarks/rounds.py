"""Host time of a target's round on a compiled stack: ``python -m benchmarks.rounds [--json OUT]``.

A draft model proposes five tokens to a tiny Llama with the vocabulary of Llama 3, at temperature 0.7 with top-p 0.9: in
the loop that samples and verifies on the host, and in the one on the device. The figure is the processor time of the
calling thread beside the compiled graphs, which other work on the machine disturbs least. Inductor takes the place of
a GPU here.
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
from torch._inductor.output_code import CompiledFxGraph

from benchmarks.gpu.tools import random_llama
from benchmarks.harness import arguments, command
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.machine import describe
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.decode import DeviceDecode
from hsd_viz.torch_models.eager import HFModel

#: Hidden size, layers, heads, key heads, feed-forward width.
SHAPE = (32, 2, 2, 1, 48)
VOCABULARY = 128_256
LOOKAHEAD = 5
SAMPLING = Sampling(temperature=0.7, top_p=0.9, seed=1)
#: Rounds that are left out because they compile.
WARM_UP = 3


class GraphTime:
    """Adds up the processor time inside compiled graphs, in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> GraphTime:
        self._own = CompiledFxGraph.__call__

        def timed(graph: Any, inputs: Any) -> Any:
            started = thread_time()
            try:
                return self._own(graph, inputs)
            finally:
                self.seconds += thread_time() - started

        CompiledFxGraph.__call__ = timed  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        CompiledFxGraph.__call__ = self._own  # type: ignore[method-assign]


def measure(loop_class: type[Loop], models: Sequence[CompiledModel], tokens: int) -> dict[str, Any]:
    """Decode; return medians per round of the target, in ms."""
    levels = [
        Level("draft", models[0].session(tokens + 20), LOOKAHEAD),
        Level("target", models[1].session(tokens + 20)),
    ]
    loop = loop_class(levels, None, SAMPLING, list(range(20)), max_new_tokens=tokens)
    for _ in loop.prefill():
        pass
    total: list[float] = []
    inside: list[float] = []
    with GraphTime() as graphs:
        started = thread_time()
        before = 0.0
        for _ in loop.rounds():
            now = thread_time()
            total.append((now - started) * 1e3)
            inside.append((graphs.seconds - before) * 1e3)
            started = now
            before = graphs.seconds
    beside = [a - b for a, b in zip(total, inside, strict=True)][WARM_UP:]
    found = {
        "rounds": len(beside),
        "ms": median(total[WARM_UP:]),
        "beside_graphs_ms": median(beside),
    }
    if isinstance(loop, DeviceDecode):
        found["waits"] = loop.board.waits / len(total)
        found["bytes_read"] = loop.board.bytes_read / len(total)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure both loops and print what each round costs the host."""
    parser = arguments("rounds", __doc__)
    parser.add_argument("--tokens", type=int, default=60, help="new tokens (default 60)")

    def work(args: Any) -> int:
        torch.set_num_threads(1)
        cpu = torch.device("cpu")
        models = [
            CompiledModel(HFModel(name, random_llama(SHAPE, VOCABULARY, cpu, torch.float32)))
            for name in ("draft", "target")
        ]
        found: dict[str, Any] = {"machine": describe(), "vocabulary": VOCABULARY}
        found["on the host"] = measure(Loop, models, args.tokens)
        found["on the device"] = measure(DeviceDecode, models, args.tokens)
        found["load_average"] = os.getloadavg()
        for name in ("on the host", "on the device"):
            print(name, json.dumps(found[name]))
        if args.json:
            with open(args.json, "w") as file:
                json.dump(found, file, indent=1)
        return 0

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
