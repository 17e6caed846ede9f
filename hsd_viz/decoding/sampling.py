"""Sampling: uniform numbers, the distribution of a row of logits, and drawing tokens from it.

q is the row *after* temperature, top-k, top-p and min-p, the row that was sampled. All levels use
:func:`distribution` to compute rows and :func:`draw` to sample from them. Each operation and its
order are stated in ``docs/reference/arithmetic.md`` and are the same in the native runtime, so that
a seed gives the same tokens on every machine, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.decoding.options import Sampling
from hsd_viz.trace.rows import Top

#: Constants of splitmix64 (Steele, Lea and Flood 2014), a generator by key and counter.
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def _mix(z: int) -> int:
    z &= _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def number(key: int, counter: int) -> float:
    """Return the uniform number in [0, 1 - 2**-52] at a counter of the stream ``key``."""
    return (_mix(key + counter * _GOLDEN) >> 12) * 2.0**-52


class UniformNumbers(NamedTuple):
    """The uniform numbers in [0, 1) of a verification.

    Attributes:
        r: ``r[k]`` draws the token after k tokens of the draft.
        u: ``u[k]`` decides whether token k of a sampled chain is accepted; empty for point masses.
    """

    r: Sequence[float]
    u: Sequence[float] = ()


class Draws:
    """The uniform numbers of a decode, in two streams.

    :meth:`at` is keyed by seed and position in the text. The target draws its own tokens with it,
    so that each stack whose drafts are point masses gives the tokens of plain sampling.
    :meth:`fresh` never repeats a number within a decode, because two drafts that shared a number
    would not be independent.
    """

    def __init__(self, seed: int) -> None:
        keys = [_mix(_mix(seed + _GOLDEN) ^ _mix(stream + 2 * _GOLDEN)) for stream in range(2)]
        (self._positions, self._fresh) = keys
        self._used = 0

    def at(self, position: int) -> float:
        """Return the number for a position in the text."""
        return number(self._positions, position)

    def fresh(self, n: int) -> list[float]:
        """Return ``n`` numbers that were not returned before."""
        first = self._used
        self._used = self._used + n
        return [number(self._fresh, counter) for counter in range(first, first + n)]


#: The number of lanes of a sum in the type of the row.
LANES = 64
#: The number of tokens in a block of a float64 sum.
BLOCK = 64
#: Coefficients of exp from the highest power down to the square: those of Cephes' ``expf`` for
#: float32, and those of the Taylor series for float64.
_CEPHES = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
_TAYLOR = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
_PER_LN2 = 1.44269504088896341
#: ln 2 in two parts, for float64.
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
#: The constants of :func:`exponential` by type: the argument below which the result is 0, the
#: largest argument, the number that rounds a sum to an integer, ln 2 in two parts, the
#: coefficients, and the integer type, exponent bias and shift that give a power of two.
_EXPONENTIAL: dict[Any, tuple] = {
    np.float32: (
        -87.3,
        88.0,
        12582912.0,
        (0.693359375, -2.12194440e-4),
        _CEPHES,
        (np.int32, 127, 23),
    ),
    np.float64: (-708.0, 709.0, 6755399441055744.0, _LN2, _TAYLOR, (np.int64, 1023, 52)),
}


def exponential(x: np.ndarray) -> np.ndarray:
    """Return exp ``x`` for float32 or float64, to about one unit in the last place.

    With x = n ln 2 + r, the result is 2**n times a polynomial in r.
    """
    low, high, rounder, (ln2, rest), coefficients, (integer, bias, shift) = _EXPONENTIAL[
        x.dtype.type
    ]
    r = np.minimum(np.maximum(x, low), high)
    n = r * _PER_LN2
    n += rounder
    n -= rounder
    r -= n * ln2
    r -= n * rest
    p = r * coefficients[0]
    for coefficient in coefficients[1:]:
        p += coefficient
        p *= r
    p *= r
    p += r
    p += 1
    power = n.astype(integer)
    power += bias
    power <<= shift
    p *= power.view(x.dtype)
    p[x < low] = 0
    return p


def lane_sums(x: np.ndarray) -> np.ndarray:
    """Return the sums ``[..., 1]`` of ``x`` ``[..., n]`` in its own type, in a fixed order.

    Element i is added to lane i mod 64, in order. Then the upper half of the lanes is added to the
    lower half until one lane is left.
    """
    if over := -x.shape[-1] % LANES:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], over), x.dtype)], -1)
    x = x.reshape(*x.shape[:-1], -1, LANES).sum(-2)
    while (half := x.shape[-1] // 2) > 0:
        x = x[..., :half] + x[..., half:]
    return x


def distribution(scores: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Return the distribution of logits after temperature (above 0), top-k, top-p and min-p.

    Tokens that tie at a threshold are all kept, so that the result depends only on the values.

    Args:
        scores: the logits ``[..., V]`` in float32 or float64.
        sampling: the sampling settings.

    Returns:
        The probabilities ``[..., V]`` in the type of ``scores``; each row sums to 1.
    """
    assert not sampling.greedy
    # The maximum is subtracted first: dividing the best score by a small temperature would overflow
    # to infinity. Other scores may become -inf.
    x = scores - scores.max(-1, keepdims=True)
    if sampling.temperature != 1:
        with np.errstate(over="ignore"):
            x /= max(sampling.temperature, float(np.finfo(x.dtype).tiny))
    if 0 < sampling.top_k < x.shape[-1]:
        x[x < np.partition(x, -sampling.top_k)[..., -sampling.top_k, None]] = -np.inf
    p = exponential(x)
    p *= 1 / lane_sums(p)
    if sampling.top_p < 1:
        ordered = np.sort(p)[..., ::-1]
        # The nucleus: the likeliest tokens up to and including the one that reaches top_p.
        kept = (ordered[..., :-1].cumsum(-1, dtype=np.float64) < sampling.top_p).sum(
            -1, keepdims=True
        )
        p[p < np.take_along_axis(ordered, kept, -1)] = 0
        p *= 1 / lane_sums(p)
    if sampling.min_p > 0:
        # Keep tokens at least min_p times as likely as the likeliest one (arXiv 2407.01082).
        least = p.max(-1, keepdims=True) * p.dtype.type(sampling.min_p)
        p[p < least] = 0
        p *= 1 / lane_sums(p)
    return p


def cumulated(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulative sums of ``weights`` ``[V]`` in float64, added in order.

    Returns:
        The sums within each block of 64 tokens ``[blocks, 64]``, and the sums of whole blocks
        ``[blocks]``.
    """
    wide = np.zeros(-(-len(weights) // BLOCK) * BLOCK)
    wide[: len(weights)] = weights
    inside = wide.reshape(-1, BLOCK).cumsum(1)
    return inside, inside[:, -1].cumsum()


def draw(weights: np.ndarray, r: float) -> int:
    """Draw a token from ``weights`` ``[V]`` by ``r``, a uniform number in [0, 1).

    The weights are non-negative and need not sum to 1. The token is in the first block whose
    cumulative sum exceeds r times the total; it is the first there whose sum exceeds the remainder.
    A token of weight 0 is never drawn.
    """
    inside, ends = cumulated(weights)
    mark = r * ends[-1]
    block = int(ends.searchsorted(mark, "right"))
    index = int(inside[block].searchsorted(mark - ends[block - 1] if block else mark, "right"))
    # The difference was rounded up to the end of the block: draw its last token of weight > 0.
    if index == BLOCK:
        index = int(weights[block * BLOCK :][:BLOCK].nonzero()[0][-1])
    return block * BLOCK + index


def total(weights: np.ndarray) -> float:
    """Return the sum of ``weights`` ``[V]`` in float64, in the order of :func:`cumulated`."""
    return float(cumulated(weights)[1][-1])


def likeliest(weights: np.ndarray, count: int) -> list[tuple[int, float]]:
    """Return the ``count`` largest of ``weights`` ``[V]`` as (index, weight) pairs.

    The largest is first. Equal weights are in the order of their indices.
    """
    # For a small count, repeating the arg-max is the fastest way.
    left = weights.copy()
    ranked = []
    for _ in range(min(count, len(left))):
        index = int(left.argmax())
        ranked.append((index, float(left[index])))
        left[index] = -np.inf
    return ranked


def chance_of(token: int, row: np.ndarray | None, scores: np.ndarray) -> float:
    """Return the probability of a draft token by its drafter.

    Args:
        token: the draft token.
        row: the row ``[V]`` that it was sampled from; ``None`` if it is an arg-max.
        scores: the logits ``[V]``; at temperature 1 they give the probability of an arg-max.
    """
    if row is not None:
        return float(row[token])
    return describe(scores, token, 1)[0]


def describe(scores: np.ndarray, token: int, count: int) -> tuple[float, float, Top]:
    """Describe a row of logits ``[V]`` at temperature 1.

    With x = scores - max(scores), w = exp x and Z = sum w, the probabilities are p = w / Z and the
    entropy is log Z - sum w x / Z.

    Returns:
        The probability of ``token``, the entropy in nats, and the ``count`` likeliest tokens with
        their probabilities.
    """
    x = scores - scores.max()
    w = exponential(x)
    z = total(w)
    # A score of -inf (a forbidden token) has p = 0 and adds 0 to the mean.
    mean = total(w * x.clip(np.finfo(x.dtype).min)) / z
    top = [[index, weight / z] for index, weight in likeliest(w, count)]
    return float(w[token]) / z, max(0.0, math.log(z) - mean), top
