"""The key-value cache of compiled models: buffers of a fixed size that never move, so that any
graph may use them.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, StaticLayer

#: Places of the smallest cache; larger ones have twice as many, and so on.
FIRST_CAPACITY = 256


def capacity_for(length: int) -> int:
    """Return the places of the smallest cache that holds ``length`` tokens."""
    places = FIRST_CAPACITY
    while places < length:
        places *= 2
    return places


class _StaticLayer(StaticLayer):
    """transformers' static layer; a forward pass writes from place ``start`` on, a number that
    the device reads.
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
    """The cache of one sequence of up to ``places`` tokens, batch size 1, and the text that it is
    the cache of.

    Attributes:
        places: how many tokens it holds.
        start: the place of the first token of the current forward pass, ``[]``.
        text: token ids by place, ``[places]``.
        boards: the state of decodes of which this is the target's cache, with what they are for.
    """

    def __init__(self, layers: int, places: int, device: torch.device) -> None:
        self.places = places
        self.start = torch.zeros((), dtype=torch.long, device=device)
        self.text = torch.zeros(places, dtype=torch.long, device=device)
        self.boards: dict[Any, Any] = {}
        super().__init__(layers=[_StaticLayer(places, self.start) for _ in range(layers)])

    def used_layers(self) -> list[_StaticLayer]:
        """Return the layers that have buffers; others read those of another layer."""
        return [layer for layer in self.layers if layer.is_initialized]

    def copy_from(self, other: StaticCache) -> None:
        """Copy text, keys and values of a smaller cache of the same model."""
        n = other.places
        self.text[:n] = other.text
        for large, small in zip(self.used_layers(), other.used_layers(), strict=True):
            large.keys[:, :, :n] = small.keys
            large.values[:, :, :n] = small.values


class CachePool:
    """Caches that no session uses, by their places: the graphs of a cache are kept with it."""

    def __init__(self) -> None:
        self._free: dict[int, list[StaticCache]] = {}
        # Again by the same thread: sessions are also collected while it holds the lock.
        self._lock = threading.RLock()

    def take(self, places: int) -> StaticCache | None:
        """Return a free cache of so many places, if there is one."""
        with self._lock:
            free = self._free.get(places)
            return free.pop() if free else None

    def give_back(self, cache: StaticCache) -> None:
        """Let another session use ``cache``."""
        with self._lock:
            self._free.setdefault(cache.places, []).append(cache)

    def lend(self, owner: object, cache: StaticCache) -> weakref.finalize:
        """Give ``cache`` back once ``owner`` is gone, or when the result is called."""
        finalizer = weakref.finalize(owner, self.give_back, cache)
        finalizer.atexit = False
        return finalizer
