"""Uniform random numbers by name: the same seed and the same place give the same number, whatever was drawn before."""

from __future__ import annotations

import struct
from hashlib import blake2b


class Draws:
    """Uniform numbers in [0, 1 - 2**-52].

    :meth:`at` is keyed by (seed, output position). The target draws its own tokens with it, so that every stack whose drafts
    are point masses gives the very tokens of plain sampling. :meth:`fresh` never repeats within a run: a level below the
    target may draw for one position several times (its draft was rejected and it tries again), and a number used twice would
    tie the second draft to the first one's fate.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._used = 0

    def at(self, position: int) -> float:
        """The number of this output position."""
        return self._number(0, position)

    def fresh(self, n: int) -> list[float]:
        """``n`` numbers not handed out before."""
        first = self._used
        self._used += n
        return [self._number(1, first + k) for k in range(n)]

    def _number(self, stream: int, counter: int) -> float:
        digest = blake2b(struct.pack("<QQQ", self._seed, stream, counter), digest_size=8).digest()
        return (int.from_bytes(digest, "little") >> 12) * 2.0**-52
