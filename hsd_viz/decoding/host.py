"""The rules of sampling and verification on the CPU, in numpy: for one sequence and a vocabulary that fits a cache.

torch takes some ten microseconds to get going for each operation after a forward has swept the caches, numpy one or two. And on
the host there is no transfer to save up for: rows are looked at one by one, and only those that a walk gets to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from hsd_viz.decoding.settings import Sampling

#: Tokens that :func:`draw` passes in one stride.
_STRIDE = 64
#: Below this temperature scores may overflow to -inf, which is what they should do.
_COLD = 1e-30


def array(values: Tensor) -> np.ndarray:
    """The values of a CPU tensor, shared where numpy knows their type, else in float32."""
    return values.numpy() if values.dtype.itemsize > 2 else values.float().numpy()


def distribution(scores: np.ndarray, sampling: Sampling) -> np.ndarray:
    """:func:`hsd_viz.decoding.sampling.distribution` for float32 or float64 scores ``[..., V]``."""
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
        # The nucleus: the likeliest tokens up to and with the one that reaches top_p.
        border = np.where(before < sampling.top_p, ordered, np.inf).min(-1, keepdims=True)
        p[p < border] = 0
        p /= p.sum(-1, keepdims=True)
    return p


def draw(p: np.ndarray, r: float) -> int:
    """One token of the row ``p`` ``[V]`` (non-negative, need not sum to 1) for ``r`` uniform in [0, 1).

    Inverse of the cumulative sum in float64, first by strides, then within one. A token of probability 0 is never drawn.
    """
    edges = np.add.reduceat(p, np.arange(0, len(p), _STRIDE), dtype=np.float64).cumsum()
    mark = r * edges[-1]
    stride = int(edges.searchsorted(mark, "right"))
    part = p[stride * _STRIDE : (stride + 1) * _STRIDE]
    inside = part.cumsum(dtype=np.float64)
    place = int(inside.searchsorted(mark - edges[stride - 1] if stride else mark, "right"))
    if place < len(part):
        return stride * _STRIDE + place
    # The mark lies at the stride's end, which was summed in another order: the last token that can be drawn is meant.
    return int(p[: (stride + 1) * _STRIDE].nonzero()[0][-1])


class Walked:
    """The verifier's own tokens by row of ``scores`` ``[n, V]``, drawn when a walk asks for them.

    ``number`` gives the uniform number for the k-th row asked for. ``p`` holds the rows made so far in that order, which is
    that of the walk.
    """

    __slots__ = ("_number", "_place", "_sampling", "_scores", "_tokens", "p")

    def __init__(self, scores: np.ndarray, sampling: Sampling, number: Callable[[int], float]) -> None:
        self._scores = scores
        self._sampling = sampling
        self._number = number
        self._place: dict[int, int] = {}
        self._tokens: list[int] = []
        self.p: list[np.ndarray] = []

    def __getitem__(self, row: int) -> int:
        k = self._place.get(row)
        if k is None:
            k = self._place[row] = len(self.p)
            self.p.append(distribution(self._scores[row], self._sampling))
            self._tokens.append(draw(self.p[k], self._number(k)))
        return self._tokens[k]

    def probability(self, row: int, token: int) -> float:
        """The verifier's probability of ``token`` on a row that was asked for."""
        return float(self.p[self._place[row]][token])


def accept(
    tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float], r: Sequence[float]
) -> tuple[int, int, np.ndarray | None]:
    """The chain rule of :func:`hsd_viz.decoding.verify.verify_chain`: (tokens accepted, new token, residual it was drawn from)."""
    k = 0
    while k < len(tokens) and u[k] * float(q[k, tokens[k]]) < float(p[k, tokens[k]]):
        k += 1
    if k == len(tokens):
        return k, draw(p[k], r[k]), None
    residual = np.maximum(p[k] - q[k], 0)
    # p and q can agree to the last bit at a place that was rejected by rounding alone: then p itself is the limit.
    if not residual.sum() > 0:
        residual = p[k].copy()
    return k, draw(residual, r[k]), residual


def top(weights: np.ndarray, most: int) -> list[tuple[int, float]]:
    """The ``most`` largest of ``weights`` ``[V]`` (non-negative), with their places, largest first. Overwrites them.

    Finding the largest is so fast (a vocabulary of 4 096 in 0.3 µs) that doing it again and again is the fastest way for few.
    """
    found = []
    for _ in range(min(most, len(weights))):
        place = int(weights.argmax())
        found.append((place, float(weights[place])))
        weights[place] = -1
    return found
