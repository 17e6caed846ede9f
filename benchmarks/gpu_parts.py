"""The parts of ``python -m benchmarks.gpu``; each returns its figures."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import GenerationConfig

from benchmarks.gpu_tools import MANY, RUNTIMES, Scale, Tools
from hsd_viz.backends.choose import backend_for
from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.backends.cuda_graphs.buffers import bucket_of
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.settings import Sampling
from hsd_viz.ladder.load import load_model, load_tokenizer
from hsd_viz.ladder.pad import pad, padded_name
from hsd_viz.machine import describe
from hsd_viz.prompts.suites import load_suite

WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16)
LOOKAHEAD = 4
DRAWN = Sampling(temperature=1.0, seed=1)
SAMPLINGS = {"greedy": Sampling(), "drawn": DRAWN}


def _loop(
    drafts: Sequence[HFModel | GraphModel],
    target: HFModel | GraphModel,
    sampling: Sampling,
    prompt: list[int],
    tokens: int,
) -> Loop:
    """Return a loop behind its prefill, with lookaheads of one, two, ... times :data:`LOOKAHEAD`."""
    levels = [Level(d.name, d.session(), LOOKAHEAD * (k + 1)) for k, d in enumerate(drafts)]
    levels.append(Level("target", target.session()))
    loop = Loop(levels, None, sampling, prompt, max_new_tokens=tokens, backend=backend_for(target))
    deque(loop.prefill(), maxlen=0)
    return loop


class Bench(Tools):
    """A measurement on one device; :meth:`run` fills ``result`` part by part."""

    def __init__(self, device: torch.device, scale: Scale, seconds: float, compiled: bool) -> None:
        super().__init__(device, scale)
        self.compiled, self._end = compiled, perf_counter() + seconds
        self.result: dict[str, Any] = {
            "machine": describe(),
            "dtype": str(self.dtype).removeprefix("torch."),
            "left_out": {},
        }

    def run(self, say: Callable[[str], None]) -> dict[str, Any]:
        """Run every part in order of importance."""
        names = list(self.scale.shapes)
        kinds = RUNTIMES if self.compiled else RUNTIMES[:3]
        parts: dict[str, Callable[[], Any]] = {"bandwidth": self.bandwidth}
        for name in reversed(names):
            for kind in (kinds[2], kinds[0], kinds[1]):
                parts[f"steps/{name}/{kind}"] = partial(self.steps, name, kind)
        for draft, target in ((names[0], names[2]), (names[1], names[2]), (names[0], names[1])):
            parts[f"rounds/{draft}:{LOOKAHEAD} > {target}"] = partial(self.rounds, draft, target)
        parts["memory"] = self.memory
        parts["padded"] = self.padded
        parts["attention"], parts["products"] = self.attention, self.products
        parts[f"kernels/{names[2]}"] = partial(self.kernels, names[2])
        for name in (names[2], names[0], names[1]) if self.compiled else ():
            parts[f"steps/{name}/{kinds[3]}"] = partial(self.steps, name, kinds[3])
        for path, part in parts.items():
            if perf_counter() > self._end:
                self.result["left_out"][path] = "out of time"
                continue
            started = perf_counter()
            try:
                found = part()
            except (RuntimeError, ValueError) as error:
                self.result["left_out"][path] = (str(error).strip().splitlines() or [type(error).__name__])[0]
                self.forget()
                continue
            place = self.result
            *above, last = path.split("/")
            for key in above:
                place = place.setdefault(key, {})
            place[last] = found
            say(f"{path}: {perf_counter() - started:.1f} s")
        return self.result

    # --- parts -----------------------------------------------------------------------------------------------------

    def bandwidth(self) -> dict[str, float]:
        """Measure a large copy on the device, counting bytes read and bytes written."""
        source = torch.zeros(self.scale.copied, dtype=torch.uint8, device=self.device)
        to = torch.empty_like(source)
        ms = self.time(lambda: to.copy_(source))
        return {"copied_bytes": self.scale.copied, "ms": ms, "bytes_per_second": 2 * self.scale.copied / ms * 1e3}

    def steps(self, name: str, kind: str) -> dict[str, Any]:
        """Measure a forward pass of each width behind a context, and a draft in one launch; medians in ms."""
        model = self.model(name, kind)
        session, context = model.session(), self.scale.context
        session.forward([k % 1000 for k in range(context)], 1)

        def step(width: int) -> None:
            session.forward([7] * width, width)
            session.truncate(context)

        # Compiling a width takes seconds.
        widths = WIDTHS if "compiled" not in kind else (1, 2, 4, 8, 16)
        found: dict[str, Any] = {"width_ms": {str(width): self.time(partial(step, width)) for width in widths}}
        if session.can_sample:

            def draft(sampling: Sampling) -> None:
                chances = [] if sampling.greedy else [0.5] * LOOKAHEAD
                session.sample([7], LOOKAHEAD, sampling, chances, frozenset())
                session.truncate(context)

            ms = {label: self.time(partial(draft, sampling)) for label, sampling in SAMPLINGS.items()}
            found["draft_ms"] = {"tokens": LOOKAHEAD} | ms
        weights = self.weights(name)
        bound = weights / self.result["bandwidth"]["bytes_per_second"] * 1e3
        found |= {
            "parameters": model.parameters,
            "weight_bytes": weights,
            "bound_ms": bound,
            "ratio_to_bound": found["width_ms"]["1"] / bound,
            "runtime": model.runtime,
            "reason": getattr(model, "reason", None),
            "not_lean": getattr(model, "not_lean", None),
        }
        return found

    def rounds(self, draft: str, target: str) -> dict[str, Any]:
        """Measure rounds of the loop, greedy and sampled, and the isolated cost of their launch and forward pass."""
        below, above = self.model(draft, RUNTIMES[2]), self.model(target, RUNTIMES[2])
        lone = self.result["steps"]
        width = next(w for w in WIDTHS if w >= LOOKAHEAD + 1)
        out = {}
        for label, sampling in SAMPLINGS.items():
            walls = []
            for _ in range(2):  # the first run captures
                prompt = [k % 1000 for k in range(self.scale.context)]
                loop = _loop([below], above, sampling, prompt, self.scale.rounds * (LOOKAHEAD + 1))
                loop.log.take()
                started = perf_counter()
                for n, _ in enumerate(loop.rounds(), 1):
                    if n == self.scale.rounds:
                        break
                walls.append((perf_counter() - started) / n * 1e3)
            calls, rounds = loop.log.calls, loop.log.rounds
            forwards = lone[draft][RUNTIMES[2]]["draft_ms"][label] + lone[target][RUNTIMES[2]]["width_ms"][str(width)]
            wall = median(r.duration_ns for r in rounds) / 1e6
            out[label] = {
                "round_ms": wall,
                "round_ms_mean": walls[-1],
                "draft_ms": median(c.duration_ns for c in calls if c.kind == "draft") / 1e6,
                "verify_ms": median(c.duration_ns for c in calls if c.kind == "verify") / 1e6,
                "forwards_alone_ms": forwards,
                "overhead": wall / forwards,
            }
        return out

    def memory(self) -> dict[str, Any]:
        """Measure device memory after a few and after many short decodes, each with new sessions."""
        small, large = list(self.scale.shapes)[:2]
        below, above = self.model(small, RUNTIMES[2]), self.model(large, RUNTIMES[2])
        held, marks = {}, {self.scale.runs // 10, self.scale.runs // 2, self.scale.runs}
        for run in range(1, self.scale.runs + 1):
            loop = _loop([below], above, DRAWN if run % 2 else Sampling(), [run % 1000, 2, 3], 8)
            deque(loop.rounds(), maxlen=0)
            if run in marks:
                del loop
                held[str(run)] = self.memory_held()
        return {"bytes_after_runs": held, "graphs": below.captures + above.captures}

    def padded(self) -> dict[str, Any]:
        """Measure the shipped models with a padded target, and transformers' assisted generation."""
        layers, inner = self.scale.padding
        target = HFModel(padded_name("target", layers), pad(self._ladder("target"), layers, inner=inner))
        drafts = {name: HFModel(name, self._ladder(name)) for name in ("nano", "small")}
        runs = {kind: (lambda m: m) if kind == "eager" else GraphModel for kind in ("graphs, lean", "eager")}
        texts = [p.text for p in load_suite("heldout").limited(self.scale.prompts).prompts]
        tokenizer = load_tokenizer()
        prompts = [tokenizer.encode(text)[-self.scale.context :] for text in texts]
        decoders: dict[str, Callable[[list[int]], tuple[list[int], int]]] = {}
        for kind, make in runs.items():
            built = {"target": make(target), **{name: make(model) for name, model in drafts.items()}}
            for stack in ((), ("nano",), ("nano", "small")):
                label = " > ".join([*(f"{name}:{LOOKAHEAD * (k + 1)}" for k, name in enumerate(stack)), target.name])
                decoders[f"{label} ({kind})"] = partial(self._decode, [built[name] for name in stack], built["target"])
        decoders["transformers generate"] = partial(self._generate, target.module, None)
        decoders["transformers assisted by nano"] = partial(self._generate, target.module, drafts["nano"].module)
        for decode in decoders.values():
            decode(prompts[0]), decode(prompts[0])
        seconds = {label: 0.0 for label in decoders}
        outputs: dict[str, list[tuple[list[int], int]]] = {label: [] for label in decoders}
        for prompt in prompts:  # interleaved: background load affects all decoders equally
            for label, decode in decoders.items():
                started = perf_counter()
                outputs[label].append(decode(prompt))
                seconds[label] += perf_counter() - started
        plain = [tokens for tokens, _ in next(iter(outputs.values()))]
        rows = {}
        for label, found in outputs.items():
            tokens = sum(len(t) for t, _ in found)
            rows[label] = {
                "tokens_per_second_with_prefill": tokens / seconds[label],
                "mean_acceptance_length": tokens / sum(f for _, f in found),
                "identical_to_plain": [sum(t == p for (t, _), p in zip(found, plain, strict=True)), len(plain)],
            }
        sizes = {"inner": inner, "parameters": target.parameters, "new_tokens": self.scale.tokens}
        return {"target": target.name, **sizes, "rows": rows}

    def kernels(self, name: str) -> list[dict[str, Any]] | str:
        """Profile a step of width 1 by time on the device."""
        if self.device.type != "cuda":
            return "no GPU"
        from torch.profiler import ProfilerActivity, profile

        session = self.model(name, RUNTIMES[2]).session()
        session.forward([7] * self.scale.context, 1)
        for _ in range(3):
            session.forward([7], 1)
        with profile(activities=[ProfilerActivity.CUDA]) as watched:
            for _ in range(10):
                session.forward([7], 1)
            torch.cuda.synchronize()
        rows = sorted(watched.key_averages(), key=lambda row: -row.self_device_time_total)[:20]
        return [
            {"kernel": r.key[:120], "per_step": r.count / 10, "us_per_step": r.self_device_time_total / 10}
            for r in rows
        ]

    def attention(self) -> dict[str, dict[str, float | str]]:
        """Measure one attention of the largest shape behind the context in µs, by query rows and kernel."""
        width, _, heads, kv_heads, _ = self.scale.shapes[list(self.scale.shapes)[2]]
        size, bucket = width // heads, bucket_of(self.scale.context + 16)
        make = partial(torch.randn, device=self.device, dtype=self.dtype)
        keys, values = make(1, kv_heads, bucket, size), make(1, kv_heads, bucket, size)
        kernels: dict[str, Any] = {"torch's choice": None}
        if self.device.type == "cuda":
            kernels |= {k: getattr(SDPBackend, k) for k in ("EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH")}
        found: dict[str, dict[str, float | str]] = {}
        for rows in (1, 6, 16):
            queries, mask = make(1, heads, rows, size)[:, :kv_heads], make(1, 1, rows, bucket)
            for name, kernel in kernels.items():

                def work(kernel=kernel, queries=queries, mask=mask) -> tuple[torch.Tensor, ...]:
                    with nullcontext() if kernel is None else sdpa_kernel(kernel):
                        return tuple(
                            F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask) for _ in range(MANY)
                        )

                found.setdefault(str(rows), {})[name] = self.many(work)
        return found

    def products(self) -> dict[str, dict[str, float | str]]:
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
            matrices = [torch.randn(to, come, device=self.device, dtype=self.dtype) for _ in range(MANY)]
            for rows in (1, 4, 6, 16):
                x = torch.randn(rows, come, device=self.device, dtype=self.dtype)
                us = self.many(lambda x=x, matrices=matrices: tuple(F.linear(x, m) for m in matrices))
                copy = self.result["bandwidth"]["bytes_per_second"]
                share = us if isinstance(us, str) else matrices[0].nbytes / (us / 1e6) / copy
                found.setdefault(name, {})[str(rows)] = share
        return found

    def _ladder(self, name: str) -> torch.nn.Module:
        return load_model(name, device=str(self.device), dtype=self.dtype)

    def _decode(self, drafts: list, target, prompt: list[int]) -> tuple[list[int], int]:
        loop = _loop(drafts, target, Sampling(), prompt, self.scale.tokens)
        rounds = sum(1 for _ in loop.rounds())
        return loop.text[len(prompt) :], rounds

    @torch.inference_mode()
    def _generate(
        self, target: torch.nn.Module, assistant: torch.nn.Module | None, prompt: list[int]
    ) -> tuple[list[int], int]:
        forwards = 0

        def count(*_: Any) -> None:
            nonlocal forwards
            forwards += 1

        ids = torch.tensor([prompt], device=self.device)
        config = GenerationConfig(max_new_tokens=self.scale.tokens, do_sample=False, pad_token_id=0)
        hook = target.register_forward_hook(count)
        options = {"attention_mask": torch.ones_like(ids), "generation_config": config}
        try:
            found = target.generate(ids, **options, **({} if assistant is None else {"assistant_model": assistant}))
        finally:
            hook.remove()
        return found[0, len(prompt) :].tolist(), forwards
