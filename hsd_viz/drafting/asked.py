"""Databases as a drafter asks them: each distributes a part of the probability that the more local
ones left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from hsd_viz.drafting.context_database import ContextDatabase, Database, Match
from hsd_viz.drafting.proposals import DatabaseAnswer, Proposals, Spot
from hsd_viz.drafting.semantic_database import Copy, SemanticDatabase
from hsd_viz.drafting.trust import LONGEST_BUCKET

#: The largest share of the remaining probability that one database can take.
MAX_SHARE = 0.999


class AskedDatabase(ABC):
    """A database as a drafter asks it.

    Attributes:
        number: its place among the sources of the drafter.
        rates: how much its answers are trusted, by key length or band.
        discount: what is subtracted from each count.
    """

    __slots__ = ("discount", "number", "rates")

    #: Whether its keys are tokens.
    has_token_keys = True

    def __init__(self, number: int, rates: Sequence[float], discount: float) -> None:
        self.number = number
        self.rates = rates
        self.discount = discount

    @abstractmethod
    def look_up(self, spot: Spot) -> Match | None:
        """Return what the database has after a place, ``None`` for nothing."""

    def distribute(self, match: Match, spot: Spot, proposals: Proposals, left: float) -> float:
        """Distribute what this database is trusted with, of the probability ``left``, over the
        continuations of its answer after a place. Return how much that is.
        """
        length, total, continuations = match
        discount = self.discount
        bucket = length if length < LONGEST_BUCKET else LONGEST_BUCKET
        seen = 0.0
        for _, count, _ in continuations:
            seen += count - discount
        rate = self.rates[bucket]
        # An answer takes at most the probability that is left, and never all of it.
        if rate * seen < MAX_SHARE * total:
            scale = left * rate / total
        else:
            scale = left * MAX_SHARE / seen
        key_length = length if self.has_token_keys else None
        answer = DatabaseAnswer(self.number, key_length, bucket, seen / total, continuations)
        proposals.answers.append(answer)
        scores = proposals.scores
        for continuation in continuations:
            token, count, _ = continuation
            score = scale * (count - discount)
            if token in scores:
                scores[token] += score
            else:
                scores[token] = score
                proposals.origins[token] = (answer, continuation)
        return scale * seen


class AskedText(AskedDatabase):
    """The context database: it is asked by the end of the text, and notes how much it matched."""

    __slots__ = ("_text",)

    def __init__(
        self, number: int, rates: Sequence[float], discount: float, text: ContextDatabase
    ) -> None:
        super().__init__(number, rates, discount)
        self._text = text

    def look_up(self, spot: Spot) -> Match | None:
        match = self._text.lookup(spot.tail, spot.bound)
        spot.bound = 0 if match is None else match.length
        return match


class AskedShared(AskedDatabase):
    """A database that outlives a run: it is asked by the end of the text."""

    __slots__ = ("_lookup",)

    def __init__(
        self, number: int, rates: Sequence[float], discount: float, database: Database
    ) -> None:
        super().__init__(number, rates, discount)
        self._lookup = database.lookup

    def look_up(self, spot: Spot) -> Match | None:
        return self._lookup(spot.tail)


class AskedStates(AskedDatabase):
    """The semantic database: it is asked by the copies that lead to a place."""

    __slots__ = ("_states",)

    has_token_keys = False

    def __init__(
        self, number: int, rates: Sequence[float], discount: float, states: SemanticDatabase
    ) -> None:
        super().__init__(number, rates, discount)
        self._states = states

    def look_up(self, spot: Spot) -> Match | None:
        return self._states.continuations(spot.copies)

    def distribute(self, match: Match, spot: Spot, proposals: Proposals, left: float) -> float:
        for token, _, position in match.continuations:
            proposals.cosines[token] = _cosine_at(spot.copies, position)
        return super().distribute(match, spot, proposals, left)


def _cosine_at(copies: Sequence[Copy], position: int | None) -> float:
    """Return the similarity of the copy that continues at a position of the text."""
    return next(copy.cosine for copy in copies if copy.position == position)
