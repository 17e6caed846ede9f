"""What database drafting holds between look-ups: answers, proposals, and drafts made of them."""

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


class DatabaseAnswer(NamedTuple):
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

    A token keeps the first answer that has it, while scores add up.

    Attributes:
        scores: by token, the estimated probability that the verifier accepts it.
        origins: by token, the first answer that has it, and its continuation there.
        cosines: by token, the similarity of the copy that the semantic database proposed it from.
        answers: of the databases that were asked.
        matched: the tokens that the context database matched, or the bound of that match.
    """

    scores: dict[int, float]
    origins: dict[int, tuple[DatabaseAnswer, Continued]]
    cosines: dict[int, float]
    answers: list[DatabaseAnswer]
    matched: int


class Spot(NamedTuple):
    """A place of a draft after which the databases were asked: the text, or a node.

    Attributes:
        tail: the end of the text up to there.
        copies: the copies of earlier text that lead there.
        proposals: what may follow.
    """

    tail: str
    copies: Sequence[Copy]
    proposals: Proposals


#: A token in the queue: its score, negated, the token, and the node that it follows (-1: the text).
#: The best one is first, among equals the lower token, so that the order does not depend on that of
#: a dictionary.
Waiting = tuple[float, int, int]


class TreeNode(NamedTuple):
    """A node of a draft tree.

    Attributes:
        token: its token.
        parent: the node that it follows; -1: the text.
        proposals: what was proposed beside it, with what is known of it.
    """

    token: int
    parent: int
    proposals: Proposals


class PastDraft(NamedTuple):
    """A draft whose verification is still unknown.

    Attributes:
        length: the tokens of the text that it continued.
        ahead: those of them that were not emitted yet.
        picked: its nodes, also those that were not drafted in the end.
        spots: by node what the databases answered; -1: after the text.
    """

    length: int
    ahead: tuple[int, ...]
    picked: list[TreeNode]
    spots: dict[int, Spot]
