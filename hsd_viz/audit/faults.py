"""The six losslessness faults, by the law they give a token at one place of a draft.

Each fault is a way to get from the rows of the models at that place (smallest model first) to the law of the emitted
token. A wrong decoder emits the true row in part of its runs (where the place was not drafted, for example) and the
faulty law in the rest: so it deviates from the true row in the *direction* of the fault, which is compared.
"""

from collections.abc import Iterator
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
class Place:
    """The models' rows at one place: as they are sampled, and as they are before temperature. ``found`` is the law of
    the audited decoder's token there.
    """

    sampled: tuple[Row, ...]
    raw: tuple[Row, ...]
    found: Row

    @property
    def deviation(self) -> Row:
        return self.found - self.sampled[-1]


def recognise(places: list[Place]) -> tuple[int, ...]:
    """Return the faults that explain the deviations at all ``places``. In a middle level, faults 1 and 2 give the same
    law: either way a corrected token ends as the target's own.
    """
    top, found = len(places[0].sampled) - 1, []
    for fault in FAULTS:
        # At one level, or at all of them.
        where = [{level} for level in range(1, top + 1)] + [set(range(1, top + 1))] if fault < 5 else [{1}]
        if any(all(_explains(place, fault, levels) for place in places) for levels in where):
            found.append(fault)
    return tuple(found)


def _explains(place: Place, fault: int, levels: set[int]) -> bool:
    seen = place.deviation
    for law in _laws(place, fault, levels):
        expected = law - place.sampled[-1]
        size = float(np.linalg.norm(seen) * np.linalg.norm(expected))
        if size < 1e-18:
            continue
        along = float(seen @ expected) / size
        # A decoder deviates at most as far as the fault itself.
        whole = np.linalg.norm(seen) <= np.linalg.norm(expected) * (1 + _SAME_DIRECTION)
        if along > 0 and 1 - along**2 < _SAME_DIRECTION**2 and whole:
            return True
    return False


def _laws(place: Place, fault: int, levels: set[int]) -> Iterator[Row]:
    """Yield the laws that ``fault`` can give when ``levels`` make it in their verifications."""
    rows, v = place.sampled, len(place.found)
    if fault == 4:
        for kept in product((0.0, 1.0), repeat=v):
            if 0 < sum(kept) < v:
                yield _climb(rows, fault, levels, np.array(kept))
    elif fault == 5:
        yield _climb(rows, fault, levels, handed=place.raw[0])
    else:
        yield _climb(rows, fault, levels)


def _climb(
    rows: tuple[Row, ...], fault: int, levels: set[int], kept: Row | None = None, handed: Row | None = None
) -> Row:
    """Return the law of the target's token where the verifications by ``levels`` make ``fault``."""
    drafted = np.eye(len(rows[0]))[rows[0].argmax()] if fault == 6 else rows[0]
    # Parts of the proposal: (probability by token, the row q it is proposed with).
    parts = [(drafted, rows[0] if handed is None else handed)]
    for level in range(1, len(rows)):
        p, wrong = rows[level], fault if level in levels else 0
        climbed: list[tuple[Row, Row]] = []
        for tokens, q in parts:
            missing = 0.0
            if wrong == 4 and kept is not None:
                missing, tokens = float(tokens @ (1 - kept)), tokens * kept
            accepted = tokens * np.minimum(1.0, np.divide(p, q, out=np.ones_like(p), where=q > 0))
            rejected = float(tokens.sum() - accepted.sum())
            residual = np.maximum(p - q, 0)
            residual = residual / residual.sum() if residual.sum() > 0 else p
            corrected = (p if wrong == 1 else residual) * rejected + p * missing
            climbed.append((accepted, q if wrong == 3 else p))
            climbed.append((corrected, residual if wrong == 2 else p))
        parts = climbed
    return np.sum([tokens for tokens, _ in parts], axis=0)
