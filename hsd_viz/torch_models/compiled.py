"""Hugging Face causal models compiled by ``torch.compile`` over a cache that never moves.

A forward pass is one graph with integers for input: token ids and the places of the text come from
device memory, and masks, positions and rotary angles are computed in the graph. It is compiled for
a few fixed widths and padded to the next one: small models on a GPU are bound by launches, which
recorded graphs avoid (the recipe of gpt-fast). Rolling back is lowering an integer. With ``strict``
all passes, prefill included, have one width, so that rows of plain decoding and of verification
come from the same kernels.
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

#: The widths of forward passes; ``strict`` has the last one only. Wider drafts are padded to a
#: power of two.
WIDTHS = (1, 2, 4, 8, 16, 32)
#: The nodes of a draft tree that a strict graph has room for; other graphs have as many as are
#: needed.
_STRICT_NODES = 32
#: Makes a graph of a function; tests have other ones.
Compiler = Callable[[Callable[..., Any]], Graph]


class CompiledModel:
    """An :class:`~hsd_viz.torch_models.eager.HFModel` whose forward passes are compiled: a
    :class:`~hsd_viz.decoding.session.Model` for any device.

    ``compiler`` makes a graph of a function; tests pass another one.

    Raises:
        UserError: if the model cannot be compiled, or the compiled rows are not its own.
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
        #: The steps of decodes by this model, by what they are compiled for.
        self.steps: dict[Any, Graph] = {}
        self._graphs: dict[tuple[int, ...], Graph] = {}
        #: The places of the largest cache that a session asked for.
        self._largest = 0
        #: Whether layers that are alike are compiled once per graph.
        self.shares_layers = share_layers(model.module)
        try:
            self._check()
        except UserError:
            if not self.shares_layers:
                raise
            # Not every layer can be shared: what is refused then is refused as it is.
            self.shares_layers = False
            separate_layers(model.module)
            self._graphs.clear()
            self._check()

    def _check(self) -> None:
        """Compare compiled rows with those of the model.

        Raises:
            UserError: if they differ or cannot be computed.
        """
        try:
            check_forward(self.eager, self.session())
        except (torch.OutOfMemoryError, UserError):
            raise
        except MODULE_FAULTS as error:
            # The session's cache is filled by the module before anything is compiled.
            raise UserError(
                f"{self.name} has no compiled forward pass: {first_line(error)}"
            ) from error

    def session(self, room: int | None = None) -> CompiledSession:
        """Open an empty sequence; its cache moves only when the text grows beyond ``room``
        tokens.
        """
        places = self.places_for(room or 1)
        self.grows_to(places)
        return self.open(self.take(places))

    def open(self, cache: StaticCache) -> CompiledSession:
        """Open an empty sequence in ``cache``."""
        return CompiledSession(self, cache)

    def grows_to(self, places: int) -> None:
        """Note that a session needs a cache of so many places."""
        self._largest = max(self._largest, places)

    def places_for(self, length: int) -> int:
        """Return the places of a cache for a text of ``length`` tokens, with room for a padded
        forward pass.
        """
        return capacity_for(length + self.widths[-1])

    def width_for(self, n: int) -> int:
        """Return the width of a graph that feeds ``n`` tokens at once; with ``strict`` there is
        only one.
        """
        if self.strict:
            return self.widths[-1]
        for width in self.widths:
            if width >= n:
                return width
        return 1 << (n - 1).bit_length()

    def nodes_for(self, n: int) -> int:
        """Return how many nodes of a draft tree a graph has room for: at least ``n``, 1 for a
        chain.
        """
        if self.strict:
            return max(_STRICT_NODES, 1 << max(0, n - 1).bit_length())
        return 1 << max(0, n - 1).bit_length()

    @torch.no_grad()
    def take(self, places: int) -> StaticCache:
        """Return a cache that no session uses."""
        cache = self.pool.take(places)
        if cache is None:
            cache = StaticCache(self.eager.layers, places, self.device)
            # Its buffers are made by the first pass, which is not compiled.
            start = cache.start.clone()
            self.forward_pass_of(1)(cache, cache.text, start, start, self.no_parents(1))
        return cache

    def no_parents(self, nodes: int) -> Tensor:
        """Return the parents of a chain in a tree's room."""
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
        """Feed the ``width`` tokens of ``text`` ``[places]`` from ``start`` on; return their logits
        ``[width, V]``.

        From ``draft_start`` on the text is a draft tree in which node i follows ``parents[i]`` (-1:
        the text before it). Tokens beyond the text may be anything: what is cached of them is
        overwritten.
        """
        key = (width, cache.places, len(text), len(parents))
        if key not in self._graphs:
            self._graphs[key] = self.compiler(self.forward_pass_of(width))
        return self._graphs[key](cache, text, start, draft_start, parents)

    @torch.no_grad()
    def warm_up(self) -> None:
        """Compile what was used so far for the next larger cache, so that a growing text does
        not wait for it.
        """
        for width, places, text, nodes in list(self._graphs):
            if (places, text) != (self._largest, self._largest):
                continue
            cache = self.take(2 * places)
            start = cache.start.clone()
            self.read(cache, cache.text, start, start, self.no_parents(nodes), width)
            self.pool.give_back(cache)

    @torch.no_grad()
    def prefill(self, cache: StaticCache, tokens: Sequence[int], start: int) -> None:
        """Feed a chain of any length that starts at place ``start``: not compiled, but with
        ``strict``.
        """
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
        """Return the forward pass of this width as a function: ``(cache, text, start,
        draft_start, parents)``.
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
                # Padding beyond the context would be outside of a table of learned positions.
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
    """Return which of the places ``keys`` tokens at ``places`` continue, themselves included, ``[n,
    keys]``.

    Places before ``draft_start`` are a chain, those after it a tree of this ``lineage``. Places
    beyond the tree are padding: each of them continues all of the text and itself.
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
    """Return the positions in the text of places in the cache: a node's is its depth behind
    ``draft_start``.
    """
    last = len(lineage) - 1
    depths = lineage.sum(1) - 1
    node = (places - draft_start).clamp(0, last)
    return torch.where(places < draft_start, places, draft_start + depths[node])


class CompiledSession(Session):
    """One sequence in a :class:`CompiledModel`, driven from the host: logits come to the host at
    every call.

    :class:`~hsd_viz.torch_models.decode.DeviceDecode` drives the same cache without that.
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
        # Chains and trees of a width are one graph.
        nodes = self.model.nodes_for(max(n, width))
        given = [start, start if is_tree else start + n, *tokens, *(parents or ())]
        sent = torch.tensor(given, device=self.model.device)
        self.cache.text[start : start + n] = sent[2 : 2 + n]
        lineage = self.model.no_parents(nodes)
        if is_tree:
            lineage[:n] = sent[2 + n :]
        parts = self._passes(n, sent[0], sent[1], lineage)
        self.length = start + n
        return to_numpy(torch.cat(parts)[n - rows : n])

    def _passes(self, n: int, start: Tensor, draft_start: Tensor, parents: Tensor) -> list[Tensor]:
        """Return the logits of ``n`` tokens from ``start`` on, of one forward pass or, where
        strict, of several.
        """
        width = self.model.width_for(n)
        # A graph's output lives until its next call.
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
        """Move to a larger cache if a text of ``length`` tokens and a padded forward pass do not
        fit into this one.
        """
        places = self.model.places_for(length)
        if places <= self.cache.places:
            return
        self.model.grows_to(places)
        small = self.cache
        give_back = self._return
        self._use(self.model.take(places))
        self.cache.copy_from(small)
        give_back()
