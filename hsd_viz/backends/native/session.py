"""One sequence in a native model: a :class:`~hsd_viz.decoding.model.Launcher` that also verifies greedy drafts."""

from __future__ import annotations

import ctypes
import weakref
from array import array
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd_viz.backends.native.blocks import Blocks
from hsd_viz.backends.native.library import Rule, failure
from hsd_viz.backends.native.weights import PackedWeights
from hsd_viz.decoding.model import ForwardResult
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict

#: Bytes of weights that a thread must read in a forward pass to be worth waking (about 0.1 ms; one read serves a few
#: tokens).
BYTES_A_THREAD = 6_000_000
_TOKENS_A_READ = 4
#: Tokens of a call that there is room for at first.
ROOM = 512
#: The verifier's probability of a node by its fate: walked to, tried, not reached (-1, the last).
_FATES = (0.0, 1.0, None)


class NativeSession:
    """A cache in the native runtime. ``length`` tokens of it are valid.

    Logits do not depend on how tokens were fed: one at a time, as a chain or as a draft tree, on any number of threads,
    the row after a token is the same to the last bit. One session is used by one thread at a time; sessions of one
    model run side by side. The threads of a forward pass are those of torch (``torch.get_num_threads()``), fewer for
    small models.
    """

    can_sample = can_verify = True

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
        self._most = self._places = self._details = 0
        self._blocks = Blocks(weights.vocab_size, weights.compute)
        self._sampling = self._eos = None
        self._make_room(ROOM, 1)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None
    ) -> Tensor:
        """Feed tokens; see :class:`~hsd_viz.decoding.model.CachedModel`.

        Raises:
            ValueError: if a token is outside of the vocabulary.
        """
        return self._forward(tokens if tail is None else [*tokens, *tail.tolist()], rows, parents, 0)

    def forward_greedy(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, details: int = 0
    ) -> ForwardResult:
        """Feed tokens, walk the draft and describe the walked rows; see
        :class:`~hsd_viz.decoding.model.GreedyVerifier`.

        At most 16 likeliest tokens per row. Raises as :meth:`forward` does.
        """
        most = min(details, self._weights.vocab_size)
        logits = self._forward(tokens, rows, parents, most)
        # Per row its arg-max, then how many rows were walked, how many places examined, the walked rows, and a fate per
        # node.
        found = self._found[: 3 * rows + 1]
        walked = found[rows + 2 : rows + 2 + found[rows]]
        p, nodes = [_FATES[fate] for fate in found[2 * rows + 2 :]], rows - 1
        accepted = [row - 1 for row in walked[1:]]
        verdict = Verdict(accepted, found[walked[-1]], walked[-1], found[rows + 1], p, [1.0] * nodes, [None] * nodes)
        return ForwardResult(logits, verdict, self._numbers[: len(walked) * (2 + 2 * most)] if most else None)

    def _forward(self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None, details: int) -> Tensor:
        n, cached = len(tokens), self.length
        assert 1 <= rows <= n and (parents is None or len(parents) == n)
        if n > self._most or cached + n > self._places or details > self._details:
            self._make_room(n, cached + n, details)
        self._tokens[:n] = tokens
        if parents is not None:
            self._parents[:n] = parents
        logits, address = self._blocks.take(rows)
        done = self._feed(
            self._handle,
            self._tokens,
            n,
            None if parents is None else self._parents,
            rows,
            address,
            self._found,
            details,
            self._numbers_at,
            self._cos,
            self._sin,
            cached,
            self._threads(n),
        )
        if not done:
            raise failure(self._library)
        self.length = cached + n
        return logits

    def sample(
        self, tokens: Sequence[int], n: int, sampling: Sampling, chances: Sequence[float], eos: frozenset[int]
    ) -> tuple[list[int], Tensor | None]:
        """Decode ``n`` tokens in one call, fewer after one of ``eos``; see
        :class:`~hsd_viz.decoding.model.Launcher`."""
        fed, cached = len(tokens), self.length
        assert fed and n and (sampling.greedy or len(chances) >= n)
        if fed + n > self._most or cached + fed + n > self._places:
            self._make_room(fed + n, cached + fed + n)
        if sampling is not self._sampling or eos is not self._eos:
            self._sampling, self._eos = sampling, eos
            self._rule = Rule(sampling.temperature, sampling.top_p, min(sampling.top_k, self._weights.vocab_size))
            self._eos_ids = (ctypes.c_int32 * len(eos))(*eos)
        self._tokens[:fed] = tokens
        rows, address = (None, None) if sampling.greedy else self._blocks.take(n)
        steps = self._library.hsd_session_sample(
            self._handle,
            self._tokens,
            fed,
            self._rule,
            None if rows is None else (ctypes.c_double * len(chances))(*chances),
            self._eos_ids,
            len(eos),
            n,
            self._found,
            address,
            self._cos,
            self._sin,
            cached,
            self._threads(1),
        )
        if not steps:
            raise failure(self._library)
        self.length = cached + fed + steps - 1
        return self._found[:steps], None if rows is None else rows[:steps]

    def _threads(self, n: int) -> int:
        worth = int(self._weights.bytes * max(1, n / _TOKENS_A_READ) / BYTES_A_THREAD)
        return 1 if worth < 2 else min(torch.get_num_threads(), worth)

    def truncate(self, length: int) -> None:
        """Remove all but the first ``length`` tokens."""
        self.length = min(self.length, length)

    def keep(self, base: int, places: Sequence[int]) -> None:
        """Gather the entries at ``places`` (ascending) from ``base`` on: the accepted path of a tree."""
        n = len(places)
        if n and places[-1] >= base + n:
            self._keep(self._handle, base, (ctypes.c_int32 * n)(*places), n)
        self.length = base + n

    def _make_room(self, tokens: int, places: int, details: int = 0) -> None:
        """Allocate buffers for so many tokens per call and likeliest tokens per row, and the angles of so many
        places."""
        self._most, self._details = max(tokens, self._most), max(details, self._details)
        self._tokens, self._parents = ((ctypes.c_int32 * self._most)() for _ in range(2))
        self._found = (ctypes.c_int32 * (3 * self._most + 1))()
        self._numbers = array("d", bytes(8 * self._most * (2 + 2 * self._details)) if self._details else b"")
        self._numbers_at = self._numbers.buffer_info()[0]
        self._angles = self._weights.angles(places)
        self._places = len(self._angles[0])
        self._cos, self._sin = (part.data_ptr() for part in self._angles)


def _free(weights: PackedWeights, handle: int) -> None:
    weights.library.hsd_session_free(handle)
