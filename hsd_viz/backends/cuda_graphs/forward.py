"""A model's arithmetic over static buffers: any Hugging Face module, run as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from torch import Tensor
from transformers import PreTrainedConfig

from hsd_viz.backends.cuda_graphs.buffers import StaticCache
from hsd_viz.decoding.masks import CHUNKED, FULL, SLIDING, layer_kinds
from hsd_viz.decoding.model import HFModel

#: Widths that have a graph of their own; a forward of another width up to the last is padded to the next.
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
#: A mask ``[width, bucket]`` for each kind of layer that a model has, to be added to the scores.
Seen = dict[str, Tensor]
#: Which positions a layer of a kind may look at, of those before it; ``None``: all.
Rules = dict[str, Callable[[Tensor, Tensor], Tensor] | None]


class Forward(Protocol):
    """Reads ids and positions ``[width]`` and returns the logits ``[rows, V]`` of the last ``rows``."""

    def __call__(self, ids: Tensor, positions: Tensor, seen: Seen, cache: StaticCache, rows: int) -> Tensor: ...

    def prepare(self, cache: StaticCache) -> None:
        """Called when the buffers of ``cache`` are new or have moved."""


def rules_of(config: PreTrainedConfig) -> Rules:
    """The kinds of layers in a config and what bounds the sight of each."""
    rules: Rules = dict.fromkeys(sorted(layer_kinds(config)))
    window, chunk = getattr(config, "sliding_window", None), getattr(config, "attention_chunk_size", None)
    if SLIDING in rules and window is not None:
        rules[SLIDING] = lambda query, key: query - key < window
    if CHUNKED in rules and chunk is not None:
        rules[CHUNKED] = lambda query, key: query // chunk == key // chunk
    assert rules.keys() <= {FULL, SLIDING, CHUNKED}
    return rules


class ModuleForward:
    """The Hugging Face module itself; it finds our buffers where it expects its cache."""

    def __init__(self, model: HFModel) -> None:
        self._model = model

    def prepare(self, cache: StaticCache) -> None:
        pass

    def __call__(self, ids: Tensor, positions: Tensor, seen: Seen, cache: StaticCache, rows: int) -> Tensor:
        masks = {kind: mask[None, None] for kind, mask in seen.items()}
        logits = self._model.module(
            input_ids=ids[None],
            attention_mask=masks if len(masks) > 1 else next(iter(masks.values())),
            past_key_values=cache,
            use_cache=True,
            **self._model.options(positions[None], rows),
        ).logits
        return logits[0, -rows:, : self._model.vocab_size]
