"""What database drafting holds between look-ups: answers, candidates, and drafts made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .context import Match
from .semantic import Copy

#: A token that a database has after a key, its count, and its place in the text.
Continued = tuple[int, Any, int | None]


class AskedDatabase(NamedTuple):
    """A database as a drafter asks it.

    Attributes:
        number: its place among the sources of the drafter.
        name: its name.
        lookup: its look-up.
        rates: how much its answers are trusted, by key length or band.
        discount: what is subtracted from each count.
    """

    number: int
    name: str
    lookup: Callable[..., Match | None]
    rates: Sequence[float]
    discount: float


class Candidate(NamedTuple):
    """A token that may be drafted next.

    Attributes:
        score: the estimated probability that the verifier accepts it.
        source: the number of the database that proposed it first.
        key_length: the tokens of the key there; ``None``: the key is a state.
        count: how often it was seen there.
        position: the place in the text that it is copied from; ``None``: of no copy.
        cosine: the similarity of the copy that the semantic database proposed it from; ``None``:
            that one did not.
    """

    score: float
    source: int
    key_length: int | None
    count: Any
    position: int | None
    cosine: float | None


class Answer(NamedTuple):
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


class Proposals(NamedTuple):
    """What the databases propose after a node.

    Most tokens score too little to be drafted, so that only their scores are kept apart from the
    answers (:meth:`candidate`).

    Attributes:
        scores: by token.
        origins: by token, the first answer that has it, and its continuation there.
        cosines: by token, where the semantic database proposed it.
        answers: of the databases that were asked.
        matched: the tokens that the context database matched, or the bound of that match.
    """

    scores: dict[int, float]
    origins: dict[int, tuple[Answer, Continued]]
    cosines: dict[int, float]
    answers: list[Answer]
    matched: int

    def candidate(self, token: int) -> Candidate:
        """Return what is known of a token."""
        answer, (_, count, position) = self.origins[token]
        return Candidate(
            score=self.scores[token],
            source=answer.database,
            key_length=answer.key_length,
            count=count,
            position=position,
            cosine=self.cosines.get(token),
        )


class Waiting(NamedTuple):
    """A candidate in the queue: the best one first, among equals the lower token, so that the order
    does not depend on that of a dictionary.

    Attributes:
        negative_score: its score, negated.
        token: the token.
        parent: the node that it follows; -1: the text.
        tail: the end of the text up to its parent.
        bound: the longest match that the context database can have after it.
        candidate: what is known of it.
        copies: the copies that continue with it.
    """

    negative_score: float
    token: int
    parent: int
    tail: str
    bound: int
    candidate: Candidate
    copies: Sequence[Copy]


class TreeNode(NamedTuple):
    """A node of a draft tree.

    Attributes:
        token: its token.
        parent: the node that it follows; -1: the text.
        candidate: what is known of it.
    """

    token: int
    parent: int
    candidate: Candidate


class PastDraft(NamedTuple):
    """A draft whose verification is still unknown.

    Attributes:
        length: the tokens of the text that it continued.
        ahead: those of them that were not emitted yet.
        picked: its nodes, also those that were not drafted in the end.
        answers: the answers of the databases by node; -1: after the text.
    """

    length: int
    ahead: tuple[int, ...]
    picked: list[TreeNode]
    answers: dict[int, list[Answer]]
