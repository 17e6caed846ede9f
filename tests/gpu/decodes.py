"""Decodes on any device, in any runtime."""

from __future__ import annotations

import torch
from ladders import random_model
from tape import TapeCapturer

from hsd_viz.backends.choose import backend_for, open_session
from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import HFModel
from hsd_viz.drafting import make_drafter
from hsd_viz.stack import DraftSource

STACKS = {
    "one draft": ([4], None),
    "two drafts": ([3, 6], None),
    "database": ([], DraftSource("db", ("context",))),
    "rival": ([], DraftSource("lookup")),
    "database under a draft": ([4], DraftSource("db", ("context",))),
}
#: ``fused`` has the Triton kernels, where they run: on a GPU, not in float64.
RUNTIMES = ("eager", "graphs", "lean", "fused")


def in_runtime(runtime: str, model: HFModel):
    """The same weights in a runtime; on the CPU graphs are tapes."""
    if runtime == "eager":
        return model
    capturer = None if model.device.type == "cuda" else TapeCapturer()
    kernels = None if runtime == "fused" else ()
    made = GraphModel(model, lean=runtime != "graphs", kernels=kernels, capturer=capturer)
    assert made.runtime == "cuda-graphs" and made.not_fused is None, made.path
    return made


def model(noise: float, device: str, dtype: torch.dtype, runtime: str = "eager"):
    return in_runtime(runtime, random_model(0, noise, device, dtype))


def loop_of(models, lookaheads, bottom, prompt, tokens, sampling, positions=256) -> Loop:
    levels = [
        Level(f"m{k}", open_session(m, len(prompt) + tokens), look)
        for k, (m, look) in enumerate(zip(models, [*lookaheads, None], strict=True))
    ]
    drafter = make_drafter(bottom, costs=None) if bottom else None
    backend = backend_for(models[-1])
    loop = Loop(levels, drafter, sampling, prompt, max_new_tokens=tokens, positions=positions, backend=backend)
    for _ in loop.prefill():
        pass
    return loop


def run(models, lookaheads, bottom, prompt, tokens, sampling) -> list[int]:
    loop = loop_of(models, lookaheads, bottom, prompt, tokens, sampling)
    for _ in loop.rounds():
        pass
    return loop.text[len(prompt) :]


def gap_after(module, ids: list[int]) -> float:
    """The gap between the two best logits of the float64 row of these very weights after ``ids``."""
    import copy

    if module.dtype != torch.float64 or module.device.type != "cpu":
        if not hasattr(module, "in_double"):
            object.__setattr__(module, "in_double", copy.deepcopy(module).to("cpu", torch.float64))
        module = module.in_double
    with torch.inference_mode():
        best = module(torch.tensor([ids]), use_cache=False).logits[0, -1].topk(2).values
    return float(best[0] - best[1])


def first_difference(a: list[int], b: list[int]) -> int | None:
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), None)
