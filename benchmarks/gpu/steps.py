"""Steps, rounds and strict rows of random models of real shapes, against the bandwidth measured in the same run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.gpu.tools import MANY, Tools
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.verify import Numbers

WIDTHS = (1, 2, 4, 5, 8, 16, 32)
LOOKAHEAD = 4
DRAWN = Sampling(temperature=1.0, seed=1)
SAMPLINGS = {"greedy": Sampling(), "drawn": DRAWN}


def _loop(
    drafts: Sequence[Model],
    target: Model,
    sampling: Sampling,
    prompt: list[int],
    tokens: int,
) -> Loop:
    """Return a loop behind its prefill, with lookaheads of one, two, ... times :data:`LOOKAHEAD`."""
    levels = [
        Level(d.name, d.session(len(prompt) + tokens), LOOKAHEAD * (k + 1))
        for k, d in enumerate(drafts)
    ]
    levels.append(Level("target", target.session(len(prompt) + tokens)))
    loop = Loop(levels, None, sampling, prompt, max_new_tokens=tokens)
    deque(loop.prefill(), maxlen=0)
    return loop


class Steps(Tools):
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
        model, context = self.model(name, kind), self.scale.context
        session = model.session(context + WIDTHS[-1])
        session.feed([k % 1000 for k in range(context)])

        def step(width: int) -> None:
            session.forward([7] * width, width)
            session.truncate(context)

        found: dict[str, Any] = {
            "width_ms": {str(width): self.time(partial(step, width)) for width in WIDTHS}
        }

        def draft(sampling: Sampling) -> None:
            numbers = None if sampling.greedy else Numbers([0.5] * LOOKAHEAD)
            session.sample([7], LOOKAHEAD, sampling, numbers, frozenset())
            session.truncate(context)

        ms = {label: self.time(partial(draft, sampling)) for label, sampling in SAMPLINGS.items()}
        found["draft_ms"] = {"tokens": LOOKAHEAD} | ms
        weights = self.weights(name)
        bound = weights / bandwidth * 1e3
        return found | {
            "parameters": model.parameters,
            "weight_bytes": weights,
            "bound_ms": bound,
            "ratio_to_bound": found["width_ms"]["1"] / bound,
            "runtime": model.runtime,
        }

    def rounds(self, draft: str, target: str, lone: dict[str, Any]) -> dict[str, Any]:
        """Measure rounds of the loop, greedy and sampled, and the isolated cost of their launch and forward pass."""
        kind = self.fastest
        below, above = self.model(draft, kind), self.model(target, kind)
        width = next(w for w in WIDTHS if w >= LOOKAHEAD + 1)
        out = {}
        for label, sampling in SAMPLINGS.items():
            walls = []
            for _ in range(2):  # the first run compiles
                prompt = [k % 1000 for k in range(self.scale.context)]
                loop = _loop([below], above, sampling, prompt, self.scale.rounds * (LOOKAHEAD + 1))
                loop.log.take()
                started = perf_counter()
                for n, _ in enumerate(loop.rounds(), 1):
                    if n == self.scale.rounds:
                        break
                walls.append((perf_counter() - started) / n * 1e3)
            tables = loop.log.take()
            spent = lambda kind, calls=tables["calls"]: median(
                ns for ns, of in zip(calls["duration_ns"], calls["kind"], strict=True) if of == kind
            )
            forwards = lone[draft]["draft_ms"][label] + lone[target]["width_ms"][str(width)]
            wall = median(tables["rounds"]["duration_ns"]) / 1e6
            out[label] = {
                "round_ms": wall,
                "round_ms_mean": walls[-1],
                "draft_ms": spent("draft") / 1e6,
                "verify_ms": spent("verify") / 1e6,
                "forwards_alone_ms": forwards,
                "overhead": wall / forwards,
            }
        return out

    def memory(self) -> dict[str, Any]:
        """Measure device memory after a few and after many short decodes, each with new sessions."""
        small, large = list(self.scale.shapes)[:2]
        below, above = self.model(small, self.fastest), self.model(large, self.fastest)
        held, marks = {}, {self.scale.runs // 10, self.scale.runs // 2, self.scale.runs}
        for run in range(1, self.scale.runs + 1):
            loop = _loop([below], above, DRAWN if run % 2 else Sampling(), [run % 1000, 2, 3], 8)
            deque(loop.rounds(), maxlen=0)
            if run in marks:
                del loop
                held[str(run)] = self.memory_held()
        return {"bytes_after_runs": held}

    def products(self, bandwidth: float) -> dict[str, dict[str, float | str]]:
        """Measure the bandwidth of the largest shape's products by rows, relative to the copy (1: equal)."""
        width, _, heads, kv_heads, inner = self.scale.shapes[list(self.scale.shapes)[2]]
        size = width // heads
        maps = {
            "qkv": ((heads + 2 * kv_heads) * size, width),
            "out": (width, heads * size),
            "gate, up": (2 * inner, width),
            "down": (width, inner),
        }
        found: dict[str, dict[str, float | str]] = {}
        for name, (to, come) in maps.items():
            # As many matrices as a model has, so that none is still cached when it is used again.
            matrices = [
                torch.randn(to, come, device=self.device, dtype=self.dtype) for _ in range(MANY)
            ]
            for rows in (1, 4, 6, 16):
                x = torch.randn(rows, come, device=self.device, dtype=self.dtype)
                us = self.many(
                    lambda x=x, matrices=matrices: tuple(F.linear(x, m) for m in matrices)
                )
                share = us if isinstance(us, str) else matrices[0].nbytes / (us / 1e6) / bandwidth
                found.setdefault(name, {})[str(rows)] = share
        return found

    def strict_rows(self, name: str) -> dict[str, Any]:
        """Compare the rows of a text fed one by one and in parts, bit by bit, in strict and usual mode."""
        found = {}
        for kind in ("strict", self.fastest):
            model, text = self.model(name, kind), [(7 * k) % 1000 for k in range(48)]
            alone, chain = (model.session(64) for _ in range(2))
            rows = np.concatenate([alone.forward([token], 1) for token in text])
            parts = np.concatenate(
                [chain.forward(text[a:b], b - a) for a, b in ((0, 1), (1, 6), (6, 23), (23, 48))]
            )
            same = bool(np.array_equal(parts, rows))
            if kind == "strict" and not same:
                raise RuntimeError(f"rows of {name} differ in strict mode")
            found["strict" if kind == "strict" else "usual"] = same
        return found

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
        return [
            {
                "kernel": r.key[:120],
                "per_step": r.count / 10,
                "us_per_step": r.self_device_time_total / 10,
            }
            for r in rows
        ]
