"""Steps of transformers' static cache under torch.compile beside our forward passes, on the same weights.

The hand-made forward is worth its lines only as long as this is clearly slower (by 10 % at least).
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import StaticCache

from benchmarks.gpu.steps import Steps
from hsd_viz.backends.choose import open_session

WIDTHS = (1, 5, 16)


@torch.inference_mode()
def compare(bench: Steps, name: str) -> dict[str, Any]:
    """Return ms of a step behind the context by width: compiled, ours, and their ratio."""
    on_gpu, context = bench.device.type == "cuda", bench.scale.context
    torch._inductor.config.coordinate_descent_tuning = on_gpu
    ours, module = bench.model(name, bench.fastest), bench.model(name, "eager").module
    compiled = torch.compile(module.forward, mode="reduce-overhead" if on_gpu else "default", dynamic=False)
    session = open_session(ours, context + WIDTHS[-1])
    session.forward([k % 1000 for k in range(context)], 1)
    found: dict[str, Any] = {"path": ours.path}
    for width in WIDTHS:
        # Every step of the timing appends to the cache: it has room for all.
        room = context + width * (bench.scale.repeats + 8)
        cache = StaticCache(config=module.config, max_cache_len=room)
        ids = torch.full((1, width), 7, device=bench.device)
        module(input_ids=ids.new_ones(1, context), past_key_values=cache, use_cache=True)
        filled = context

        def theirs(ids=ids, cache=cache, width=width) -> None:
            nonlocal filled
            places = torch.arange(filled, filled + width, device=bench.device)[None]
            compiled(input_ids=ids, position_ids=places, past_key_values=cache, use_cache=True)
            filled += width

        def mine(width=width) -> None:
            session.forward([7] * width, width)
            session.truncate(context)

        row = {"compiled_ms": bench.time(theirs), "ours_ms": bench.time(mine)}
        found[str(width)] = row | {"compiled_over_ours": row["compiled_ms"] / row["ours_ms"]}
    return found
