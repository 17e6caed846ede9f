"""A model in the native runtime, and one sequence in it."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence

import numpy as np

from hsd_viz import machine
from hsd_viz.decoding.session import GivesLogits
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.library import SLOTS, LevelSettings, Shape, failure, integers
from hsd_viz.native.weights import STORAGE, Bytes, Weights

#: Bytes of weights that a thread must read in a forward pass to be worth waking (about 0.1 ms; one read serves a few
#: tokens).
BYTES_A_THREAD = 6_000_000
_TOKENS_A_READ = 4
_SIZES = ("layers", "width", "heads", "kv_heads", "head_dim", "inner", "epsilon", "scale")


class NativeModel:
    """Weights packed for the native forward pass, with the first ``vocab_size`` rows of the head, shared by all
    decodes.

    In ``int8`` logits have the bits that ``docs/reference/arithmetic.md`` states, on every machine. In float32 and
    float64 all arithmetic is of that type (norms in float32, as in transformers). With bfloat16 only the weights are:
    activations, sums and the cache are float32. ``weight_bytes`` is what one forward pass reads, except the embedding's
    rows (padding included), ``cache_bytes_per_token`` the size of a session's cache.

    Raises:
        ValueError: if there is no native runtime here.
    """

    runtime = "native"

    def __init__(self, weights: Weights, build: Build | None = None) -> None:
        self.library = (build or default_build()).library
        self.name, self.vocab_size, self.positions = weights.name, weights.vocab_size, weights.positions
        self.layers, self.parameters, self.dtype = weights.layers, weights.parameters, weights.dtype
        #: The type of logits, and cosines and sines of at least so many places.
        self.compute, self.angles = weights.compute, weights.angles
        sizes = {name: getattr(weights, name) for name in _SIZES}
        shape = Shape(type=STORAGE[weights.dtype], vocab=weights.vocab_size, **sizes)
        self.handle = self._checked(self.library.hsd_model_new(ctypes.byref(shape)))
        weakref.finalize(self, self.library.hsd_model_free, self.handle).atexit = False
        self._embedding = weights.embedding  # the library reads it where it is
        for layer, slot, tensor in weights.items():
            numbers, scales = tensor if isinstance(tensor, Bytes) else (tensor, None)
            at = None if scales is None else scales.ctypes.data
            self._checked(self.library.hsd_model_set(self.handle, layer, SLOTS.index(slot), numbers.ctypes.data, at))
        self.weight_bytes: int = self.library.hsd_model_bytes(self.handle)
        self.cache_bytes_per_token: int = self.library.hsd_model_cache_bytes(self.handle)

    def session(self, room: int | None = None) -> NativeSession:
        """Open an empty sequence."""
        return NativeSession(self)

    def _checked(self, result: int) -> int:
        if not result:
            raise failure(self.library)
        return result


class NativeSession(GivesLogits):
    """A :class:`~hsd_viz.decoding.session.Session` in the native runtime.

    Logits do not depend on how tokens were fed: one at a time, as a chain or as a draft tree, on any number of threads,
    the row after a token is the same to the last bit. One session is used by one thread at a time; sessions of one
    model run side by side. The threads of a forward pass are those of :func:`hsd_viz.machine.threads`, fewer for
    small models. A token outside of the vocabulary raises ``ValueError``.
    """

    def __init__(self, model: NativeModel) -> None:
        self.model, self._library, self.length = model, model.library, 0
        self._handle = self._library.hsd_session_new(model.handle)
        if not self._handle:
            raise failure(self._library)
        # The finalizer keeps the weights alive as long as the session.
        # Nothing is freed at exit: a thread may still be in the middle of a forward pass.
        weakref.finalize(self, _free, model, self._handle).atexit = False
        self._make_room(1)

    def forward(self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None) -> np.ndarray:
        model, n, cached = self.model, len(tokens), self.length
        assert 1 <= rows <= n and (parents is None or len(parents) == n)
        if cached + n > self._places:
            self._make_room(cached + n)
        logits = np.empty((rows, model.vocab_size), model.compute)
        fed, lineage = integers(tokens), None if parents is None else integers(parents)
        worth = int(model.weight_bytes * max(1, n / _TOKENS_A_READ) / BYTES_A_THREAD)
        sequence = self._cos, self._sin, cached, 1 if worth < 2 else min(machine.threads(), worth)
        if not self._library.hsd_session_forward(self._handle, fed, n, lineage, rows, logits.ctypes.data, *sequence):
            raise failure(self._library)
        self.length = cached + n
        return logits

    def settings(self, places: int, lookahead: int, rule: int, threads: int) -> LevelSettings:
        """Return this session as a level of a compiled decode of up to ``places`` tokens."""
        self._make_room(places)
        read = self.model.weight_bytes
        return LevelSettings(self._handle, self._cos, self._sin, read, lookahead, rule, threads)

    def truncate(self, length: int) -> None:
        self.length = min(self.length, length)

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        n = len(nodes)
        if n and nodes[-1] >= n:
            places = integers([base + node for node in nodes])
            self._library.quick.hsd_session_keep(self._handle, base, places, n)
        self.length = base + n

    def _make_room(self, places: int) -> None:
        """Make the angles of so many places."""
        self._angles = self.model.angles(places)
        self._places = len(self._angles[0])
        self._cos, self._sin = (part.ctypes.data for part in self._angles)


def _free(model: NativeModel, handle: int) -> None:
    model.library.hsd_session_free(handle)
