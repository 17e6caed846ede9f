"""One forward pass over static buffers: what it is fed, its masks, and any Hugging Face module, run as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from hsd_viz.backends.cuda_graphs.buffers import StaticCache
from hsd_viz.backends.device import fill, put
from hsd_viz.decoding.cache import CHUNKED, FULL, SLIDING, layer_kinds, layer_limits, positions_of
from hsd_viz.decoding.model import HFModel

#: Widths with a graph each; other widths up to the last are padded to the next. A token's lineage is the bits of an
#: int64, whose sign and first shift of 62 are left out.
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 62)
#: A mask ``[width, bucket]`` for each kind of layer that a model has, to be added to the scores.
Seen = dict[str, Tensor]
#: Which earlier positions a layer of a kind may attend to; ``None``: all.
Rules = dict[str, Callable[[Tensor, Tensor], Tensor] | None]


class Forward(Protocol):
    """Reads ids and positions ``[width]`` and returns the logits ``[rows, V]`` of the last ``rows``."""

    def __call__(self, ids: Tensor, positions: Tensor, seen: Seen, cache: StaticCache, rows: int) -> Tensor: ...

    def prepare(self, cache: StaticCache) -> None:
        """Called when the buffers of ``cache`` are new or have moved."""


def rules_of(config: PreTrainedConfig) -> Rules:
    """Return the kinds of layers in a config and which positions each may attend to."""
    kinds, limits = sorted(layer_kinds(config)), layer_limits(config)
    assert {*kinds} <= {FULL, SLIDING, CHUNKED}
    return {kind: limits[kind][1] if kind in limits else None for kind in kinds}


class ModuleForward:
    """The Hugging Face module itself, with our buffers as its cache."""

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


def width_of(n: int) -> int:
    """The width at which ``n`` tokens are fed: the next of :data:`WIDTHS`, beyond the last ``n`` itself."""
    return next((width for width in WIDTHS if width >= n), n)


class Feed:
    """``width`` tokens: their ids, their positions in the text, what they see of each other, and how many are cached.

    ``sees`` has one bit per fed token in each row (bit j: this token sees fed token j), ``parents`` the index of the
    token before each. ``last`` is the index of the last one, and those after ``first`` are a draft. Tokens beyond those
    that are fed are padding: they see themselves and the cached ones, no token sees them, and what they write is beyond
    the valid length.
    """

    def __init__(self, width: int, device: torch.device) -> None:
        assert width <= WIDTHS[-1]
        self.width = width
        self._packed = torch.zeros(4 * width + 3, dtype=torch.long, device=device)
        parts = self._packed.split([width, width, width, width, 1, 1, 1])
        self.ids, self.positions, self.sees, self.parents, self.length, self.last, self.first = parts

    def fill(
        self, tokens: Sequence[int], tail: Tensor | None, cached: int, parents: Sequence[int] | None, rows: int = 1
    ) -> None:
        """Set everything for a forward pass. ``tail``, ids that only the device knows, follow ``tokens``; the last
        ``rows - 1`` are a draft.
        """
        n = len(tokens) + (0 if tail is None else len(tail))
        positions, sees = lineage(n, cached, parents)
        rest = self.width - n
        packed = [
            *tokens,
            *[0] * (self.width - len(tokens)),
            *positions,
            *[0] * rest,
            *sees,
            *(1 << k for k in range(n, self.width)),
            *(max(0, k) for k in (range(-1, n - 1) if parents is None else parents)),
            *[0] * rest,
            cached,
            n - 1,
            n - rows,
        ]
        fill(self._packed, packed)
        if tail is not None:
            self.ids[len(tokens) : n].copy_(tail)

    def own(self, index: Tensor) -> Tensor:
        """``sees`` as booleans ``[width, width]``."""
        return (self.sees[:, None] >> index[: self.width] & 1).bool()


class WideFeed:
    """The same for more tokens than a graph takes (prefill, large trees), made each time."""

    def __init__(
        self,
        tokens: Sequence[int],
        tail: Tensor | None,
        cached: int,
        parents: Sequence[int] | None,
        device: torch.device,
    ) -> None:
        n = len(tokens) + (0 if tail is None else len(tail))
        self.width = n
        ids = put(list(tokens), device, torch.long)
        self.ids = ids if tail is None else torch.cat([ids, tail])
        if parents is None:
            self.positions = torch.arange(cached, cached + n, device=device)
            self._own = torch.ones(n, n, dtype=torch.bool, device=device).tril()
        else:
            positions, sees = lineage(n, cached, parents)
            self.positions = put(positions, device, torch.long)
            self._own = put([[bool(row >> k & 1) for k in range(n)] for row in sees], device, torch.bool)
        self.length = torch.full((1,), cached, device=device)

    def own(self, index: Tensor) -> Tensor:
        return self._own


@dataclass(frozen=True, slots=True)
class Ahead:
    """Steps of one token each, which the device chooses itself: places and positions ``[n]`` and masks ``[n, bucket]``,
    made once for all of them.
    """

    places: Tensor
    positions: Tensor
    masks: Seen
    bucket: int

    @classmethod
    def of(cls, rules: Rules, cache: StaticCache, length: Tensor, n: int, bucket: int, most: int | None) -> Ahead:
        """Return ``n`` steps after ``length`` ``[1]`` places; ``most`` is the model's longest text."""
        places = cache.index[:n] + length
        # A graph for more tokens than are wanted may run past the model's last position.
        positions = places if most is None else places.clamp_max(most - 1)
        seen = cache.index[None, :bucket] <= places[:, None]
        return cls(places, positions, see(rules, seen, places, positions, cache), bucket)

    def run(self, forward: Forward, cache: StaticCache, k: int, ids: Tensor) -> Tensor:
        """Run step ``k`` with the token ``ids`` ``[1]``: the logits ``[1, V]``."""
        here = slice(k, k + 1)
        cache.aim(self.places[here], self.places[here], self.bucket)
        return forward(ids, self.positions[here], {kind: mask[here] for kind, mask in self.masks.items()}, cache, 1)


def lineage(n: int, cached: int, parents: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """Return positions of ``n`` fed tokens, and as bits which of them each sees: itself and its ancestors."""
    sees: list[int] = []
    for k, parent in enumerate(range(-1, n - 1) if parents is None else parents):
        sees.append(1 << k | (0 if parent < 0 else sees[parent]))
    return positions_of(n, cached, parents), sees


def run(forward: Forward, rules: Rules, cache: StaticCache, feed: Feed | WideFeed, bucket: int, rows: int) -> Tensor:
    """Run a forward pass of what ``feed`` holds: the logits ``[rows, V]`` of its last ``rows`` tokens, padding
    included.

    All that changes from one forward pass to the next is read from device tensors, so that this can be captured.
    """
    places = cache.index[: feed.width] + feed.length
    cache.aim(places, feed.length, bucket)
    index = cache.index[:bucket]
    if feed.width == 1:
        seen = (index <= feed.length)[None]
    else:
        seen = (index < feed.length)[None].repeat(feed.width, 1).index_copy_(1, places, feed.own(cache.index))
    return forward(feed.ids, feed.positions, see(rules, seen, places, feed.positions, cache), cache, rows)


def see(rules: Rules, seen: Tensor, places: Tensor, positions: Tensor, cache: StaticCache) -> Seen:
    """Return masks to add to the scores, 0 or -inf ``[width, bucket]``, by kind of layer; ``seen`` is the text's."""
    index = cache.index[: seen.shape[1]]
    # A cached place is its own position; a fed token's is its depth, wherever its entry is stored.
    at = index.index_copy(0, places, positions) if any(rules.values()) else index
    masks = {}
    for kind, rule in rules.items():
        near = seen if rule is None else seen & rule(positions[:, None], at[None, :])
        masks[kind] = torch.where(near, cache.open, cache.shut)
    return masks
