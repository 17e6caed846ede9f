"""One sequence in a native model: it also verifies and decodes within its calls."""

from __future__ import annotations

import ctypes
import sys
import weakref
from array import array
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hsd_viz.backends.native.library import Drafted, Rule, failure
from hsd_viz.backends.native.weights import PackedWeights
from hsd_viz.decoding.backend import Notes
from hsd_viz.decoding.model import DecodedRun, ForwardResult, SampledDraft
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict

#: Bytes of weights that a thread must read in a forward pass to be worth waking (about 0.1 ms; one read serves a few
#: tokens).
BYTES_A_THREAD = 6_000_000
_TOKENS_A_READ = 4
#: Tokens of a call that there is room for at first.
ROOM = 512
#: The verifier's probability of a node by its fate, with greedy decoding: walked to, tried, not reached (-1, the last).
_FATES = (0.0, 1.0, None)
#: Buffers for logits that are kept (the loop still reads one while it asks for the next), and the bytes of the largest.
_KEPT, _LARGEST = 3, 1 << 23


class NativeSession:
    """A :class:`~hsd_viz.decoding.model.Launcher` and :class:`~hsd_viz.decoding.model.Verifier` in the native runtime.

    Logits do not depend on how tokens were fed: one at a time, as a chain or as a draft tree, on any number of threads,
    the row after a token is the same to the last bit. One session is used by one thread at a time; sessions of one
    model run side by side. The threads of a forward pass are those of torch (``torch.get_num_threads()``), fewer for
    small models. A token outside of the vocabulary raises ``ValueError``.
    """

    can_sample = can_verify = can_decode = True

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
        self._buffers, self._rows = (RowBuffers(weights.vocab_size, weights.compute) for _ in range(2))
        self._sampling = self._eos = None
        self._make_room(ROOM, 1)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None
    ) -> Tensor:
        return torch.from_numpy(self._forward(tokens if tail is None else [*tokens, *tail.tolist()], rows, parents))

    def forward_verified(
        self,
        tokens: Sequence[int],
        rows: int,
        parents: Sequence[int] | None,
        sampling: Sampling,
        chances: Sequence[float],
        details: int = 0,
        drafted: SampledDraft | None = None,
        keep_rows: bool = False,
        tail: Tensor | None = None,
        notes: Notes | None = None,
    ) -> ForwardResult:
        assert tail is None, "what is drafted on the host is known there"
        most, sampled = min(details, self._weights.vocab_size), not sampling.greedy
        if drafted is not None and not self._readable(drafted.rows):
            return ForwardResult(self.forward(tokens, rows, parents))
        p = how = None
        if sampled and (keep_rows or drafted is not None):
            how = Drafted()
            if keep_rows:
                room, how.p = self._rows.take(rows)
                p = torch.from_numpy(room)
            if drafted is not None:
                u = (ctypes.c_double * (rows - 1))(*drafted.u)
                how.q, how.u, how.block = drafted.rows.data_ptr(), ctypes.addressof(u), drafted.rule == "block"
        given = (ctypes.c_double * len(chances))(*chances) if sampled else None
        logits = self._forward(tokens, rows, parents, most, self._rule_of(sampling), given, how)
        if drafted is not None:
            return self._chain(logits, tokens[len(tokens) - rows + 1 :], drafted, p, most)
        # Per row its token, then how many rows were walked, how many places examined, the walked rows, and a fate per
        # node. The numbers: where sampled a probability per node, the described rows, what a correction was drawn from.
        found, nodes = self._found[: 3 * rows + 1], rows - 1
        if not (count := found[rows]):
            return ForwardResult(logits)
        walked, fates = found[rows + 2 : rows + 2 + count], found[2 * rows + 2 :]
        begin = nodes if sampled else 0
        end = begin + count * (2 + 2 * most)
        numbers = self._numbers[: end + 1 + 2 * most] if sampled or most else self._numbers
        shares = [_FATES[fate] for fate in fates]
        if sampled:
            shares = [None if fate < 0 else number for fate, number in zip(fates, numbers, strict=False)]
        accepted = [row - 1 for row in walked[1:]]
        unsure = [1.0] * nodes, [None] * nodes
        verdict = Verdict(accepted, found[walked[-1]], walked[-1], found[rows + 1], shares, *unsure)
        if not most:
            return ForwardResult(logits, verdict, p=p)
        return ForwardResult(logits, verdict, numbers[begin:end], numbers[end:] if sampled else None, p=p)

    def _chain(
        self, logits: np.ndarray, tokens: Sequence[int], drafted: SampledDraft, p: Tensor | None, most: int
    ) -> ForwardResult:
        """Return the verdict on a sampled chain: the library found the numbers of accepted tokens, the token after
        them, and of each token p, q and h; with ``most``, then the described rows and what a correction was drawn from.
        """
        n, (k, token) = len(tokens), self._found[:2]
        if k < 0 or token < 0:
            return ForwardResult(logits)
        width = 2 + 2 * most
        described = 3 * n + (k + 1) * width
        numbers = self._numbers[: described + 2 * (width - 1)]
        p_of, q_of, h = numbers[:n], numbers[n : 2 * n], numbers[2 * n : 3 * n]
        if drafted.rule == "block":
            verdict = Verdict.of_block(list(tokens), k, token, p_of, q_of, drafted.u, h, None)
        else:
            verdict = Verdict.of_chain(list(tokens), k, token, p_of, q_of, drafted.u, None)
        if not most:
            return ForwardResult(logits, verdict, p=p)
        left, q = numbers[described : described + width - 1], numbers[described + width - 1 :]
        return ForwardResult(logits, verdict, numbers[3 * n : described], left, q, p)

    def _readable(self, rows: Tensor) -> bool:
        """Whether the library can read these rows of a draft: an eager model may make them of another type."""
        return rows.dtype == self._weights.compute and rows.is_contiguous()

    def sample(
        self, tokens: Sequence[int], n: int, sampling: Sampling, chances: Sequence[float], eos: frozenset[int]
    ) -> tuple[list[int], Tensor | None]:
        rows, address = (None, None) if sampling.greedy else self._rows.take(n)
        steps = self._decode(tokens, n, sampling, chances, eos, address, 0, None)
        return self._found[:steps], None if rows is None else torch.from_numpy(rows[:steps])

    def decode(
        self,
        tokens: Sequence[int],
        n: int,
        sampling: Sampling,
        chances: Sequence[float],
        eos: frozenset[int],
        details: int = 0,
    ) -> DecodedRun:
        most, times = min(details, self._weights.vocab_size), (ctypes.c_int64 * (n + 1))()
        steps = self._decode(tokens, n, sampling, chances, eos, None, most, times)
        return DecodedRun(
            self._found[:steps], times[: steps + 1], self._numbers[: steps * (2 + 2 * most)] if most else None
        )

    def truncate(self, length: int) -> None:
        self.length = min(self.length, length)

    def keep(self, base: int, places: Sequence[int]) -> None:
        n = len(places)
        if n and places[-1] >= base + n:
            self._keep(self._handle, base, (ctypes.c_int32 * n)(*places), n)
        self.length = base + n

    # --- inside ----------------------------------------------------------------------------------------------------

    def _forward(
        self,
        tokens: Sequence[int],
        rows: int,
        parents: Sequence[int] | None,
        details: int = 0,
        rule: Rule | None = None,
        chances: ctypes.Array | None = None,
        drafted: Drafted | None = None,
    ) -> np.ndarray:
        n, cached = len(tokens), self.length
        assert 1 <= rows <= n and (parents is None or len(parents) == n)
        if n > self._most or cached + n > self._places or details > self._details:
            self._make_room(n, cached + n, details)
        self._tokens[:n] = tokens
        if parents is not None:
            self._parents[:n] = parents
        logits, address = self._buffers.take(rows)
        sequence = self._cos, self._sin, cached, self._threads(n)
        lineage = None if parents is None else self._parents
        result = rule, chances, drafted, self._found, details, self._numbers_at
        if not self._feed(self._handle, self._tokens, n, lineage, rows, address, *result, *sequence):
            raise failure(self._library)
        self.length = cached + n
        return logits

    def _decode(
        self,
        tokens: Sequence[int],
        n: int,
        sampling: Sampling,
        chances: Sequence[float],
        eos: frozenset[int],
        rows: int | None,
        details: int,
        times: ctypes.Array | None,
    ) -> int:
        """Decode up to ``n`` tokens into ``_found`` and return how many; ``rows`` is an address."""
        fed, cached = len(tokens), self.length
        assert fed and n and (sampling.greedy or len(chances) >= n)
        if fed + n > self._most or cached + fed + n > self._places or details > self._details:
            self._make_room(fed + n, cached + fed + n, details)
        if eos is not self._eos:
            self._eos, self._eos_ids = eos, (ctypes.c_int32 * len(eos))(*eos)
        self._tokens[:fed] = tokens
        given = None if sampling.greedy else (ctypes.c_double * len(chances))(*chances)
        wanted = self._rule_of(sampling), given, self._eos_ids, len(eos), n, rows
        result = self._found, details, self._numbers_at, times
        sequence = self._cos, self._sin, cached, self._threads(1)
        steps = self._library.hsd_session_sample(self._handle, self._tokens, fed, *wanted, *result, *sequence)
        if steps < 0:
            raise failure(self._library)
        self.length = cached + fed + steps - 1
        return steps

    def _rule_of(self, sampling: Sampling) -> Rule:
        if sampling is not self._sampling:
            self._sampling = sampling
            self._rule = Rule(sampling.temperature, sampling.top_p, min(sampling.top_k, self._weights.vocab_size))
        return self._rule

    def _threads(self, n: int) -> int:
        worth = int(self._weights.bytes * max(1, n / _TOKENS_A_READ) / BYTES_A_THREAD)
        return 1 if worth < 2 else min(torch.get_num_threads(), worth)

    def _make_room(self, tokens: int, places: int, details: int = 0) -> None:
        """Make buffers for so many tokens per call and likeliest tokens per row, and the angles of the places."""
        self._most, self._details = max(tokens, self._most), max(details, self._details)
        self._tokens, self._parents = ((ctypes.c_int32 * self._most)() for _ in range(2))
        self._found = (ctypes.c_int32 * (3 * self._most + 1))()
        self._numbers = array("d", bytes(8 * (self._most + 2) * (5 + 2 * self._details)))
        self._numbers_at = self._numbers.buffer_info()[0]
        self._angles = self._weights.angles(places)
        self._places = len(self._angles[0])
        self._cos, self._sin = (part.data_ptr() for part in self._angles)


def _free(weights: PackedWeights, handle: int) -> None:
    weights.library.hsd_session_free(handle)


class RowBuffers:
    """Rows of ``width`` numbers for one session, in memory that is reused when no view of it is referenced.

    New memory is expensive: the system maps it page by page on first access, and takes large pieces back when they are
    freed.
    """

    def __init__(self, width: int, dtype: torch.dtype) -> None:
        self._width = width
        self._type = np.float64 if dtype == torch.float64 else np.float32
        #: Of each buffer its numbers, their address, and their reference count while nothing else holds them.
        self._kept: list[list] = []

    def take(self, rows: int) -> tuple[np.ndarray, int]:
        """Return an array ``[rows, width]`` with any contents, and its address."""
        for kept in self._kept:
            if len(kept[0]) >= rows and sys.getrefcount(kept[0]) == kept[2]:
                break
        else:
            if rows * self._width * self._type().itemsize > _LARGEST:
                rare = np.empty((rows, self._width), self._type)
                return rare, rare.ctypes.data
            # As many rows again are likely to be asked for, and a few more.
            numbers = np.empty((1 << (rows - 1).bit_length(), self._width), self._type)
            kept = [numbers, numbers.ctypes.data, 0]
            del numbers
            kept[2] = sys.getrefcount(kept[0])
            self._kept = [*self._kept[1 - _KEPT :], kept]
        return kept[0][:rows], kept[1]
