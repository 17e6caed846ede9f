"""The key-value cache of compiled models: buffers of a fixed size that never move, so that graphs
can use them.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, StaticLayer

#: The number of places in the smallest cache. Larger caches have this number times a power of two.
FIRST_CAPACITY = 256


def capacity_for(length: int) -> int:
    """Return the number of places in the smallest cache for ``length`` tokens."""
    places = FIRST_CAPACITY
    while places < length:
        places *= 2
    return places


class _StaticLayer(StaticLayer):
    """A static layer of transformers. A forward pass writes from place ``start`` on, a number in
    device memory.
    """

    def __init__(self, places: int, start: Tensor) -> None:
        super().__init__(places)
        self._start = start
        self.is_initialized: bool

    def update(
        self, key_states: Tensor, value_states: Tensor, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.keys = self._buffer(key_states)
            self.values = self._buffer(value_states)
            self.is_initialized = True
        places = torch.arange(key_states.shape[2], device=key_states.device) + self._start
        self.keys.index_copy_(2, places, key_states)
        self.values.index_copy_(2, places, value_states)
        return self.keys, self.values

    def _buffer(self, states: Tensor) -> Tensor:
        batch, heads, _, size = states.shape
        return states.new_zeros((batch, heads, self.max_cache_len, size))

    def get_seq_length(self) -> int:
        return 0


class StaticCache(Cache):
    """The cache and the text of a sequence of up to ``places`` tokens, with batch size 1.

    Attributes:
        places: the largest number of tokens.
        start: the place of the first token of the current forward pass, ``[]``.
        text: the token ids by place, ``[places]``.
        boards: the boards of decodes whose target uses this cache, by their configuration.
    """

    def __init__(self, layers: int, places: int, device: torch.device) -> None:
        self.places = places
        self.start = torch.zeros((), dtype=torch.long, device=device)
        self.text = torch.zeros(places, dtype=torch.long, device=device)
        self.boards: dict[Any, Any] = {}
        super().__init__(layers=[_StaticLayer(places, self.start) for _ in range(layers)])

    def used_layers(self) -> list[_StaticLayer]:
        """Return the layers with buffers; other layers read those of another layer."""
        return [layer for layer in self.layers if layer.is_initialized]

    def copy_from(self, other: StaticCache) -> None:
        """Copy the text, keys and values of a smaller cache of the same model."""
        n = other.places
        self.text[:n] = other.text
        for large, small in zip(self.used_layers(), other.used_layers(), strict=True):
            large.keys[:, :, :n] = small.keys
            large.values[:, :, :n] = small.values


class CachePool:
    """Unused caches by their number of places, reused because graphs belong to a cache."""

    def __init__(self) -> None:
        self._free: dict[int, list[StaticCache]] = {}
        # Reentrant, because a session may be garbage-collected while its thread holds the lock.
        self._lock = threading.RLock()

    def take(self, places: int) -> StaticCache | None:
        """Return an unused cache with ``places`` places; ``None`` if there is none."""
        with self._lock:
            free = self._free.get(places)
            return free.pop() if free else None

    def give_back(self, cache: StaticCache) -> None:
        """Return a cache to the pool."""
        with self._lock:
            self._free.setdefault(cache.places, []).append(cache)

    def lend(self, owner: object, cache: StaticCache) -> weakref.finalize:
        """Return ``cache`` to the pool when ``owner`` is deleted or when the result is called."""
        finalizer = weakref.finalize(owner, self.give_back, cache)
        finalizer.atexit = False
        return finalizer
