"""Which places each fed token may attend to, for layers of every kind that can roll back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedConfig

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"


def layer_kinds(config: PreTrainedConfig) -> frozenset[str]:
    """Return the kinds of layers of a decoder, by transformers' names: from its config's list, else from its limits.

    The same reading as transformers' own (``create_masks_for_generate``): with no list of layer types, a window or a
    chunk size holds for all layers.
    """
    if types := getattr(config, "layer_types", None):
        return frozenset(types)
    if getattr(config, "sliding_window", None) is not None and getattr(config, "use_sliding_window", True):
        return frozenset({SLIDING})
    return frozenset({FULL if getattr(config, "attention_chunk_size", None) is None else CHUNKED})


class Masks:
    """The attention masks of one model.

    Every layer keeps all of the text in its cache, so that it can roll back; a window or a chunk is a mask over it.
    Masks are over *positions in the text* (a tree node's is its depth), not over places in the cache. ``additive``
    gives masks to add to the scores, in ``dtype``, for models that run transformers' own ``eager`` attention; the
    others take booleans.
    """

    def __init__(self, config: PreTrainedConfig, device: torch.device, dtype: torch.dtype) -> None:
        self._kinds = layer_kinds(config)
        self._device = device
        self._additive = dtype if getattr(config, "_attn_implementation", None) == "eager" else None
        self._limits: dict[str, tuple[int, Callable[[Tensor, Tensor], Tensor]]] = {}
        window, chunk = getattr(config, "sliding_window", None), getattr(config, "attention_chunk_size", None)
        if SLIDING in self._kinds and window is not None:
            self._limits[SLIDING] = window, lambda query, key: query - key < window
        if CHUNKED in self._kinds and chunk is not None:
            self._limits[CHUNKED] = chunk, lambda query, key: query // chunk == key // chunk

    def make(self, cached: int, parents: Sequence[int] | None, n: int) -> Tensor | dict[str, Tensor] | None:
        """Return what each of ``n`` fed tokens may attend to: ``[1, 1, n, cached + n]``, or one such mask per kind of
        layer.

        ``parents`` as in :meth:`~hsd_viz.decoding.model.CachedModel.forward`. ``None`` is returned where a single token
        sees all.
        """
        limited = {kind for kind, (reach, _) in self._limits.items() if cached + n > reach}
        if n == 1 and not limited:
            return None
        if parents is None:
            seen = torch.ones(n, cached + n, dtype=torch.bool).tril(cached)
            place = torch.arange(cached, cached + n)
        else:
            seen = torch.zeros(n, cached + n, dtype=torch.bool)
            seen[:, :cached] = True
            places: list[int] = []
            for i, parent in enumerate(parents):
                if parent >= 0:
                    seen[i] = seen[parent]
                seen[i, cached + i] = True
                places.append(places[parent] + 1 if parent >= 0 else cached)
            place = torch.tensor(places)
        full = self._finish(seen)
        masks = dict.fromkeys(self._kinds, full)
        if limited:
            keys = torch.cat([torch.arange(cached), place])
            for kind in limited:
                masks[kind] = self._finish(seen & self._limits[kind][1](place[:, None], keys[None, :]))
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _finish(self, seen: Tensor) -> Tensor:
        seen = seen.to(self._device)[None, None]
        if self._additive is None:
            return seen
        lowest = torch.finfo(self._additive).min
        return torch.zeros(seen.shape, dtype=self._additive, device=self._device).masked_fill_(~seen, lowest)
