"""Hugging Face causal models compiled by ``torch.compile`` over a cache that never moves.

A forward pass is fed to a few fixed widths, padded to the next one: small models on a GPU are bound by launches, which
one recorded graph per width avoids (the recipe of gpt-fast). Rolling back is lowering an integer, a tree is a mask.
With ``strict`` there is one width only, so that rows of plain decoding and of verification come from the same kernels.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache, StaticLayer

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import Session
from hsd_viz.decoding.verify import Numbers, SampledChain
from hsd_viz.errors import UserError
from hsd_viz.torch_models.eager import HFModel, capacity, lineage, move, to_numpy
from hsd_viz.torch_models.load import check_forward
from hsd_viz.words import first_line

#: The widths of forward passes; ``strict`` has the last one only.
WIDTHS = (1, 4, 8, 16, 32)
#: Places of the first cache: every width is compiled again for a larger one.
FIRST_CAPACITY = 1024
#: Every model, width and capacity is compiled from the same few functions.
_MOST_COMPILED = 256


class _StaticLayer(StaticLayer):
    """transformers' static layer in memory that any graph may use; a forward pass writes from place ``start`` on, a
    number that the device reads.
    """

    def __init__(self, places: int, start: Tensor) -> None:
        super().__init__(places)
        self._start = start

    def update(
        self, key_states: Tensor, value_states: Tensor, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            shapes = [
                (*states.shape[:2], self.max_cache_len, states.shape[3])
                for states in (key_states, value_states)
            ]
            self.keys, self.values = map(key_states.new_zeros, shapes)
            for buffer in (self.keys, self.values):
                torch._dynamo.mark_static_address(buffer, guard=False)
            self.is_initialized = True
        places = torch.arange(key_states.shape[2], device=key_states.device) + self._start
        self.keys.index_copy_(2, places, key_states)
        self.values.index_copy_(2, places, value_states)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        return 0


class StaticCache(Cache):
    """The cache of one sequence of up to ``places`` tokens, batch size 1."""

    def __init__(self, layers: int, places: int, device: torch.device) -> None:
        self.places, self.warm = places, False
        self.start = torch.zeros((), dtype=torch.long, device=device)
        torch._dynamo.mark_static_address(self.start, guard=False)
        super().__init__(layers=[_StaticLayer(places, self.start) for _ in range(layers)])


class CompiledModel:
    """An :class:`~hsd_viz.torch_models.eager.HFModel` whose forward passes are compiled: a
    :class:`~hsd_viz.decoding.session.Model` for any device. Raises: ValueError: if the model cannot be compiled, or the
    compiled rows are not its own.
    """

    def __init__(
        self, model: HFModel, strict: bool = False, widths: Sequence[int] = WIDTHS
    ) -> None:
        self.runtime = "strict" if strict else "compiled"
        self.widths = tuple(widths[-1:]) if strict else tuple(widths)
        self.name, self.vocab_size, self.positions = model.name, model.vocab_size, model.positions
        self.parameters, self.dtype, self.device, self.eager = (
            model.parameters,
            model.dtype,
            model.device,
            model,
        )
        torch._dynamo.config.recompile_limit = max(
            torch._dynamo.config.recompile_limit, _MOST_COMPILED
        )
        options = {"mode": "reduce-overhead"} if model.device.type == "cuda" else {}
        self._compiled = torch.compile(self._forward, fullgraph=True, dynamic=False, **options)
        #: Caches that no session uses, by their places: the graphs of a cache are kept with it.
        self._free: dict[int, list[StaticCache]] = {}
        # Again by the same thread: sessions are also collected while it holds the lock.
        self._lock = threading.RLock()
        try:
            check_forward(model, self.session())
        except (torch.OutOfMemoryError, ValueError):
            raise
        except Exception as error:
            raise UserError(
                f"{model.name} has no compiled forward pass: {first_line(error)}"
            ) from None

    def session(self, room: int | None = None) -> CompiledSession:
        """Open an empty sequence; its cache moves only when the text grows beyond ``room`` tokens."""
        return CompiledSession(self, self.take((room or 1) + self.widths[-1]))

    def take(self, length: int) -> StaticCache:
        """Return a cache of at least ``length`` places that no session uses."""
        places = capacity(length, FIRST_CAPACITY)
        with self._lock:
            if free := self._free.setdefault(places, []):
                return free.pop()
        made = StaticCache(self.eager.layers, places, self.device)
        self.step(
            made, [0], [0], 0, {}, eager=True
        )  # its buffers are made by the first pass, which is not compiled
        return made

    def give_back(self, cache: StaticCache) -> None:
        """Let another session use ``cache``."""
        with self._lock:
            self._free[cache.places].append(cache)

    def warm_up(self) -> None:
        """Compile every width for the caches that are free; a GPU records a width's graph when it is used again."""
        with self._lock:
            for cache in (
                cache for free in self._free.values() for cache in free if not cache.warm
            ):
                cache.warm = True
                for width in self.widths:
                    for _ in range(2 if self.device.type == "cuda" else 1):
                        self.step(cache, [0] * width, range(width), 0, {})

    @torch.no_grad()
    def step(
        self,
        cache: StaticCache,
        tokens: Sequence[int] | Tensor,
        places: Sequence[int],
        start: int,
        seen: dict[str, Tensor],
        eager: bool = False,
    ) -> Tensor:
        """Feed tokens at ``places`` in the text to the cache from ``start`` on; return their logits ``[n, V]``, valid
        until the next step. ``seen`` has for each kind of layer which places of the cache they attend to ``[n, up to
        the last one]``. Anything longer than the widest step, as a prefill, is not compiled (``eager``).
        """
        n = len(tokens)
        width = n if eager else next(w for w in self.widths if w >= n)
        ids, where = (
            torch.zeros((1, width), dtype=torch.long, device=self.device) for _ in range(2)
        )
        ids[0, :n], where[0, :n] = torch.as_tensor(tokens), torch.as_tensor(places)
        # A padded token attends to itself alone; its key and value are overwritten by the next step.
        alone = torch.eye(width, cache.places, dtype=torch.bool).roll(start, 1)
        mask = {kind: alone.clone() for kind in self.eager.masks.kinds}
        for kind, part in seen.items():
            mask[kind][:n, : part.shape[1]] = part
        cache.start.fill_(start)
        given = self.eager.masks.finished(mask)
        if eager:
            return self._forward(ids, where, given, cache)[:n]
        if self.device.type == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        return self._compiled(ids, where, given, cache)[:n]

    def _forward(self, ids: Tensor, places: Tensor, mask: Any, cache: StaticCache) -> Tensor:
        options = {
            "position_ids": places,
            "attention_mask": mask,
            "past_key_values": cache,
            "use_cache": True,
        }
        return self.eager.module(input_ids=ids, **options).logits[0, :, : self.vocab_size]


class CompiledSession(Session):
    """One sequence in a :class:`CompiledModel`."""

    def __init__(self, model: CompiledModel, cache: StaticCache) -> None:
        self._model, self.length = model, 0
        self._use(cache)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        n, cached, widest = len(tokens), self.length, self._model.widths[-1]
        self._make_room(cached + n)
        lines = lineage(n, cached, parents)
        places, seen = (lines.sum(1) - 1).tolist(), self._model.eager.masks.seen(lines)
        found = []
        for begin in range(0, n, widest):
            part = slice(begin, min(n, begin + widest))
            masks = {kind: mask[part] for kind, mask in seen.items()}
            logits = self._model.step(self.cache, tokens[part], places[part], cached + begin, masks)
            if part.stop > n - rows:
                found.append(to_numpy(logits[max(0, n - rows - begin) :]).copy())
        self.length = cached + n
        return np.concatenate(found)

    def feed(self, tokens: Sequence[int]) -> None:
        if len(tokens) <= self._model.widths[-1]:
            self.forward(tokens, 1)
            return
        n, cached = len(tokens), self.length
        self._make_room(cached + n)
        seen = self._model.eager.masks.seen(lineage(n, cached))
        self._model.step(self.cache, tokens, range(cached, cached + n), cached, seen, eager=True)
        self.length = cached + n

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: Numbers | None,
        eos: frozenset[int],
    ) -> SampledChain:
        if numbers is not None or len(pending) > self._model.widths[-1]:
            return super().sample(pending, n, sampling, numbers, eos)
        # The tokens stay on the device until all are known: a draft waits for it once.
        base, masks = self.length + len(pending), self._model.eager.masks
        self._make_room(base + n)
        found: list[Tensor] = []
        for k in range(n):
            fed, start = (found[-1], base + k - 1) if k else (list(pending), self.length)
            seen = masks.seen(lineage(len(fed), start))
            logits = self._model.step(self.cache, fed, range(start, start + len(fed)), start, seen)
            found.append(logits[-1:].argmax(-1))
        tokens = torch.cat(found).tolist()
        tokens = tokens[: next((k + 1 for k, token in enumerate(tokens) if token in eos), n)]
        self.length = base + len(tokens) - 1
        return SampledChain(tokens, None, n)

    @torch.no_grad()
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        move(self.cache.layers, base, [base + node for node in nodes])
        self.length = base + len(nodes)

    def _use(self, cache: StaticCache) -> None:
        self.cache, self._return = cache, weakref.finalize(self, self._model.give_back, cache)
        self._return.atexit = False

    @torch.no_grad()
    def _make_room(self, length: int) -> None:
        """Move to a larger cache where the text no longer fits."""
        needed, old = length + self._model.widths[-1], self.cache
        if needed <= old.places:
            return
        give_back = self._return
        self._use(self._model.take(needed))
        for small, large in zip(old.layers, self.cache.layers, strict=True):
            if small.is_initialized:  # else it uses another layer's keys
                large.keys[:, :, : old.places] = small.keys
                large.values[:, :, : old.places] = small.values
        give_back()
