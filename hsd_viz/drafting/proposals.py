"""The state of database drafting: positions in a draft, proposals after them, and past drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hsd_viz.drafting.semantic_database import Copy

#: A token that followed a key in a database, its count, and its position in the text.
Continued = tuple[int, Any, int | None]


@dataclass(slots=True, eq=False)
class DatabaseAnswer:
    """An answer of a database, from which the drafter learns how much to trust it.

    Attributes:
        database: the index of the database among the drafter's sources.
        key_length: the number of tokens in the key; ``None`` if the key is a state.
        bucket: the key length or band whose rate applies.
        expected: the total discounted share of the continuations.
        continuations: the proposed tokens with counts and positions.
    """

    database: int
    key_length: int | None
    bucket: int
    expected: float
    continuations: Sequence[Continued]

    def has(self, token: int) -> bool:
        """Return whether a token is one of the continuations."""
        # A loop, because a generator takes several times as long.
        for continued, _, _ in self.continuations:  # noqa: SIM110
            if continued == token:
                return True
        return False


class Proposals:
    """The tokens that the databases propose after a position.

    If several databases propose a token, its scores are added, and its origin is the first answer.

    Attributes:
        scores: the estimated probability of acceptance by token.
        origins: the first answer with the token, and its continuation there, by token.
        cosines: the similarity of the copy that the semantic database proposed, by token.
        answers: the answers of the databases, in order.
    """

    __slots__ = ("answers", "cosines", "origins", "scores")

    # Not a dataclass: there is an instance per look-up, and default factories are slower.
    def __init__(self) -> None:
        self.scores: dict[int, float] = {}
        self.origins: dict[int, tuple[DatabaseAnswer, Continued]] = {}
        self.cosines: dict[int, float] = {}
        self.answers: list[DatabaseAnswer] = []


@dataclass(slots=True, eq=False)
class Spot:
    """A position after which the databases can be queried: the end of the text, or a draft node.

    Attributes:
        token: the token of the node; ``None`` for the end of the text.
        parent: the preceding position; ``None`` for the end of the text.
        number: the index of the node in its tree; -1 for the end of the text.
        reach: the estimated probability that the verifier accepts the node, its score.
        tail: the last tokens up to the position (spelled), as many as the longest key has.
        bound: the largest key length to look up in the context database; after the look-up, the
            length of the match.
        copies: the copies of earlier text that lead to the position.
        proposals: the tokens that may follow; ``None`` before the databases were queried.
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
    """A draft whose verification is not known yet.

    Attributes:
        length: the number of tokens in the text that the draft continued.
        ahead: the last tokens of that text, which were not emitted yet.
        spots: the end of the text, followed by all nodes, including those that were left out of
            the draft.
    """

    length: int
    ahead: tuple[int, ...]
    spots: list[Spot]
