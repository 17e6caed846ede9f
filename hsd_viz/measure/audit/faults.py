"""Faults of decoders, recognized by the wrong distribution that they give to a token."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]
#: A part of a proposal: the probability of each token, and the row q with which it is proposed.
Part = tuple[Row, Row]
#: Largest sine of the angle between deviations of the same direction.
_SAME_DIRECTION = 1e-5
#: Smallest product of the lengths of two deviations that have a direction.
_MIN_LENGTH_PRODUCT = 1e-18
#: The faults that :func:`recognize` recognizes.
FAULTS = {
    1: "after a rejection the token is drawn from the verifier's row, not from "
    "the residual (p - q)+",
    2: "a middle level proposes the residual as the row of a corrected token, not its full row",
    3: "a middle level proposes the drafter's row with an accepted token, not its own full row",
    4: "a drafted token is dropped after it was seen",
    5: "q is the drafter's row before temperature, top-k and top-p, not the row that was sampled",
    6: "an arg-max draft is verified with its softmax as q, not as a point mass",
}


@dataclass(frozen=True, slots=True)
class WrongConditional:
    """A conditional distribution that differs from the target's.

    Attributes:
        prefix: the new tokens before it.
        sampled: the rows of the models after the prefix.
        raw: the row of the first model, before temperature.
        actual: the distribution of the decoder's next token.
    """

    prefix: tuple[int, ...]
    sampled: tuple[Row, ...]
    raw: Row
    actual: Row

    @property
    def expected(self) -> Row:
        """The target's distribution ``[V]`` of the token."""
        return self.sampled[-1]

    @property
    def error(self) -> float:
        return float(np.abs(self.actual - self.expected).max())


def recognize(places: list[WrongConditional]) -> tuple[int, ...]:
    """Return the faults, at one level or at all levels, that explain the deviations at all
    ``places``. At a middle level, faults 1 and 2 have the same effect: in both cases a corrected
    token has the target's distribution.

    A wrong decoder samples from the true row in some of its runs (for example if the position was
    not drafted), and from the distribution of its fault in the others. It thus deviates from the
    true row in the *direction* of the fault, which is compared.
    """
    explaining = []
    for fault in FAULTS:
        for levels in _levels_with(fault, len(places[0].sampled)):
            if all(_explains(place, fault, levels) for place in places):
                explaining.append(fault)
                break
    return tuple(explaining)


def _levels_with(fault: int, models: int) -> list[set[int]]:
    """Return the sets of levels that may have a fault: each level alone, and all levels."""
    is_of_the_draft_model = fault in (5, 6)
    if is_of_the_draft_model:
        return [{1}]
    verifiers = range(1, models)
    return [*({level} for level in verifiers), set(verifiers)]


def _explains(place: WrongConditional, fault: int, levels: set[int]) -> bool:
    """Return whether the deviation at a place has the direction of a possible effect of ``fault``,
    and is at most as long.
    """
    deviation = place.actual - place.expected
    # Fault 4 drops any subset of the tokens; the other faults drop none.
    choices = (0.0, 1.0) if fault == 4 else (1.0,)
    for kept in product(choices, repeat=len(deviation)):
        of_fault = _law(place, fault, levels, np.array(kept)) - place.expected
        if _is_part_of(deviation, of_fault):
            return True
    return False


def _is_part_of(deviation: Row, whole: Row) -> bool:
    """Return whether a deviation has the direction of another one, and is at most as long."""
    length = float(np.linalg.norm(deviation))
    most = float(np.linalg.norm(whole))
    if length * most < _MIN_LENGTH_PRODUCT:
        return False
    cosine = float(deviation @ whole) / (length * most)
    is_parallel = cosine > 0 and 1 - cosine**2 < _SAME_DIRECTION**2
    return is_parallel and length <= most * (1 + _SAME_DIRECTION)


def _law(place: WrongConditional, fault: int, levels: set[int], kept: Row) -> Row:
    """Return the distribution of the target's token if ``levels`` have ``fault``; fault 4 drops the
    tokens that are not ``kept``.
    """
    rows = place.sampled
    drafted = np.eye(len(kept))[rows[0].argmax()] if fault == 6 else rows[0]
    parts: list[Part] = [(drafted, place.raw if fault == 5 else rows[0])]
    for level, p in enumerate(rows[1:], 1):
        made_here = fault if level in levels else 0
        proposal: list[Part] = []
        for part in parts:
            proposal += _verified(part, p, made_here, kept)
        parts = proposal
    return np.sum([tokens for tokens, _ in parts], axis=0)


def _verified(part: Part, p: Row, fault: int, kept: Row) -> list[Part]:
    """Return the parts that a level with row ``p`` makes of a part of a draft: the accepted tokens,
    and their replacements.
    """
    tokens, q = part
    left = tokens * kept if fault == 4 else tokens
    accepted = left * np.minimum(1.0, np.divide(p, q, out=np.ones_like(p), where=q > 0))
    residual = np.maximum(p - q, 0)
    residual = residual / residual.sum() if residual.sum() > 0 else p
    correction = p if fault == 1 else residual
    rejected = (left - accepted).sum()
    dropped = (tokens - left).sum()
    replaced = correction * rejected + p * dropped
    return [
        (accepted, q if fault == 3 else p),
        (replaced, residual if fault == 2 else p),
    ]
