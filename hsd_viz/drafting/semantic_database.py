"""The semantic database: earlier positions of the text at which the target had a similar state.

The other databases look up the longest known suffix of the text. But a text may continue like an
earlier passage even if few of the preceding tokens agree. Oilbird (arXiv 2608.03839) finds such
passages by the target's hidden states, for greedy decoding. Here they form another database of
Hierarchy Drafting. Its drafts are point masses, so they are lossless for sampling, too.

The state at a position is the normalized input of a layer of the target, which the forward pass
computes anyway. The direction of each state is stored, in 8 bits per number. A look-up compares, by
cosine, the state before the last token of the text with the states before all earlier occurrences
of that token. (The state at the last token itself is not known yet: the next verification computes
it.) The tokens that followed the most similar occurrences are proposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from hsd_viz.drafting.context_database import Continuation, Match

#: The name of the semantic database in a stack.
SEMANTIC = "semantic"
#: The relative depth of the layer whose states are compared.
DEPTH = 2 / 3


def watched_layer(depth: float, layers: int) -> int:
    """Return the index of the layer at a relative depth of a model with ``layers`` layers."""
    return min(layers - 1, int(depth * layers))


def quantize_states(states: np.ndarray) -> np.ndarray:
    """Return states ``[n, width]`` as int8, each row scaled so that its largest absolute value is
    127.

    The scale is not stored, because a cosine compares only directions.
    """
    largest = np.abs(states).max(axis=1, keepdims=True)
    limit = states.dtype.type(127)
    scale = np.divide(limit, largest, out=np.zeros_like(largest), where=largest > 0)
    return np.rint(states * scale).astype(np.int8)


class Copy(NamedTuple):
    """A passage after an earlier occurrence of a token, which a draft may copy.

    Attributes:
        position: the position in the text of the next token to copy.
        cosine: the similarity of the states before that occurrence and before the last token.
    """

    position: int
    cosine: float


class SemanticDatabase:
    """The text of the current run, and the target's states at its positions.

    The latest :attr:`scanned` occurrences of a token are compared. Of those with a cosine of at
    least :attr:`least_cosine`, the :attr:`most` most similar are used. The trust in a copy depends
    on its *band*, from 1 to :attr:`bands`: cosines from :attr:`least_cosine` on are divided into
    bands of width :attr:`band_width`.
    """

    most = 4
    scanned = 256
    least_cosine = 0.5
    band_width = 0.0625
    bands = 8

    def __init__(self) -> None:
        self._text: list[int] = []
        self._places: dict[int, list[int]] = {}
        self._states: np.ndarray | None = None
        self._squares: list[float] = []

    def extend(self, tokens: Iterable[int]) -> None:
        """Append ``tokens`` to the text."""
        for token in tokens:
            self._places.setdefault(token, []).append(len(self._text))
            self._text.append(token)

    def observe(self, states: np.ndarray) -> None:
        """Append the int8 states ``[n, width]`` of the next ``n`` positions of the text."""
        length = len(self._squares)
        needed = length + len(states)
        if self._states is None:
            self._states = np.zeros((max(256, needed), states.shape[1]), np.int8)
        if needed > len(self._states):
            more = 2 * needed - len(self._states)
            self._states = np.pad(self._states, ((0, more), (0, 0)))
        self._states[length:needed] = states
        wide = states.astype(np.int64)
        self._squares += (wide * wide).sum(axis=1).astype(float).tolist()

    def find(self, length: int) -> list[Copy]:
        """Return the copies for a text of ``length`` tokens, the most similar first; of equally
        similar ones, the latest first.

        The result is empty if the text has tokens that were not emitted, or if the state before the
        last token is not known.
        """
        text = self._text
        if length != len(text) or length < 2 or len(self._squares) < length - 1:
            return []
        last = length - 1
        occurrences = [place for place in self._places[text[last]] if 0 < place < last]
        latest_first = occurrences[: -self.scanned - 1 : -1]
        similar = []
        for place in latest_first:
            copy = Copy(place + 1, self._cosine(place - 1, last - 1))
            if copy.cosine >= self.least_cosine:
                similar.append(copy)
        # Sorting is stable, so the latest of equal cosines stays first.
        similar.sort(key=lambda copy: -copy.cosine)
        return similar[: self.most]

    def continuations(self, copies: Sequence[Copy]) -> Match | None:
        """Return the next tokens of ``copies``, that of the most similar copy first.

        The length of the match is the band of that copy. Return ``None`` if all copies are at the
        end of the text.
        """
        counts: dict[int, list[int]] = {}
        total = 0
        band = 0
        for position, cosine in copies:
            if position >= len(self._text):
                continue
            if not total:
                band = self.band(cosine)
            total += 1
            entry = counts.setdefault(self._text[position], [0, position])
            entry[0] += 1
        if not total:
            return None
        continuations = []
        for token, (count, position) in counts.items():
            continuations.append(Continuation(token, count, position))
        return Match(band, total, continuations)

    def advance(self, copies: Sequence[Copy], token: int) -> tuple[Copy, ...]:
        """Return the copies whose next token is ``token``, each advanced by one position."""
        advanced = []
        for position, cosine in copies:
            if position < len(self._text) and self._text[position] == token:
                advanced.append(Copy(position + 1, cosine))
        return tuple(advanced)

    def band(self, cosine: float) -> int:
        """Return the band of a cosine."""
        return min(self.bands, 1 + int((cosine - self.least_cosine) / self.band_width))

    def _cosine(self, a: int, b: int) -> float:
        norms = sqrt(self._squares[a] * self._squares[b])
        if self._states is None or not norms:
            return 0.0
        product = int(np.dot(self._states[a].astype(np.int64), self._states[b].astype(np.int64)))
        return product / norms
