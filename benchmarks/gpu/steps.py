"""Steps, rounds and strict rows of random models of real shapes, against the bandwidth measured
in the same run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.gpu.tools import MANY, DeviceTools
from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.device_loop import DeviceLoop, can_decode
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.graphs import record

WIDTHS = (1, 2, 4, 5, 8, 16, 32)
LOOKAHEAD = 5
DRAWN = Sampling(temperature=0.7, top_p=0.9, seed=1)
SAMPLINGS = {"greedy": Sampling(), "drawn": DRAWN}
#: Texts that are compared, and new tokens of each.
TEXTS = 12
TEXT_TOKENS = 48


def _loop(
    drafts: Sequence[Model],
    target: Model,
    sampling: Sampling,
    prompt: list[int],
    tokens: int,
) -> Loop:
    """Return a loop behind its prefill, with lookaheads of one, two, ... times
    :data:`LOOKAHEAD`.
    """
    length = len(prompt) + tokens
    levels = []
    for number, draft in enumerate(drafts, 1):
        levels.append(Level(draft.name, draft.session(length), LOOKAHEAD * number))
    levels.append(Level("target", target.session(length)))
    on_device = can_decode([*drafts, target], sampling.rule)
    loop_class = DeviceLoop if on_device else Loop
    loop = loop_class(LoopInputs(levels, None, sampling, prompt, max_new_tokens=tokens))
    deque(loop.prefill(), maxlen=0)
    return loop


def _text(drafts: Sequence[Model], target: Model, prompt: list[int], tokens: int) -> list[int]:
    """Return the greedy text."""
    loop = _loop(drafts, target, Sampling(), prompt, tokens)
    deque(loop.rounds(), maxlen=0)
    return loop.text


def _rows_of(model: Model, text: list[int], cuts: Sequence[int]) -> np.ndarray:
    """Return the rows of a text that is fed in the parts between cuts."""
    session = model.session(64)
    rows = []
    for start, end in pairwise(cuts):
        rows.append(session.forward(text[start:end], end - start))
    return np.concatenate(rows)


def _median_ms(calls: dict[str, Any], kind: str) -> float:
    """Return the median duration of the calls of a kind in ms."""
    durations = zip(calls["duration_ns"], calls["kind"], strict=True)
    return median(ns for ns, own in durations if own == kind) / 1e6


class Steps(DeviceTools):
    """Measurements on one device."""

    #: The runtime that decodes use on a GPU.
    fastest = "compiled"

    def bandwidth(self) -> dict[str, float]:
        """Measure a large copy on the device, counting bytes read and bytes written."""
        source = torch.rand(self.scale.copied // 4, device=self.device)
        to = torch.empty_like(source)
        ms = self.time(lambda: to.copy_(source))
        return {
            "copied_bytes": source.nbytes,
            "ms": ms,
            "bytes_per_second": 2 * source.nbytes / ms * 1e3,
        }

    def steps(self, name: str, kind: str, bandwidth: float) -> dict[str, Any]:
        """Measure a forward pass of each width behind a context, and a draft; medians in ms."""
        model = self.model(name, kind)
        context = self.scale.context
        session = model.session(context + WIDTHS[-1])
        session.feed([k % 1000 for k in range(context)])

        measures: dict[str, Any] = {"width_ms": {}}
        for width in WIDTHS:
            measures["width_ms"][str(width)] = self.time(self._pass(model, session, width))
        measures["draft_ms"] = {"tokens": LOOKAHEAD}
        for label, sampling in SAMPLINGS.items():
            measures["draft_ms"][label] = self._draft_ms(model, sampling)
        weights = self.weights(name)
        bound = weights / bandwidth * 1e3
        return measures | {
            "parameters": model.parameters,
            "weight_bytes": weights,
            "bound_ms": bound,
            "ratio_to_bound": measures["width_ms"]["1"] / bound,
            "runtime": model.runtime,
        }

    def _pass(self, model: HFModel | CompiledModel, session: Any, width: int) -> Callable[[], Any]:
        """Return a forward pass behind the context. Of compiled models it is the recorded graph,
        whose logits stay on the device.
        """
        context = self.scale.context
        if isinstance(model, HFModel):

            def step() -> None:
                session.forward([7] * width, width)
                session.truncate(context)

            return step
        start = torch.tensor(context, device=self.device)
        beyond = start + width
        cache = session.cache
        compiled_width = model.width_for(width)
        # Those of the session's own passes: no graph is compiled for this alone.
        parents = model.no_parents(model.nodes_for(compiled_width))

        def run() -> None:
            model.read(cache, cache.text, start, beyond, parents, compiled_width)

        for _ in range(2):
            run()
        return record(run, self.device)

    def _draft_ms(self, model: Model, sampling: Sampling) -> float:
        """Return the median time of a draft, by the record of a decode in which the model drafts
        for itself.
        """
        calls = self._decoded(model, model, sampling)["calls"]
        return _median_ms(calls, "draft")

    def _decoded(self, below: Model, above: Model, sampling: Sampling) -> dict[str, Any]:
        """Decode twice, because the first run compiles; return the record of the second, its wall
        times of rounds in ms as ``walls``, and how often a round waited as ``waits`` (``None``: not
        counted).
        """
        for _ in range(2):
            prompt = [k % 1000 for k in range(self.scale.context)]
            tokens = self.scale.rounds * (LOOKAHEAD + 1)
            loop = _loop([below], above, sampling, prompt, tokens)
            loop.log.take()
            walls = []
            started = perf_counter()
            for n, _ in enumerate(loop.rounds(), 1):
                now = perf_counter()
                walls.append((now - started) * 1e3)
                started = now
                if n == self.scale.rounds:
                    break
        record: dict[str, Any] = loop.log.take()
        waits = loop.board.waits / len(walls) if isinstance(loop, DeviceLoop) else None
        return record | {"walls": walls, "waits": waits}

    def rounds(self, draft: str, target: str, lone: dict[str, Any]) -> dict[str, Any]:
        """Measure rounds of the loop, greedy and sampled, and the isolated cost of their launch and
        forward pass.

        ``device_ms`` is the time from a round's first step to the end of its last one, ``host_ms``
        the rest of the round, in which the device has nothing to do.
        """
        below = self.model(draft, self.fastest)
        above = self.model(target, self.fastest)
        width = next(w for w in WIDTHS if w >= LOOKAHEAD + 1)
        out = {}
        for label, sampling in SAMPLINGS.items():
            tables = self._decoded(below, above, sampling)
            spent = partial(_median_ms, tables["calls"])
            forwards = lone[draft]["draft_ms"][label] + lone[target]["width_ms"][str(width)]
            wall = median(tables["walls"])
            on_device = spent("draft") + spent("verify")
            out[label] = {
                "round_ms": wall,
                "device_ms": on_device,
                "host_ms": wall - on_device,
                "draft_ms": spent("draft"),
                "verify_ms": spent("verify"),
                "waits": tables["waits"],
                "tokens_per_round": len(tables["tokens"]["token_id"]) / len(tables["walls"]),
                "forwards_alone_ms": forwards,
                "overhead": wall / forwards,
            }
        return out

    def identity(self, draft: str, target: str) -> dict[str, Any]:
        """Count the greedy texts with drafts that equal plain decoding, in strict mode.

        Raises:
            RuntimeError: if one differs.
        """
        below = self.model(draft, "strict")
        above = self.model(target, "strict")
        texts = min(TEXTS, self.scale.repeats)
        same = 0
        for seed in range(texts):
            prompt = [(7 * k + 31 * seed) % 1000 for k in range(self.scale.context // 4)]
            plain = _text([], above, prompt, TEXT_TOKENS)
            same += _text([below], above, prompt, TEXT_TOKENS) == plain
        if same < texts:
            raise RuntimeError(
                f"{same} of {texts} greedy texts equal plain decoding in strict mode"
            )
        return {"same": same, "texts": texts, "tokens": TEXT_TOKENS}

    def memory(self) -> dict[str, Any]:
        """Measure device memory after a few and after many short decodes, each with new
        sessions.
        """
        small, large = list(self.scale.shapes)[:2]
        below = self.model(small, self.fastest)
        above = self.model(large, self.fastest)
        held = {}
        marks = {self.scale.runs // 10, self.scale.runs // 2, self.scale.runs}
        for run in range(1, self.scale.runs + 1):
            loop = _loop([below], above, DRAWN if run % 2 else Sampling(), [run % 1000, 2, 3], 8)
            deque(loop.rounds(), maxlen=0)
            if run in marks:
                del loop
                held[str(run)] = self.memory_held()
        return {"bytes_after_runs": held}

    def products(self, bandwidth: float) -> dict[str, dict[str, float | str]]:
        """Measure the bandwidth of the largest shape's products by rows, relative to the copy
        (1: equal).
        """
        width, _, heads, kv_heads, inner = self.scale.shapes[list(self.scale.shapes)[2]]
        size = width // heads
        maps = {
            "qkv": ((heads + 2 * kv_heads) * size, width),
            "out": (width, heads * size),
            "gate, up": (2 * inner, width),
            "down": (width, inner),
        }
        shares: dict[str, dict[str, float | str]] = {}
        for name, (to, come) in maps.items():
            # As many matrices as a model has, so that none is still cached when it is used again.
            matrices = []
            for _ in range(MANY):
                matrices.append(torch.randn(to, come, device=self.device, dtype=self.dtype))
            for rows in (1, 4, 6, 16):
                x = torch.randn(rows, come, device=self.device, dtype=self.dtype)
                us = self.many(
                    lambda x=x, matrices=matrices: tuple(F.linear(x, m) for m in matrices)
                )
                share = us if isinstance(us, str) else matrices[0].nbytes / (us / 1e6) / bandwidth
                shares.setdefault(name, {})[str(rows)] = share
        return shares

    def strict_rows(self, name: str) -> dict[str, Any]:
        """Compare the rows of a text fed one by one and in parts, bit by bit, in strict and
        usual mode.
        """
        comparisons = {}
        for kind in ("strict", self.fastest):
            model = self.model(name, kind)
            text = [(7 * k) % 1000 for k in range(48)]
            alone = _rows_of(model, text, range(len(text) + 1))
            in_parts = _rows_of(model, text, (0, 1, 6, 23, 48))
            same = bool(np.array_equal(in_parts, alone))
            if kind == "strict" and not same:
                raise RuntimeError(f"rows of {name} differ in strict mode")
            comparisons["strict" if kind == "strict" else "usual"] = same
        return comparisons

    def kernels(self, name: str) -> list[dict[str, Any]] | str:
        """Profile a step of width 1 by time on the device."""
        if self.device.type != "cuda":
            return "no GPU"
        from torch.profiler import ProfilerActivity, profile

        session = self.model(name, self.fastest).session()
        session.feed([7] * self.scale.context)
        for _ in range(3):
            session.forward([7], 1)
        with profile(activities=[ProfilerActivity.CUDA]) as watched:
            for _ in range(10):
                session.forward([7], 1)
            torch.cuda.synchronize()
        rows = sorted(watched.key_averages(), key=lambda row: -row.self_device_time_total)[:20]
        kernels = []
        for row in rows:
            kernel = {
                "kernel": row.key[:120],
                "per_step": row.count / 10,
                "us_per_step": row.self_device_time_total / 10,
            }
            kernels.append(kernel)
        return kernels
