"""The six losslessness faults, by the law they give a token at one place of a draft.

Each fault is a way to get from the rows of the models at that place (smallest model first) to the law of the emitted
token. A wrong decoder emits the true row in part of its runs (where the place was not drafted, for example) and the
faulty law in the rest: so it deviates from the true row in the *direction* of the fault, which is compared.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]
#: Largest sine of the angle between two deviations that are called the same.
_SAME_DIRECTION = 1e-5

FAULTS = {
    1: "after a rejection the token is drawn from the verifier's row, not from the residual (p - q)+",
    2: "a middle level proposes the residual as the row of a corrected token, not its full row",
    3: "a middle level proposes the drafter's row with an accepted token, not its own full row",
    4: "a drafted token is dropped after it was seen",
    5: "q is the drafter's row before temperature, top-k and top-p, not the row that was sampled",
    6: "an arg-max draft is verified with its softmax as q, not as a point mass",
}


@dataclass(frozen=True, slots=True)
class WrongConditional:
    """A conditional that differs: ``found`` is the law of the decoder's next token after ``prefix`` (new tokens).
    ``sampled`` are the models' rows there as they are sampled, ``raw`` those before temperature.
    """

    prefix: tuple[int, ...]
    sampled: tuple[Row, ...]
    raw: tuple[Row, ...]
    found: Row

    @property
    def expected(self) -> Row:
        """The target's law ``[V]`` of the token."""
        return self.sampled[-1]

    @property
    def error(self) -> float:
        return float(np.abs(self.found - self.expected).max())


def recognise(places: list[WrongConditional]) -> tuple[int, ...]:
    """Return the faults that explain the deviations at all ``places``, made at one level or at all of them. In a middle
    level, faults 1 and 2 give the same law: either way a corrected token ends as the target's own.
    """
    top = len(places[0].sampled) - 1
    levels = [{level} for level in range(1, top + 1)] + [set(range(1, top + 1))]
    return tuple(
        fault
        for fault in FAULTS
        # Faults 5 and 6 are of the draft model.
        if any(all(_explains(place, fault, at) for place in places) for at in (levels if fault < 5 else [{1}]))
    )


def _explains(place: WrongConditional, fault: int, levels: set[int]) -> bool:
    """Return whether the place deviates in the direction of a law that ``fault`` can give at these levels, and at most
    as far.
    """
    vocabulary, seen = len(place.found), place.found - place.expected
    subsets = product((0.0, 1.0), repeat=vocabulary) if fault == 4 else [(1.0,) * vocabulary]
    for kept in subsets:
        expected = _law(place, fault, levels, np.array(kept)) - place.expected
        size = float(np.linalg.norm(seen) * np.linalg.norm(expected))
        along = float(seen @ expected) / size if size >= 1e-18 else 0.0
        whole = np.linalg.norm(seen) <= np.linalg.norm(expected) * (1 + _SAME_DIRECTION)
        if along > 0 and 1 - along**2 < _SAME_DIRECTION**2 and whole:
            return True
    return False


def _law(place: WrongConditional, fault: int, levels: set[int], kept: Row) -> Row:
    """Return the law of the target's token where the verifications by ``levels`` make ``fault``. Fault 4 drops the
    tokens that are 0 in ``kept``.
    """
    rows = place.sampled
    drafted = np.eye(len(kept))[rows[0].argmax()] if fault == 6 else rows[0]
    # Parts of the proposal: (probability by token, the row q it is proposed with).
    parts = [(drafted, place.raw[0] if fault == 5 else rows[0])]
    for level, p in enumerate(rows[1:], 1):
        wrong = fault if level in levels else 0
        climbed: list[tuple[Row, Row]] = []
        for tokens, q in parts:
            left = tokens * kept if wrong == 4 else tokens
            accepted = left * np.minimum(1.0, np.divide(p, q, out=np.ones_like(p), where=q > 0))
            residual = np.maximum(p - q, 0)
            residual = residual / residual.sum() if residual.sum() > 0 else p
            corrected = (p if wrong == 1 else residual) * (left - accepted).sum() + p * (tokens - left).sum()
            climbed += [(accepted, q if wrong == 3 else p), (corrected, residual if wrong == 2 else p)]
        parts = climbed
    return np.sum([tokens for tokens, _ in parts], axis=0)
