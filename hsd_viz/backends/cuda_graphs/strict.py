"""Strict mode: every forward pass has one width, and a row attends to its keys in the order of the text.

A library picks its kernels by shape, and kernels round differently: in bfloat16 the row of a token depends on how many
tokens are fed with it, so greedy decoding with drafts can part from plain decoding at a near-tie. With one width, one
bucket per decode, and a draft tree's keys gathered by position (elsewhere they are in the order of their places), a row
depends on its text alone: the same bits for any drafts. The price is the gathered copy of the keys, and padding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hsd_viz.backends.cuda_graphs.buffers import StaticCache
from hsd_viz.backends.cuda_graphs.forward import Forward, Rules

#: The width of every forward pass; more tokens are fed in several.
STRICT_WIDTH = 16


def lineages(n: int, parents: Sequence[int] | None) -> list[list[int]]:
    """Return for each of ``n`` fed tokens its ancestors among them and itself, the first one first."""
    if parents is None:
        return [list(range(k + 1)) for k in range(n)]
    found: list[list[int]] = []
    for k, parent in enumerate(parents):
        found.append([*(found[parent] if parent >= 0 else ()), k])
    return found


class StrictFeed:
    """Up to ``width`` of the fed tokens: ids, positions, places ``[width]`` and the place of each position
    ``[width, bucket]``.
    """

    def __init__(self, width: int, bucket: int, device: torch.device) -> None:
        self.width, self.bucket = width, bucket
        make = lambda *shape: torch.zeros(*shape, dtype=torch.long, device=device)
        self.ids, self.positions, self.places, self.order = make(width), make(width), make(width), make(width, bucket)

    def fill(self, ids: Tensor, cached: int, begin: int, lines: Sequence[Sequence[int]]) -> None:
        """Set the tokens from number ``begin`` on of those fed after ``cached``; ``ids`` ``[<= width]`` are theirs."""
        order = np.tile(np.arange(self.bucket), (self.width, 1))
        positions = np.zeros(self.width, dtype=np.int64)  # padding sees the first place alone
        for row, line in enumerate(lines):
            order[row, cached : cached + len(line)] = cached + np.array(line)
            positions[row] = cached + len(line) - 1
        self.ids[: len(ids)].copy_(ids)
        for tensor, values in (
            (self.positions, positions),
            (self.places, cached + begin + np.arange(self.width)),
            (self.order, order),
        ):
            source = torch.from_numpy(values)
            on_gpu = tensor.device.type == "cuda"
            tensor.copy_(source.pin_memory() if on_gpu else source, non_blocking=on_gpu)


def run_strict(forward: Forward, rules: Rules, cache: StaticCache, feed: StrictFeed) -> Tensor:
    """Run the forward pass of ``feed``: the logits ``[width, V]``, padding included."""
    index = cache.index[: feed.bucket]
    cache.aim(feed.places, feed.places[:1], feed.bucket)
    cache.order = feed.order
    mine, theirs = feed.positions[:, None], index[None, :]
    seen = theirs <= mine
    masks = {
        kind: torch.where(seen if rule is None else seen & rule(mine, theirs), cache.open, cache.shut)
        for kind, rule in rules.items()
    }
    return forward(feed.ids, feed.positions, masks, cache, feed.width)
