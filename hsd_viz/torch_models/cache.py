"""A key-value cache that rolls back by lowering one integer, and the masks over it.

Every layer keeps all of the text, so that it can roll back; a window or a chunk is a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
FIRST_CAPACITY = 512


def capacity(length: int, places: int = FIRST_CAPACITY) -> int:
    """Return the places of a cache for ``length`` tokens: ``places``, doubled when it is full."""
    while places < length:
        places *= 2
    return places


class _Extent:
    """How many places are filled. Layers refer to this and not to the cache: a cycle would keep memory alive."""

    __slots__ = ("length",)

    def __init__(self) -> None:
        self.length = 0


class _RollingLayer(CacheLayerMixin):
    """Keys and values of one layer ``[1, heads, capacity, head_dim]``, ``extent.length`` places filled."""

    is_compileable = False
    is_croppable = True
    is_sliding = False

    def __init__(self, extent: _Extent) -> None:
        super().__init__()
        self._extent = extent

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.keys = key_states.new_empty((*key_states.shape[:2], 0, key_states.shape[3]))
        self.values = value_states.new_empty((*value_states.shape[:2], 0, value_states.shape[3]))
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self._extent.length
        end = start + key_states.shape[2]
        if end > self.keys.shape[2]:
            self._grow(end)
        self.keys[:, :, start:end] = key_states
        self.values[:, :, start:end] = value_states
        return self.keys[:, :, :end], self.values[:, :, :end]

    def _grow(self, need: int) -> None:
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = old.new_empty((*old.shape[:2], capacity(need), old.shape[3]))
            new[:, :, : old.shape[2]] = old
            setattr(self, name, new)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._extent.length + query_length, 0

    def get_seq_length(self) -> int:
        return self._extent.length

    def get_max_length(self) -> int:
        return -1


class RollingCache(Cache):
    """A cache for batch size 1: ``length`` places are valid; a forward pass writes after them and the caller then sets
    ``length``.

    Rolling back is lowering ``length``; stale places are overwritten by the next forward pass and never attended to.
    """

    def __init__(self, layers: int) -> None:
        self._extent = _Extent()
        super().__init__(layers=[_RollingLayer(self._extent) for _ in range(layers)])

    @property
    def length(self) -> int:
        return self._extent.length

    @length.setter
    def length(self, length: int) -> None:
        self._extent.length = length

    def gather(self, base: int, places: list[int]) -> None:
        """Move the entries at ``places`` as :func:`move` does."""
        move(self.layers, base, places)


def move(layers: Sequence[CacheLayerMixin], base: int, places: list[int]) -> None:
    """Move the entries at ``places`` (ascending) to ``base``, ``base + 1``, ...: the accepted path of a tree."""
    if all(place == base + k for k, place in enumerate(places)):
        return
    indices: dict[torch.device, Tensor] = {}
    for layer in layers:
        if not layer.is_initialized:  # it uses another layer's keys
            continue
        device = layer.keys.device
        if device not in indices:
            indices[device] = torch.tensor(places, device=device)
        for buffer in (layer.keys, layer.values):
            buffer[:, :, base : base + len(places)] = buffer[:, :, indices[device]]


def positions_of(n: int, cached: int, parents: Sequence[int] | None) -> list[int]:
    """Return the positions in the text of ``n`` fed tokens; ``parents`` as in ``Session.forward``."""
    if parents is None:
        return list(range(cached, cached + n))
    positions: list[int] = []
    for parent in parents:
        positions.append(cached if parent < 0 else positions[parent] + 1)
    return positions


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


def layer_limits(config: PreTrainedConfig) -> dict[str, tuple[int, Callable[[Tensor, Tensor], Tensor]]]:
    """Return by kind of layer how far it reaches and which positions (query, key) it may attend to, where not all."""
    found: dict[str, tuple[int, Callable[[Tensor, Tensor], Tensor]]] = {}
    kinds = layer_kinds(config)
    window, chunk = getattr(config, "sliding_window", None), getattr(config, "attention_chunk_size", None)
    if SLIDING in kinds and window is not None:
        found[SLIDING] = window, lambda query, key: query - key < window
    if CHUNKED in kinds and chunk is not None:
        found[CHUNKED] = chunk, lambda query, key: query // chunk == key // chunk
    return found


class Masks:
    """The attention masks of one model.

    Masks are over *positions in the text* (a tree node's is its depth), not over places in the cache. ``additive``
    gives masks to add to the scores, in ``dtype``, for models that run transformers' own ``eager`` attention; the
    others take booleans.
    """

    def __init__(self, config: PreTrainedConfig, device: torch.device, dtype: torch.dtype) -> None:
        #: The kinds of its layers.
        self.kinds = layer_kinds(config)
        self._device = device
        self._additive = dtype if getattr(config, "_attn_implementation", None) == "eager" else None
        self._limits = layer_limits(config)

    def make(self, cached: int, parents: Sequence[int] | None, n: int) -> Tensor | dict[str, Tensor] | None:
        """Return what each of ``n`` fed tokens may attend to: ``[1, 1, n, cached + n]``, or one such mask per kind of
        layer.

        ``parents`` as in :meth:`~hsd_viz.decoding.session.Session.forward`. ``None`` is returned where a single
        token sees all.
        """
        if n == 1 and not self._limited(cached + 1):
            return None
        masks = {kind: self.finished(seen) for kind, seen in self.seen(cached, parents, n).items()}
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _limited(self, length: int) -> set[str]:
        """The kinds of layers that do not reach over ``length`` tokens."""
        return {kind for kind, (reach, _) in self._limits.items() if length > reach}

    def seen(self, cached: int, parents: Sequence[int] | None, n: int) -> dict[str, Tensor]:
        """Return by kind of layer which places of the cache each of ``n`` fed tokens attends to: booleans ``[n, cached
        + n]`` on the host.
        """
        if parents is None:
            seen = torch.ones(n, cached + n, dtype=torch.bool).tril(cached)
        else:
            seen = torch.zeros(n, cached + n, dtype=torch.bool)
            seen[:, :cached] = True
            for i, parent in enumerate(parents):
                if parent >= 0:
                    seen[i] = seen[parent]
                seen[i, cached + i] = True
        found = dict.fromkeys(self.kinds, seen)
        if limited := self._limited(cached + n):
            place = torch.tensor(positions_of(n, cached, parents))
            keys = torch.cat([torch.arange(cached), place])
            for kind in limited:
                found[kind] = seen & self._limits[kind][1](place[:, None], keys[None, :])
        return found

    def finished(self, seen: Tensor) -> Tensor:
        """Return a mask ``[n, places]`` as the model takes it: ``[1, 1, n, places]`` on its device."""
        seen = seen.to(self._device)[None, None]
        if self._additive is None:
            return seen
        lowest = torch.finfo(self._additive).min
        return torch.zeros(seen.shape, dtype=self._additive, device=self._device).masked_fill_(~seen, lowest)
