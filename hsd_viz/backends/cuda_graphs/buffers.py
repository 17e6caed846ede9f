"""Keys and values in buffers that never move: what a captured graph can write to and read from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache

from hsd_viz.decoding.cache import FIRST_CAPACITY, capacity


def bucket_of(length: int) -> int:
    """Return the smallest of 512, 768, 1024, 1536, ... that holds ``length`` places: those that attention reads."""
    whole = capacity(length)
    return whole // 4 * 3 if whole > FIRST_CAPACITY and length <= whole // 4 * 3 else whole


@dataclass(frozen=True, slots=True)
class Layout:
    """What a model keeps per layer: ``(heads, key size, value size)``, and the dtype of all."""

    shapes: tuple[tuple[int, int, int], ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, module: torch.nn.Module, layers: int) -> Layout:
        """Ask the module itself. Raises ``ValueError`` where it caches anything but keys and values."""
        cache = DynamicCache()
        module(
            input_ids=torch.zeros(1, 1, dtype=torch.long, device=module.device), past_key_values=cache, use_cache=True
        )
        kept = [layer for layer in cache.layers if isinstance(layer.keys, Tensor) and layer.keys.dim() == 4]
        if len(cache.layers) != layers or len(kept) != layers:
            raise ValueError(f"{len(kept)} of its {layers} layers keep keys and values of their own")
        dtypes = {t.dtype for layer in kept for t in (layer.keys, layer.values)}
        if len(dtypes) > 1:
            raise ValueError("its keys and values are of several dtypes")
        return cls(tuple((k.keys.shape[1], k.keys.shape[3], k.values.shape[3]) for k in kept), dtypes.pop())


class _StaticLayer(CacheLayerMixin):
    """One layer's view of :class:`StaticCache`."""

    is_compileable = True
    is_sliding = False

    def __init__(self, owner: StaticCache) -> None:
        super().__init__()
        self._owner = owner
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        pass

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs) -> tuple[Tensor, Tensor]:
        owner = self._owner
        self.keys.index_copy_(2, owner.places, key_states)
        self.values.index_copy_(2, owner.places, value_states)
        return self.keys[:, :, : owner.bucket], self.values[:, :, : owner.bucket]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._owner.bucket, 0

    def get_seq_length(self) -> Tensor:
        # A tensor, as in transformers' own static cache: a number would be fixed in a graph.
        return self._owner.filled

    def get_max_length(self) -> int:
        return self._owner.capacity


class StaticCache(Cache):
    """Keys and values of one sequence, ``capacity`` places; a forward pass writes at ``places`` and attends to the
    first ``bucket``.

    All layers of one shape are in one block ``[layers, heads, capacity, size]``, so that moving places is two launches
    for the whole model. Stale places are masked, yet their values are multiplied by zero: they start as zeros, never as
    uninitialised memory.
    """

    def __init__(self, layout: Layout, capacity: int, device: torch.device) -> None:
        super().__init__(layers=[_StaticLayer(self) for _ in layout.shapes])
        self.layout = layout
        self.device = device
        self.places: Tensor | None = None
        self.filled: Tensor | None = None
        self.bucket = 0
        # Strict mode: the place of each position, by row ``[width, bucket]``.
        self.order: Tensor | None = None
        self.capacity = 0
        self.blocks: list[Tensor] = []
        # What a mask adds to the score of a place that is seen, and of one that is not.
        self.open = torch.zeros((), dtype=layout.dtype, device=device)
        self.shut = torch.full((), -torch.inf, dtype=layout.dtype, device=device)
        self._allocate(capacity)

    @property
    def bytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)

    def aim(self, places: Tensor, filled: Tensor, bucket: int) -> None:
        """Set where the next forward pass writes (ids ``[w]``), how many places are filled, and how many it reads."""
        self.places, self.filled, self.bucket = places, filled, bucket

    def grow(self, capacity: int) -> None:
        """Move to larger buffers. What was captured over the old ones must be dropped before."""
        self._allocate(capacity)

    def clear(self) -> None:
        """Fill with zeros: a NaN from one text must not reach the next."""
        torch._foreach_zero_(self.blocks)

    def move(self, source: Tensor, to: Tensor) -> None:
        """Copy the entries at the places ``source`` to the places ``to``, in every layer."""
        for block in self.blocks:
            block.index_copy_(2, to, block.index_select(2, source))

    def _allocate(self, capacity: int) -> None:
        old, self.blocks = self.blocks, []
        shapes: dict[tuple[int, int], list[tuple[int, str]]] = {}
        for k, (heads, key, value) in enumerate(self.layout.shapes):
            shapes.setdefault((heads, key), []).append((k, "keys"))
            shapes.setdefault((heads, value), []).append((k, "values"))
        for place, ((heads, size), members) in enumerate(shapes.items()):
            block = torch.zeros(len(members), heads, capacity, size, dtype=self.layout.dtype, device=self.device)
            if old:
                block[:, :, : self.capacity] = old[place]
                old[place] = None
            self.blocks.append(block)
            for row, (layer, name) in enumerate(members):
                setattr(self.layers[layer], name, block[row : row + 1])
        self.capacity = capacity
        self.index = torch.arange(capacity, device=self.device)
