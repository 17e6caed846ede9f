"""Sampling: the settings, the uniform numbers, from logits to the distribution that is sampled, and
drawing from it.

q is the row *after* temperature, top-k, top-p and min-p, the very row that was sampled: one
function makes rows and one draws from them, for every level. Every operation and its order is
stated in ``docs/reference/arithmetic.md`` and the same in the native runtime, so a seed decides
alike on every machine, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hsd_viz.decoding.options import Sampling
from hsd_viz.trace.tables import Top

#: Of splitmix64 (Steele, Lea and Flood 2014), a generator by key and counter.
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def _mix(z: int) -> int:
    z &= _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def number(key: int, counter: int) -> float:
    """Return the number with this counter in a stream: uniform in [0, 1 - 2**-52]."""
    return (_mix(key + counter * _GOLDEN) >> 12) * 2.0**-52


class Draws:
    """The random numbers of one decode, each by its name: seed and place.

    :meth:`at` is keyed by seed and position in the text. The target draws its own tokens with it,
    so that every stack whose drafts are point masses gives the tokens of plain sampling.
    :meth:`fresh` never repeats within a decode: a number used twice would tie a second draft to the
    fate of the first.
    """

    def __init__(self, seed: int) -> None:
        keys = [_mix(_mix(seed + _GOLDEN) ^ _mix(stream + 2 * _GOLDEN)) for stream in range(2)]
        (self._positions, self._fresh) = keys
        self._used = 0

    def at(self, position: int) -> float:
        """Return the number of this position in the text."""
        return number(self._positions, position)

    def fresh(self, n: int) -> list[float]:
        """Return ``n`` numbers that were not returned before."""
        first = self._used
        self._used = self._used + n
        return [number(self._fresh, counter) for counter in range(first, first + n)]


#: Lanes of a sum in the type of the row, and tokens in a block of a float64 sum.
LANES = 64
BLOCK = 64
#: Coefficients of exp from the highest power down to the square: of Cephes' ``expf``, and of the
#: Taylor series.
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
#: Of each type: the bound below which the result is 0 and that above which it grows no more, a
#: number that makes a sum drop its fraction, ln 2 in two parts, the coefficients, and the integers,
#: the bias and the shift that make a power of two.
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
    """Return e to the power of float32 or float64 ``x``, to about one unit in the last place: with
    x = n ln 2 + r it is 2**n times a polynomial in r.
    """
    low, high, whole, (ln2, rest), coefficients, (integer, bias, shift) = _EXPONENTIAL[x.dtype.type]
    r = np.minimum(np.maximum(x, low), high)
    n = r * _PER_LN2
    n += whole
    n -= whole
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
    """Return the sums ``[..., 1]`` of ``x`` ``[..., n]`` in its own type: element i is added to
    lane i mod 64, in order, then the upper half of the lanes to the lower half until one is left.
    """
    if over := -x.shape[-1] % LANES:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], over), x.dtype)], -1)
    x = x.reshape(*x.shape[:-1], -1, LANES).sum(-2)
    while (half := x.shape[-1] // 2) > 0:
        x = x[..., :half] + x[..., half:]
    return x


def distribution(scores: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Return probabilities for float32 or float64 ``scores`` ``[..., V]`` after temperature (above
    0), top-k, top-p and min-p; each row sums to 1. Ties at a border are kept, so that the result
    depends on the values alone.
    """
    assert not sampling.greedy
    # Without its maximum first, a small temperature would make an infinity of the best score;
    # others may become -inf.
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
        # Only tokens at least min_p times as likely as the likeliest (arXiv 2407.01082).
        least = p.max(-1, keepdims=True) * p.dtype.type(sampling.min_p)
        p[p < least] = 0
        p *= 1 / lane_sums(p)
    return p


def cumulated(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulative sums of ``weights`` ``[V]`` in float64, added in order: within each
    block of 64 ``[blocks, 64]``, and of whole blocks ``[blocks]``.
    """
    wide = np.zeros(-(-len(weights) // BLOCK) * BLOCK)
    wide[: len(weights)] = weights
    inside = wide.reshape(-1, BLOCK).cumsum(1)
    return inside, inside[:, -1].cumsum()


def draw(weights: np.ndarray, r: float) -> int:
    """Draw one token from the row ``weights`` ``[V]`` (non-negative, need not sum to 1) for ``r``
    uniform in [0, 1): in the first block whose end is above r times the whole, the first whose sum
    is above what is left. A token of probability 0 is never drawn.
    """
    inside, ends = cumulated(weights)
    mark = r * ends[-1]
    block = int(ends.searchsorted(mark, "right"))
    place = int(inside[block].searchsorted(mark - ends[block - 1] if block else mark, "right"))
    # The difference was rounded up to the block's end: the last token that can be drawn is meant.
    if place == BLOCK:
        place = int(weights[block * BLOCK :][:BLOCK].nonzero()[0][-1])
    return block * BLOCK + place


def total(weights: np.ndarray) -> float:
    """Return the sum of ``weights`` ``[V]`` in float64, in the order of :func:`cumulated`."""
    return float(cumulated(weights)[1][-1])


def likeliest(weights: np.ndarray, most: int) -> list[tuple[int, float]]:
    """Return the ``most`` largest of ``weights`` ``[V]`` with their places, largest first, of equal
    ones the first.
    """
    # For few, repeating the arg-max is the fastest way.
    left = weights.copy()
    ranked = []
    for _ in range(min(most, len(left))):
        place = int(left.argmax())
        ranked.append((place, float(left[place])))
        left[place] = -np.inf
    return ranked


def chance_of(token: int, row: np.ndarray | None, scores: np.ndarray) -> float:
    """Return the probability of a drafted ``token`` by its drafter: by the ``row`` ``[V]`` that it
    was sampled from, or, as an arg-max (``None``), by the logits ``scores`` ``[V]`` at temperature
    1.
    """
    if row is not None:
        return float(row[token])
    return describe(scores, token, 1)[0]


def describe(scores: np.ndarray, token: int, most: int) -> tuple[float, float, Top]:
    """Describe a row of logits ``[V]`` at temperature 1: the probability of ``token``, the entropy
    in nats, the ``most`` likeliest tokens with their probabilities. With x = scores less their
    maximum, w = exp x and Z = sum w: p = w / Z, and the entropy is log Z - sum w x / Z.
    """
    x = scores - scores.max()
    w = exponential(x)
    whole = total(w)
    # A score of -inf (a forbidden token) has p = 0 and adds nothing.
    mean = total(w * x.clip(np.finfo(x.dtype).min)) / whole
    top = [[place, weight / whole] for place, weight in likeliest(w, most)]
    return float(w[token]) / whole, max(0.0, math.log(whole) - mean), top
