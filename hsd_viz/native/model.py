"""Models and sessions of the native runtime."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from ctypes import byref, c_int32, c_void_p
from typing import Any

import numpy as np

from hsd_viz import machine
from hsd_viz.decoding.session import Session
from hsd_viz.drafting.semantic_database import watched_layer
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.tensors import Tensor
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.packed import packed_weights
from hsd_viz.native.panels import PackedMatrix
from hsd_viz.native.structures import LevelSettings
from hsd_viz.native.weights import SLOTS, Weights, angles

#: The bytes of weights that a thread must read in a forward pass to be worth waking it, which takes
#: about 0.1 ms.
BYTES_A_THREAD = 6_000_000
#: The number of tokens that share a read of the weights.
_TOKENS_A_READ = 4


def integers(values: Sequence[int]) -> ctypes.Array:
    """Return an array of 32-bit integers for a call of the library."""
    return (c_int32 * len(values))(*values)


def owned(
    owner: object, free: Callable[[int], None], handle: int, *used: object
) -> weakref.finalize:
    """Call ``free(handle)`` when the owner is deleted, and keep the objects ``used`` alive until
    then.

    Nothing is freed at exit, because a thread may still be in a call.
    """
    finalizer = weakref.finalize(owner, lambda *_: free(handle), *used)
    finalizer.atexit = False
    return finalizer


class NativeModel:
    """The weights of a model, packed for the native forward pass and shared by all decodes.

    In int8, logits have the bits that ``docs/reference/arithmetic.md`` specifies, on every machine.
    In float32 and float64, all arithmetic is in that type, except norms, which are in float32 as in
    transformers. In bfloat16, only the weights have that type; activations, sums and the cache are
    float32.

    Args:
        weights: the weights, of whose head the first ``vocab_size`` rows are used.
        build: the build of the library; by default the shared one.

    Attributes:
        weight_bytes: the bytes of weights that a forward pass reads, including padding, without
            the embedding.
        cache_bytes_per_token: the bytes per token of a session's cache.

    Raises:
        UserError: if the native runtime is not available.
    """

    runtime = "native"

    def __init__(self, weights: Weights, build: Build | None = None) -> None:
        library = self.library = (build or default_build()).library
        self.name = weights.name
        self.vocab_size = weights.vocab_size
        self.positions = weights.positions
        self.layers = weights.layers
        self.parameters = weights.parameters
        self.dtype = weights.dtype
        self.compute = weights.compute
        self.form = weights.form
        self.handle = library.hsd_model_new(byref(weights.shape))
        owned(self, library.hsd_model_free, self.handle)
        #: Arrays that the library reads in place, which must stay alive.
        self._arrays: list[Any] = []
        contents = packed_weights(weights) if weights.in_groups else weights.items()
        for layer, slot, tensor in contents:
            tied = slot == "embedding" and weights.form.tied_head
            self._set(layer, ("embedding", "head") if tied else (slot,), tensor)
        if weights.head_tokens is not None:
            tokens = integers(weights.head_tokens.tolist())
            library.hsd_model_head_tokens(self.handle, tokens, len(tokens))
        for layer in weights.form.layers_without_rotary:
            library.hsd_model_disable_rope(self.handle, layer)
        self.weight_bytes: int = library.hsd_model_bytes(self.handle)
        self.cache_bytes_per_token: int = library.hsd_model_cache_bytes(self.handle)

    def _set(self, layer: int, slots: Sequence[str], tensor: Tensor | PackedMatrix) -> None:
        """Pass a vector or matrix to the library, for one or more slots."""
        numbers = [SLOTS.index(slot) for slot in slots]
        if isinstance(tensor, PackedMatrix):
            self._arrays.append(tensor.content)
            data = tensor.content.ctypes.data
            for number in numbers:
                self.library.hsd_model_panels(self.handle, layer, number, data, tensor.bits)
            return
        if isinstance(tensor, GroupedMatrix):
            values = np.ascontiguousarray(tensor.numbers)
            scales = np.require(tensor.scales[:, 0], np.float32, ["C", "A"])
            scales_at = scales.ctypes.data
            self._arrays += [values, scales] if "embedding" in slots else []
        else:
            values = tensor
            scales_at = None
            self._arrays += [values] if "embedding" in slots else []
        for number in numbers:
            self.library.hsd_model_set(self.handle, layer, number, values.ctypes.data, scales_at)

    def session(self, room: int | None = None) -> NativeSession:
        """Open an empty sequence."""
        return NativeSession(self)

    def turns(self, places: int) -> tuple[int, list[Any]]:
        """Return rotary tables for at least ``places`` positions.

        Returns:
            The number of positions, and pointers to the cosines and the sines, which keep the
            tables alive.
        """
        tables = angles(self.form.rotary, self.form.head_dim, places, self.compute)
        return len(tables[0]), [table.ctypes.data_as(c_void_p) for table in tables]

    def threads_for(self, tokens: int) -> int:
        """Return the number of threads for a forward pass over ``tokens`` tokens."""
        reads = max(1, tokens / _TOKENS_A_READ)
        worth = int(self.weight_bytes * reads / BYTES_A_THREAD)
        return 1 if worth < 2 else min(machine.threads(), worth)


class NativeSession(Session):
    """A :class:`~hsd_viz.decoding.session.Session` in the native runtime.

    Logits do not depend on how tokens are fed: one at a time, as a chain or as a draft tree, on any
    number of threads, the row after a token is the same to the last bit. A session is used by one
    thread at a time; sessions of a model may run in parallel. A forward pass uses
    :func:`hsd_viz.machine.threads` threads, or fewer for small models.

    A token outside the vocabulary raises ``UserError``.
    """

    def __init__(self, model: NativeModel) -> None:
        self.model = model
        self._library = model.library
        self.length = 0
        self._handle = self._library.hsd_session_new(model.handle)
        owned(self, self._library.hsd_session_free, self._handle, model)
        self._places, self._turns = model.turns(1)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        model = self.model
        n = len(tokens)
        cached = self.length
        assert 1 <= rows <= n and (parents is None or len(parents) == n)
        if cached + n > self._places:
            self._places, self._turns = model.turns(cached + n)
        logits = np.empty((rows, model.vocab_size), model.compute)
        fed = integers(tokens)
        lineage = None if parents is None else integers(parents)
        cos, sin = self._turns
        self._library.hsd_session_forward(
            self._handle,
            fed,
            n,
            lineage,
            rows,
            logits.ctypes.data,
            cos,
            sin,
            cached,
            model.threads_for(n),
        )
        self.length = cached + n
        return logits

    def settings(
        self,
        places: int,
        lookahead: int,
        rule: int,
        confidence: float = 0.0,
        positions: int | None = None,
    ) -> LevelSettings:
        """Return the settings of this session as a level of a compiled decode.

        Args:
            places: the largest number of tokens in the text.
            lookahead: the least number of tokens in a proposal; 0 for the target.
            rule: the number of the verification rule.
            confidence: the probability below which a draft stops; 0 for never.
            positions: the context length of a draft model; ``None`` means unlimited.
        """
        # The session keeps the tables alive, because a thread may still decode at exit, when the
        # interpreter has cleared its caches.
        self._places, self._turns = self.model.turns(places)
        cos, sin = self._turns
        return LevelSettings(
            session=self._handle,
            cos=cos,
            sin=sin,
            bytes=self.model.weight_bytes,
            confidence=confidence,
            lookahead=lookahead,
            rule=rule,
            threads=machine.threads(),
            positions=positions or 0,
        )

    def watch(self, depth: float) -> None:
        layer = watched_layer(depth, self.model.layers)
        self._library.quick.hsd_session_watch(self._handle, layer)

    def states(self, places: Sequence[int]) -> np.ndarray:
        fed = max(places, default=-1) + 1
        states = np.empty((fed, self.model.form.width), np.int8)
        self._library.quick.hsd_session_states(self._handle, fed, states.ctypes.data)
        return states[[*places]]

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        n = len(nodes)
        if n and nodes[-1] >= n:
            places = integers([base + node for node in nodes])
            self._library.quick.hsd_session_keep(self._handle, base, places, n)
        self.length = base + n


class NativeBatch:
    """Forward passes that feed a token to each of several sequences, reading the weights once.

    The logits of a sequence are bit-equal to those of :meth:`NativeSession.forward`, regardless of
    the other sequences.
    """

    def __init__(self, model: NativeModel) -> None:
        self.model = model
        #: A session whose buffers are used for the forward pass; its cache is not.
        self._room = NativeSession(model)
        self._places, self._turns = model.turns(1)

    def forward(self, sessions: Sequence[NativeSession], tokens: Sequence[int]) -> np.ndarray:
        """Feed a token to each session, and return the logits ``[sessions, vocab_size]``.

        Raises:
            UserError: if a token is outside the vocabulary.
            AssertionError: if a session occurs twice or belongs to another model.
        """
        model = self.model
        n = len(sessions)
        assert n == len(tokens) == len({id(session) for session in sessions}) > 0
        assert all(session.model is model for session in sessions)
        lengths = [session.length for session in sessions]
        if max(lengths) >= self._places:
            self._places, self._turns = model.turns(max(lengths) + 1)
        logits = np.empty((n, model.vocab_size), model.compute)
        handles = (c_void_p * n)(*(session._handle for session in sessions))
        cos, sin = self._turns
        model.library.hsd_session_forward_batch(
            self._room._handle,
            handles,
            integers(tokens),
            n,
            logits.ctypes.data,
            cos,
            sin,
            integers(lengths),
            model.threads_for(n),
        )
        for session in sessions:
            session.length += 1
        return logits
