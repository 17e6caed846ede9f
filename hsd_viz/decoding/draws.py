"""Uniform random numbers by name: the same seed and place give the same number, independent of earlier draws.

The generator is counter-based: splitmix64 (Steele, Lea and Flood 2014) of a key and a counter, in 64-bit arithmetic
that wraps around. The native runtime gives the same numbers.
"""

from __future__ import annotations

_GOLDEN, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def _mix(z: int) -> int:
    z &= _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def stream_key(seed: int, stream: int) -> int:
    """Return the key of one stream of numbers of a seed."""
    return _mix(_mix(seed + _GOLDEN) ^ _mix(stream + 2 * _GOLDEN))


def number(key: int, counter: int) -> float:
    """Return the number with this counter in the stream of ``key``: uniform in [0, 1 - 2**-52]."""
    return (_mix(key + counter * _GOLDEN) >> 12) * 2.0**-52


class Draws:
    """The random numbers of one decode.

    :meth:`at` is keyed by (seed, position in the text). The target draws its own tokens with it, so that every stack
    whose drafts are point masses gives the same tokens as plain sampling. :meth:`fresh` never repeats within a decode:
    a level below the target may draw for one position several times (after its draft was rejected), and a number used
    twice would tie the second draft to the first one's fate. How many numbers a draft or a verification takes does not
    depend on what is drawn.
    """

    def __init__(self, seed: int) -> None:
        self._positions, self._fresh, self._used = stream_key(seed, 0), stream_key(seed, 1), 0

    def at(self, position: int) -> float:
        """Return the number of this position in the text."""
        return number(self._positions, position)

    def fresh(self, n: int) -> list[float]:
        """Return ``n`` numbers that were not returned before."""
        first, self._used = self._used, self._used + n
        return [number(self._fresh, counter) for counter in range(first, first + n)]
