"""One sequence in a native model: a :class:`~hsd_viz.decoding.model.Launcher`."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hsd_viz.decoding.details import Detail
from hsd_viz.decoding.settings import Sampling

from .library import Rule, failure

if TYPE_CHECKING:
    from .model import NativeModel


#: Bytes of weights that a thread must go over in a forward to be worth waking (about 0.1 ms; one read serves a few tokens).
BYTES_A_THREAD = 6_000_000
_TOKENS_A_READ = 4


class NativeSession:
    """A cache in the native runtime. ``length`` tokens of it are valid.

    Logits do not depend on how tokens were fed: one at a time, as a chain or as a draft tree, on any number of threads, the row
    after a token is the same to the last bit. One session is used by one thread at a time; sessions of one model run side by side.
    The threads of a forward are those of torch (``torch.get_num_threads()``), fewer for small models.
    """

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

    def forward(self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None) -> Tensor:
        """Feed tokens; see :class:`~hsd_viz.decoding.model.CachedModel`. Raises ``ValueError`` for tokens outside of the vocabulary."""
        model = self._model
        if tail is not None:
            tokens = [*tokens, *tail.tolist()]
        n, cached = len(tokens), self.length
        assert 1 <= rows <= n and (parents is None or len(parents) == n)
        logits = torch.empty(rows, model.vocab_size, dtype=model.compute)
        cos, sin = model.angles(cached + n)
        done = self._library.hsd_session_forward(
            self._handle,
            (ctypes.c_int32 * n)(*tokens),
            n,
            None if parents is None else (ctypes.c_int32 * n)(*parents),
            rows,
            logits.data_ptr(),
            cos.data_ptr(),
            sin.data_ptr(),
            cached,
            self._threads(n),
        )
        if not done:
            raise failure(self._library)
        self.length = cached + n
        return logits

    def sample(
        self, tokens: Sequence[int], n: int, sampling: Sampling, chances: Sequence[float], eos: frozenset[int]
    ) -> tuple[Tensor, Tensor | None]:
        """Decode ``n`` tokens in one call, fewer behind one of ``eos``; see :class:`~hsd_viz.decoding.model.Launcher`."""
        model, fed, cached = self._model, len(tokens), self.length
        assert fed and n and (sampling.greedy or len(chances) >= n)
        ids = torch.empty(n, dtype=torch.int64)
        rows = None if sampling.greedy else torch.empty(n, model.vocab_size, dtype=model.compute)
        cos, sin = model.angles(cached + fed + n)
        steps = self._library.hsd_session_sample(
            self._handle,
            (ctypes.c_int32 * fed)(*tokens),
            fed,
            Rule(sampling.temperature, sampling.top_p, min(sampling.top_k, model.vocab_size)),
            None if rows is None else (ctypes.c_double * len(chances))(*chances),
            (ctypes.c_int32 * len(eos))(*eos),
            len(eos),
            n,
            ids.data_ptr(),
            None if rows is None else rows.data_ptr(),
            cos.data_ptr(),
            sin.data_ptr(),
            cached,
            self._threads(1),
        )
        if not steps:
            raise failure(self._library)
        self.length = cached + fed + steps - 1
        return ids[:steps], None if rows is None else rows[:steps]

    def _threads(self, n: int) -> int:
        worth = self._model.weight_bytes * max(1, n / _TOKENS_A_READ) / BYTES_A_THREAD
        return max(1, min(torch.get_num_threads(), int(worth)))

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int], most: int) -> list[Detail]:
        """Probability, entropy and likeliest tokens of rows of logits; see :class:`~hsd_viz.decoding.details.Describer`."""
        n, vocab = len(rows), logits.shape[1]
        width = 2 + 2 * min(most, vocab)
        out = (ctypes.c_double * (n * width))()
        self._library.hsd_describe(
            logits.data_ptr(),
            logits.dtype == torch.float64,
            vocab,
            (ctypes.c_int32 * n)(*rows),
            (ctypes.c_int32 * n)(*tokens),
            n,
            (width - 2) // 2,
            out,
        )
        found = []
        for at in range(0, n * width, width):
            p, entropy, *pairs = out[at : at + width]
            found.append((p, entropy, tuple(zip(map(int, pairs[::2]), pairs[1::2], strict=True))))
        return found

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = min(self.length, length)

    def keep(self, base: int, places: Sequence[int]) -> None:
        """Gather the entries at ``places`` (ascending) behind ``base``: the accepted path of a tree."""
        n = len(places)
        self._library.hsd_session_keep(self._handle, base, (ctypes.c_int32 * n)(*places), n)
        self.length = base + n


def _free(model: NativeModel, handle: int) -> None:
    model.library.hsd_session_free(handle)
