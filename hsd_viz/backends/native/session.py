"""One sequence in a native model: a :class:`~hsd_viz.decoding.model.Launcher`."""

from __future__ import annotations

import ctypes
import weakref
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hsd_viz.backends.native.blocks import Blocks
from hsd_viz.backends.native.library import Rule, failure
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict

if TYPE_CHECKING:
    from hsd_viz.backends.native.model import NativeModel


#: Bytes of weights that a thread must go over in a forward to be worth waking (about 0.1 ms; one read serves a few tokens).
BYTES_A_THREAD = 6_000_000
_TOKENS_A_READ = 4
#: Tokens of a call that there is room for at first.
ROOM = 512
#: The verifier's probability of a node by its fate: walked to, tried, not reached (-1, the last).
_FATES = (0.0, 1.0, None)


class NativeSession:
    """A cache in the native runtime. ``length`` tokens of it are valid.

    Logits do not depend on how tokens were fed: one at a time, as a chain or as a draft tree, on any number of threads, the row
    after a token is the same to the last bit. One session is used by one thread at a time; sessions of one model run side by side.
    The threads of a forward are those of torch (``torch.get_num_threads()``), fewer for small models.
    """

    #: The rows of the last walk, and how many likeliest tokens of each are wished for.
    _walked: list[int] | None = None
    _wished = 0

    def __init__(self, model: NativeModel) -> None:
        self._model = model
        self._library = model.library
        self.length = 0
        self._handle = self._library.hsd_session_new(model.handle)
        if not self._handle:
            raise failure(self._library)
        # The finalizer holds the model: its weights outlive the session.
        # Nothing is freed at exit: a thread may still be in the middle of a forward.
        weakref.finalize(self, _free, model, self._handle).atexit = False
        self._feed = self._library.hsd_session_forward
        self._keep = self._library.quick.hsd_session_keep
        self._most = self._places = self._rows = 0
        self._blocks = Blocks(model.vocab_size, model.compute)
        self._sampling = self._eos = None
        self._make_room(ROOM, 1)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None
    ) -> Tensor:
        """Feed tokens; see :class:`~hsd_viz.decoding.model.CachedModel`. Raises ``ValueError`` for tokens outside of the vocabulary."""
        if tail is not None:
            tokens = [*tokens, *tail.tolist()]
        n, cached = len(tokens), self.length
        assert 1 <= rows <= n and (parents is None or len(parents) == n)
        if n > self._most or cached + n > self._places:
            self._make_room(n, cached + n)
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
            self._said,
            self._wished,
            self._seen,
            self._cos,
            self._sin,
            cached,
            self._threads(n),
        )
        if not done:
            raise failure(self._library)
        self.length, self._rows, self._walked = cached + n, rows, None
        return logits

    def walk(self) -> Verdict:
        """What the arg-maxes of the last forward say of its draft; see :class:`~hsd_viz.decoding.model.Walker`."""
        rows = self._rows
        said = self._said[: 3 * rows + 1]
        walked = self._walked = said[rows + 2 : rows + 2 + said[rows]]
        accepted = [row - 1 for row in walked[1:]]
        nodes = rows - 1
        p = [_FATES[fate] for fate in said[2 * rows + 2 :]]
        return Verdict(accepted, said[walked[-1]], walked[-1], said[rows + 1], p, [1.0] * nodes, [None] * nodes)

    def foresee(self, most: int) -> None:
        """Describe the rows of greedy walks during the forward; see :class:`~hsd_viz.decoding.details.Describer`."""
        self._wished = min(most, self._model.vocab_size)
        self._make_room(0, 1)

    def sample(
        self, tokens: Sequence[int], n: int, sampling: Sampling, chances: Sequence[float], eos: frozenset[int]
    ) -> tuple[list[int], Tensor | None]:
        """Decode ``n`` tokens in one call, fewer behind one of ``eos``; see :class:`~hsd_viz.decoding.model.Launcher`."""
        model, fed, cached = self._model, len(tokens), self.length
        assert fed and n and (sampling.greedy or len(chances) >= n)
        if fed + n > self._most or cached + fed + n > self._places:
            self._make_room(fed + n, cached + fed + n)
        if sampling is not self._sampling or eos is not self._eos:
            self._sampling, self._eos = sampling, eos
            self._rule = Rule(sampling.temperature, sampling.top_p, min(sampling.top_k, model.vocab_size))
            self._ends = (ctypes.c_int32 * len(eos))(*eos)
        self._tokens[:fed] = tokens
        rows, address = (None, None) if sampling.greedy else self._blocks.take(n)
        steps = self._library.hsd_session_sample(
            self._handle,
            self._tokens,
            fed,
            self._rule,
            None if rows is None else (ctypes.c_double * len(chances))(*chances),
            self._ends,
            len(eos),
            n,
            self._said,
            address,
            self._cos,
            self._sin,
            cached,
            self._threads(1),
        )
        if not steps:
            raise failure(self._library)
        self.length = cached + fed + steps - 1
        return self._said[:steps], None if rows is None else rows[:steps]

    def _threads(self, n: int) -> int:
        worth = int(self._model.weight_bytes * max(1, n / _TOKENS_A_READ) / BYTES_A_THREAD)
        return 1 if worth < 2 else min(torch.get_num_threads(), worth)

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int], most: int) -> array:
        """Probability, entropy and likeliest tokens of rows of logits; see :class:`~hsd_viz.decoding.details.Describer`."""
        n, walked = len(rows), self._walked
        if walked and self._wished and rows == walked[:n]:
            # A walk's tokens are the arg-maxes, as long as it goes.
            return self._numbers[: n * (2 + 2 * self._wished)]
        vocab = logits.shape[1]
        most = min(most, vocab)
        numbers = array("d", bytes(8 * n * (2 + 2 * most)))
        self._library.quick.hsd_describe(
            logits.data_ptr(),
            logits.dtype == torch.float64,
            vocab,
            (ctypes.c_int32 * n)(*rows),
            (ctypes.c_int32 * n)(*tokens),
            n,
            most,
            numbers.buffer_info()[0],
        )
        return numbers

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = min(self.length, length)

    def keep(self, base: int, places: Sequence[int]) -> None:
        """Gather the entries at ``places`` (ascending) behind ``base``: the accepted path of a tree."""
        n = len(places)
        if n and places[-1] >= base + n:
            self._keep(self._handle, base, (ctypes.c_int32 * n)(*places), n)
        self.length = base + n

    def _make_room(self, tokens: int, places: int) -> None:
        """Make buffers for so many tokens a call, and have the angles of so many places."""
        self._most = max(tokens, self._most)
        self._tokens, self._parents = ((ctypes.c_int32 * self._most)() for _ in range(2))
        self._said = (ctypes.c_int32 * (3 * self._most + 1))()
        self._numbers = array("d", bytes(8 * self._most * (2 + 2 * self._wished))) if self._wished else array("d")
        self._seen = self._numbers.buffer_info()[0]
        self._angles = self._model.angles(places)
        self._places = len(self._angles[0])
        self._cos, self._sin = (part.data_ptr() for part in self._angles)


def _free(model: NativeModel, handle: int) -> None:
    model.library.hsd_session_free(handle)
