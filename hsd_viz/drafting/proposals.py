"""What database drafting holds between look-ups: places, proposals after them, and past drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hsd_viz.drafting.semantic_database import Copy

#: A token that a database has after a key, its count, and its place in the text.
Continued = tuple[int, Any, int | None]


@dataclass(slots=True, eq=False)
class DatabaseAnswer:
    """An answer of a database, from which the drafter learns how much to trust it.

    Attributes:
        database: its number.
        key_length: the tokens of the key; ``None``: the key is a state.
        bucket: the key length or band.
        expected: the total discounted share of its tokens.
        continuations: its tokens with counts and positions.
    """

    database: int
    key_length: int | None
    bucket: int
    expected: float
    continuations: Sequence[Continued]

    def has(self, token: int) -> bool:
        """Return whether a token is one of the continuations."""
        # A generator would take several times as long.
        for continued, _, _ in self.continuations:  # noqa: SIM110
            if continued == token:
                return True
        return False


class Proposals:
    """What the databases propose after a place.

    A token keeps the first answer that has it, while scores add up.

    Attributes:
        scores: by token, the estimated probability that the verifier accepts it.
        origins: by token, the first answer that has it, and its continuation there.
        cosines: by token, the similarity of the copy that the semantic database proposed it from.
        answers: of the databases that were asked.
    """

    __slots__ = ("answers", "cosines", "origins", "scores")

    # Not a dataclass: one is made per look-up, and factories of defaults take longer.
    def __init__(self) -> None:
        self.scores: dict[int, float] = {}
        self.origins: dict[int, tuple[DatabaseAnswer, Continued]] = {}
        self.cosines: dict[int, float] = {}
        self.answers: list[DatabaseAnswer] = []


@dataclass(slots=True, eq=False)
class Spot:
    """A place of a draft after which the databases can be asked: the end of the text, or a node.

    Attributes:
        token: of the node; ``None``: the end of the text.
        parent: the place that it follows; ``None``: the end of the text.
        number: of the node in its tree; -1: the end of the text.
        reach: the estimated probability that the verifier reaches the place: the score of the node.
        tail: the last tokens up to there, as many as the longest key has (spelled).
        bound: the most tokens of a key of the context database; once that was asked, the tokens
            that it matched.
        copies: the copies of earlier text that lead there.
        proposals: what may follow; ``None``: the databases were not asked.
    """

    token: int | None
    parent: Spot | None
    number: int
    reach: float
    tail: str
    bound: int
    copies: Sequence[Copy]
    proposals: Proposals | None = None


class PastDraft(NamedTuple):
    """A draft whose verification is still unknown.

    Attributes:
        length: the tokens of the text that it continued.
        ahead: those of them that were not emitted yet.
        spots: its places: the end of the text, then its nodes, also those that were not drafted in
            the end.
    """

    length: int
    ahead: tuple[int, ...]
    spots: list[Spot]
