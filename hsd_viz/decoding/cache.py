"""A key-value cache that rolls back by lowering one integer."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

_FIRST_CAPACITY = 512


def capacity(length: int) -> int:
    """Return the places of a cache for ``length`` tokens: it doubles when it is full, so that each is copied about
    once."""
    places = _FIRST_CAPACITY
    while places < length:
        places *= 2
    return places


class _Extent:
    """How many places are filled. Layers refer to this and not to the cache: without a reference cycle all memory is
    released at once."""

    __slots__ = ("length",)

    def __init__(self) -> None:
        self.length = 0


class _RollingLayer(CacheLayerMixin):
    """Keys and values of one layer in buffers ``[1, heads, capacity, head_dim]`` of which ``extent.length`` places are
    filled."""

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
        """Move the entries at ``places`` (ascending) to ``base``, ``base + 1``, ...: the accepted path of a tree."""
        if all(place == base + k for k, place in enumerate(places)):
            return
        indices: dict[torch.device, Tensor] = {}
        for layer in self.layers:
            if not layer.is_initialized:  # it uses another layer's keys
                continue
            device = layer.keys.device
            if device not in indices:
                indices[device] = torch.tensor(places, device=device)
            for buffer in (layer.keys, layer.values):
                buffer[:, :, base : base + len(places)] = buffer[:, :, indices[device]]
