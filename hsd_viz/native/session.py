"""One sequence in a native model."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Sequence

import numpy as np

from hsd_viz import machine
from hsd_viz.decoding.session import GivesLogits
from hsd_viz.native.library import LevelSettings, failure
from hsd_viz.native.weights import PackedWeights

#: Bytes of weights that a thread must read in a forward pass to be worth waking (about 0.1 ms; one read serves a few
#: tokens).
BYTES_A_THREAD = 6_000_000
_TOKENS_A_READ = 4
#: Tokens of a call that there is room for at first.
ROOM = 512
#: Buffers for logits that are kept (the loop still reads one while it asks for the next), and the bytes of the largest.
_KEPT, _LARGEST = 3, 1 << 23


class NativeSession(GivesLogits):
    """A :class:`~hsd_viz.decoding.session.Session` in the native runtime.

    Logits do not depend on how tokens were fed: one at a time, as a chain or as a draft tree, on any number of threads,
    the row after a token is the same to the last bit. One session is used by one thread at a time; sessions of one
    model run side by side. The threads of a forward pass are those of :func:`hsd_viz.machine.threads`, fewer for
    small models. A token outside of the vocabulary raises ``ValueError``.
    """

    def __init__(self, weights: PackedWeights) -> None:
        self._weights = weights
        self._library = weights.library
        self.length = 0
        self._handle = self._library.hsd_session_new(weights.handle)
        if not self._handle:
            raise failure(self._library)
        # The finalizer keeps the weights alive as long as the session.
        # Nothing is freed at exit: a thread may still be in the middle of a forward pass.
        weakref.finalize(self, _free, weights, self._handle).atexit = False
        self._feed = self._library.hsd_session_forward
        self._keep = self._library.quick.hsd_session_keep
        self._most = self._places = 0
        self._buffers = RowBuffers(weights.vocab_size, weights.compute)
        self._make_room(ROOM, 1)

    def forward(self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None) -> np.ndarray:
        n, cached = len(tokens), self.length
        assert 1 <= rows <= n and (parents is None or len(parents) == n)
        if n > self._most or cached + n > self._places:
            self._make_room(n, cached + n)
        self._tokens[:n] = tokens
        if parents is not None:
            self._parents[:n] = parents
        logits, address = self._buffers.take(rows)
        sequence = self._cos, self._sin, cached, self._threads(n)
        lineage = None if parents is None else self._parents
        if not self._feed(self._handle, self._tokens, n, lineage, rows, address, *sequence):
            raise failure(self._library)
        self.length = cached + n
        return logits

    def settings(self, places: int, lookahead: int, rule: int, threads: int) -> LevelSettings:
        """Return this session as a level of a compiled decode of up to ``places`` tokens."""
        self._make_room(1, places)
        weights = self._weights
        return LevelSettings(self._handle, self._cos, self._sin, weights.bytes, lookahead, rule, threads)

    def truncate(self, length: int) -> None:
        self.length = min(self.length, length)

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        n = len(nodes)
        if n and nodes[-1] >= n:
            self._keep(self._handle, base, (ctypes.c_int32 * n)(*(base + node for node in nodes)), n)
        self.length = base + n

    # --- inside ----------------------------------------------------------------------------------------------------

    def _threads(self, n: int) -> int:
        worth = int(self._weights.bytes * max(1, n / _TOKENS_A_READ) / BYTES_A_THREAD)
        return 1 if worth < 2 else min(machine.threads(), worth)

    def _make_room(self, tokens: int, places: int) -> None:
        """Make buffers for so many tokens per call, and the angles of the places."""
        self._most = max(tokens, self._most)
        self._tokens, self._parents = ((ctypes.c_int32 * self._most)() for _ in range(2))
        self._angles = self._weights.angles(places)
        self._places = len(self._angles[0])
        self._cos, self._sin = (part.ctypes.data for part in self._angles)


def _free(weights: PackedWeights, handle: int) -> None:
    weights.library.hsd_session_free(handle)


class RowBuffers:
    """Rows of ``width`` numbers for one session, in memory that is reused when no view of it is referenced.

    New memory is expensive: the system maps it page by page on first access, and takes large pieces back when they are
    freed.
    """

    def __init__(self, width: int, dtype: np.dtype) -> None:
        self._width, self._type = width, dtype
        #: Of each buffer its numbers, their address, and their reference count while nothing else holds them.
        self._kept: list[list] = []

    def take(self, rows: int) -> tuple[np.ndarray, int]:
        """Return an array ``[rows, width]`` with any contents, and its address."""
        for kept in self._kept:
            if len(kept[0]) >= rows and sys.getrefcount(kept[0]) == kept[2]:
                break
        else:
            if rows * self._width * self._type.itemsize > _LARGEST:
                rare = np.empty((rows, self._width), self._type)
                return rare, rare.ctypes.data
            # As many rows again are likely to be asked for, and a few more.
            numbers = np.empty((1 << (rows - 1).bit_length(), self._width), self._type)
            kept = [numbers, numbers.ctypes.data, 0]
            del numbers
            kept[2] = sys.getrefcount(kept[0])
            self._kept = [*self._kept[1 - _KEPT :], kept]
        return kept[0][:rows], kept[1]
