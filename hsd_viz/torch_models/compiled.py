"""Hugging Face causal models compiled by ``torch.compile`` over a cache that never moves.

A forward pass is a graph whose inputs are integers: token ids and places are read from device
memory, and masks, positions and rotary angles are computed in the graph. It is compiled for a few
fixed widths, and padded to the next width. Small models on a GPU are limited by launches, which
recorded graphs avoid (the recipe of gpt-fast). To roll back, an integer is decreased. With
``strict``, all forward passes, including prefill, have the same width, so that rows of plain
decoding and of verification come from the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hsd_viz.decoding.session import Session
from hsd_viz.errors import UserError, first_line
from hsd_viz.torch_models.cache import CachePool, StaticCache, capacity_for
from hsd_viz.torch_models.eager import HFModel, move, to_numpy
from hsd_viz.torch_models.graphs import CompiledGraph, Graph
from hsd_viz.torch_models.layers import separate_layers, share_layers
from hsd_viz.torch_models.rules import lineage_of
from hsd_viz.torch_models.suitable import MODULE_FAULTS, check_forward

#: The widths of forward passes; ``strict`` uses only the last one. Wider drafts are padded to a
#: power of two.
WIDTHS = (1, 2, 4, 8, 16, 32)
#: The least number of tree nodes in a strict graph; other graphs have as many as needed.
_STRICT_NODES = 32
#: A function that compiles a function to a graph; tests use other ones.
Compiler = Callable[[Callable[..., Any]], Graph]


class CompiledModel:
    """An :class:`~hsd_viz.torch_models.eager.HFModel` whose forward passes are compiled, for any
    device.

    Args:
        model: the model.
        strict: whether all forward passes have the same width.
        widths: the widths of forward passes.
        compiler: the function that compiles a function to a graph.

    Raises:
        UserError: if the model cannot be compiled, or if the compiled rows differ from its own.
    """

    def __init__(
        self,
        model: HFModel,
        strict: bool = False,
        widths: Sequence[int] = WIDTHS,
        compiler: Compiler = CompiledGraph,
    ) -> None:
        self.runtime = "strict" if strict else "compiled"
        self.strict = strict
        self.widths = tuple(widths[-1:]) if strict else tuple(widths)
        self.name = model.name
        self.vocab_size = model.vocab_size
        self.positions = model.positions
        self.parameters = model.parameters
        self.dtype = model.dtype
        self.device = model.device
        self.eager = model
        self.compiler = compiler
        self.pool = CachePool()
        #: The compiled steps of decodes by this model, by their configuration.
        self.steps: dict[Any, Graph] = {}
        self._graphs: dict[tuple[int, ...], Graph] = {}
        #: The number of places in the largest cache of a session.
        self._largest = 0
        #: Whether repeated layers are compiled once per graph.
        self.shares_layers = share_layers(model.module)
        try:
            self._check()
        except UserError:
            if not self.shares_layers:
                raise
            # Not every layer can be shared, so try without sharing.
            self.shares_layers = False
            separate_layers(model.module)
            self._graphs.clear()
            self._check()

    def _check(self) -> None:
        """Check that the compiled rows are those of the model.

        Raises:
            UserError: if they differ or cannot be computed.
        """
        try:
            check_forward(self.eager, self.session())
        except (torch.OutOfMemoryError, UserError):
            raise
        except MODULE_FAULTS as error:
            # The module itself fills the session's cache, before any compilation.
            raise UserError(
                f"{self.name} has no compiled forward pass: {first_line(error)}"
            ) from error

    def session(self, room: int | None = None) -> CompiledSession:
        """Open an empty sequence; its cache moves only if the text exceeds ``room`` tokens."""
        places = self.places_for(room or 1)
        self.grows_to(places)
        return self.open(self.take(places))

    def open(self, cache: StaticCache) -> CompiledSession:
        """Open an empty sequence in ``cache``."""
        return CompiledSession(self, cache)

    def grows_to(self, places: int) -> None:
        """Record that a session needs a cache with ``places`` places."""
        self._largest = max(self._largest, places)

    def places_for(self, length: int) -> int:
        """Return the places of a cache for ``length`` text tokens and a padded forward pass."""
        return capacity_for(length + self.widths[-1])

    def width_for(self, n: int) -> int:
        """Return the width of the graph that feeds ``n`` tokens; ``strict`` has only one width."""
        if self.strict:
            return self.widths[-1]
        for width in self.widths:
            if width >= n:
                return width
        return 1 << (n - 1).bit_length()

    def nodes_for(self, n: int) -> int:
        """Return the number of tree nodes in a graph for at least ``n`` nodes, 1 for a chain."""
        if self.strict:
            return max(_STRICT_NODES, 1 << max(0, n - 1).bit_length())
        return 1 << max(0, n - 1).bit_length()

    @torch.no_grad()
    def take(self, places: int) -> StaticCache:
        """Return a cache that no session uses."""
        cache = self.pool.take(places)
        if cache is None:
            cache = StaticCache(self.eager.layers, places, self.device)
            # The first forward pass, which is not compiled, allocates its buffers.
            start = cache.start.clone()
            self.forward_pass_of(1)(cache, cache.text, start, start, self.no_parents(1))
        return cache

    def no_parents(self, nodes: int) -> Tensor:
        """Return the parents of a chain of ``nodes`` nodes."""
        return torch.arange(nodes, device=self.device) - 1

    @torch.no_grad()
    def read(
        self,
        cache: StaticCache,
        text: Tensor,
        start: Tensor,
        draft_start: Tensor,
        parents: Tensor,
        width: int,
    ) -> Tensor:
        """Feed tokens of a text, and return their logits.

        Tokens beyond the text may have any value: their cache entries are overwritten later.

        Args:
            cache: the cache.
            text: the token ids by place ``[places]``.
            start: the place of the first token to feed.
            draft_start: the place from which the text is a draft tree.
            parents: the parent of each tree node; -1 for the text before the tree.
            width: the number of tokens to feed.

        Returns:
            The logits ``[width, V]``.
        """
        key = (width, cache.places, len(text), len(parents))
        if key not in self._graphs:
            self._graphs[key] = self.compiler(self.forward_pass_of(width))
        return self._graphs[key](cache, text, start, draft_start, parents)

    @torch.no_grad()
    def warm_up(self) -> None:
        """Compile used graphs for the next larger cache, so that growing texts need not wait."""
        for width, places, text, nodes in list(self._graphs):
            if (places, text) != (self._largest, self._largest):
                continue
            cache = self.take(2 * places)
            start = cache.start.clone()
            self.read(cache, cache.text, start, start, self.no_parents(nodes), width)
            self.pool.give_back(cache)

    @torch.no_grad()
    def prefill(self, cache: StaticCache, tokens: Sequence[int], start: int) -> None:
        """Feed a chain of any length from place ``start``; only ``strict`` passes are compiled."""
        n = len(tokens)
        cache.text[start : start + n] = torch.tensor(tokens, device=self.device)
        width = self.widths[-1] if self.strict else n
        parents = self.no_parents(self.nodes_for(1))
        for begin in range(start, start + n, width):
            at = torch.tensor(begin, device=self.device)
            beyond = torch.tensor(start + n, device=self.device)
            if self.strict:
                self.read(cache, cache.text, at, beyond, parents, width)
            else:
                self.forward_pass_of(width)(cache, cache.text, at, beyond, parents)

    def forward_pass_of(self, width: int) -> Callable[..., Tensor]:
        """Return the forward pass of a width, as a function of ``(cache, text, start, draft_start,
        parents)``.
        """
        module = self.eager.module
        masks = self.eager.masks
        cache_name = self.eager.cache_name
        vocabulary = self.vocab_size
        last = None if self.positions is None else self.positions - 1

        def forward_pass(
            cache: StaticCache, text: Tensor, start: Tensor, draft_start: Tensor, parents: Tensor
        ) -> Tensor:
            fed = torch.arange(width, device=start.device)
            keys = torch.arange(cache.places, device=start.device)
            places = start + fed
            lineage = lineage_of(parents)
            seen = _seen(places, keys, draft_start, lineage)
            query_positions = _positions(places, draft_start, lineage)
            key_positions = _positions(keys, draft_start, lineage)
            read_positions = query_positions
            if last is not None:
                # Padding beyond the context would be outside a table of learned positions.
                read_positions = query_positions.clamp(max=last)
            cache.start.copy_(start)
            output = module(
                input_ids=text[places][None],
                position_ids=read_positions[None],
                attention_mask=masks.on_device(seen, query_positions, key_positions),
                use_cache=True,
                **{cache_name: cache},
            )
            return output.logits[0, :, :vocabulary]

        return forward_pass


def _seen(places: Tensor, keys: Tensor, draft_start: Tensor, lineage: Tensor) -> Tensor:
    """Return whether the token at each place continues the token at each key place, ``[n, keys]``.

    Places before ``draft_start`` are a chain; those from it on are a tree with this ``lineage``.
    Places beyond the tree are padding, which continues the whole text and itself.
    """
    last = len(lineage) - 1
    node = places - draft_start
    key_node = keys - draft_start
    in_tree = (node >= 0) & (node <= last)
    key_in_tree = (key_node >= 0) & (key_node <= last)
    related = lineage[node.clamp(0, last)][:, key_node.clamp(0, last)]
    before = keys[None, :] <= torch.minimum(places, draft_start - 1)[:, None]
    same = keys[None, :] == places[:, None]
    return before | same | (in_tree[:, None] & key_in_tree[None, :] & related)


def _positions(places: Tensor, draft_start: Tensor, lineage: Tensor) -> Tensor:
    """Return the positions in the text of places in the cache.

    The position of a tree node is ``draft_start`` plus its depth.
    """
    last = len(lineage) - 1
    depths = lineage.sum(1) - 1
    node = (places - draft_start).clamp(0, last)
    return torch.where(places < draft_start, places, draft_start + depths[node])


class CompiledSession(Session):
    """A sequence of a :class:`CompiledModel`, driven by the host, to which each call copies logits.

    :class:`~hsd_viz.torch_models.device_loop.DeviceLoop` uses the same cache without these copies.
    """

    def __init__(self, model: CompiledModel, cache: StaticCache) -> None:
        self.model = model
        self.length = 0
        self._use(cache)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        n = len(tokens)
        start = self.length
        width = self.model.width_for(n)
        self.reserve(start + max(n, width))
        is_tree = parents is not None
        # Chains and trees of the same width use the same graph.
        nodes = self.model.nodes_for(max(n, width))
        integers = [start, start if is_tree else start + n, *tokens, *(parents or ())]
        sent = torch.tensor(integers, device=self.model.device)
        self.cache.text[start : start + n] = sent[2 : 2 + n]
        lineage = self.model.no_parents(nodes)
        if is_tree:
            lineage[:n] = sent[2 + n :]
        parts = self._passes(n, sent[0], sent[1], lineage)
        self.length = start + n
        return to_numpy(torch.cat(parts)[n - rows : n])

    def _passes(self, n: int, start: Tensor, draft_start: Tensor, parents: Tensor) -> list[Tensor]:
        """Return the logits of ``n`` tokens from ``start`` on.

        They take one forward pass, or several if the model is ``strict``.
        """
        width = self.model.width_for(n)
        # The output of a graph is valid until its next call, so it is copied.
        return [
            self.model.read(
                self.cache, self.cache.text, start + begin, draft_start, parents, width
            ).clone()
            for begin in range(0, n, width)
        ]

    def feed(self, tokens: Sequence[int]) -> None:
        self.reserve(self.length + len(tokens))
        self.model.prefill(self.cache, tokens, self.length)
        self.length += len(tokens)

    @torch.no_grad()
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        places = [base + node for node in nodes]
        move(self.cache.used_layers(), base, places)
        self.length = base + len(nodes)

    def _use(self, cache: StaticCache) -> None:
        self.cache = cache
        self._return = self.model.pool.lend(self, cache)

    @torch.no_grad()
    def reserve(self, length: int) -> None:
        """Ensure that ``length`` text tokens and a padded pass fit, by a larger cache if needed."""
        places = self.model.places_for(length)
        if places <= self.cache.places:
            return
        self.model.grows_to(places)
        small = self.cache
        give_back = self._return
        self._use(self.model.take(places))
        self.cache.copy_from(small)
        give_back()
