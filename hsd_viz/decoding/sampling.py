"""Sampling in numpy, the reference for all backends: from logits to the distribution that is sampled, and drawing from
it.

Rule 5 of losslessness: q is the row *after* temperature, top-k and top-p, the very row that was sampled. So one
function makes rows and one draws from them, and both are used by every level.
"""

from __future__ import annotations

import struct
from hashlib import blake2b

import numpy as np

from hsd_viz.decoding.settings import Sampling

#: Tokens per stride of :func:`draw`.
_STRIDE = 64
#: Numbers made beyond those that are asked for.
_AHEAD = 32
#: Below this temperature scores may overflow to -inf, which is the right result.
_COLD = 1e-30


class Draws:
    """Uniform random numbers in [0, 1 - 2**-52] by name: the same seed and place give the same number, independent of
    earlier draws.

    :meth:`at` is keyed by (seed, output position). The target draws its own tokens with it, so that every stack whose
    drafts are point masses gives the same tokens as plain sampling. :meth:`fresh` never repeats within a run: a level
    below the target may draw for one position several times (after its draft was rejected), and a number used twice
    would tie the second draft to the first one's fate.
    """

    def __init__(self, seed: int) -> None:
        #: How many fresh numbers were returned; those after a lower mark are returned again.
        self.used = 0
        self._at, self._fresh = _Numbers(seed, 0), _Numbers(seed, 1)

    def at(self, position: int) -> float:
        """Return the number of this output position."""
        return self._at.take(position, 1)[0]

    def fresh(self, n: int) -> list[float]:
        """Return ``n`` numbers that were not returned before."""
        first = self.used
        self.used += n
        return self._fresh.take(first, n)


class _Numbers:
    """The numbers of one stream, made many at a time: the places of a draft are asked for again in later rounds, and
    between forward passes Python is slow.
    """

    def __init__(self, seed: int, stream: int) -> None:
        self._key = seed, stream
        self._begin, self._known = 0, []  # type: ignore[var-annotated]

    def take(self, first: int, n: int) -> list[float]:
        """Return the numbers from ``first`` on."""
        at = first - self._begin
        if at < 0 or at + n > len(self._known):
            self._begin, at = first, 0
            self._known = [_number(*self._key, counter) for counter in range(first, first + n + _AHEAD)]
        return self._known[at : at + n]


def _number(seed: int, stream: int, counter: int) -> float:
    digest = blake2b(struct.pack("<QQQ", seed, stream, counter), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 12) * 2.0**-52


def distribution(scores: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Return probabilities for float32 or float64 ``scores`` ``[..., V]`` after temperature, top-k and top-p; each row
    sums to 1.

    Ties at the top-k or top-p border are kept, so that the result depends on the values alone. Temperature 0 has no
    rows: use the arg-max.
    """
    assert not sampling.greedy
    # The maximum goes first: the best token keeps the score 0 and no temperature, however small, makes an infinity of
    # it.
    p = scores - scores.max(-1, keepdims=True)
    if sampling.temperature < _COLD:
        with np.errstate(over="ignore"):
            p /= max(sampling.temperature, float(np.finfo(p.dtype).tiny))
    elif sampling.temperature != 1:
        p /= sampling.temperature
    if 0 < sampling.top_k < p.shape[-1]:
        p[p < np.partition(p, -sampling.top_k)[..., -sampling.top_k, None]] = -np.inf
    np.exp(p, out=p)
    p /= p.sum(-1, keepdims=True)
    if sampling.top_p < 1:
        ordered = np.sort(p)[..., ::-1]
        before = ordered.cumsum(-1) - ordered
        # The nucleus: the likeliest tokens up to and including the one that reaches top_p.
        border = np.where(before < sampling.top_p, ordered, np.inf).min(-1, keepdims=True)
        p[p < border] = 0
        p /= p.sum(-1, keepdims=True)
    return p


def draw(p: np.ndarray, r: float) -> int:
    """Draw one token from the row ``p`` ``[V]`` (non-negative, need not sum to 1) for ``r`` uniform in [0, 1).

    Inverse of the cumulative sum in float64, first by strides, then within one. A token of probability 0 is never
    drawn.
    """
    edges = np.add.reduceat(p, np.arange(0, len(p), _STRIDE), dtype=np.float64).cumsum()
    mark = r * edges[-1]
    stride = int(edges.searchsorted(mark, "right"))
    part = p[stride * _STRIDE : (stride + 1) * _STRIDE]
    inside = part.cumsum(dtype=np.float64)
    place = int(inside.searchsorted(mark - edges[stride - 1] if stride else mark, "right"))
    if place < len(part):
        return stride * _STRIDE + place
    # The mark is at the stride's end, which was summed in another order: the last token that can be drawn is meant.
    return int(p[: (stride + 1) * _STRIDE].nonzero()[0][-1])
