"""Adapters by which a drafter queries databases. Each database distributes a part of the
probability that the more local databases left over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from hsd_viz.drafting.context_database import ContextDatabase, Database, Match
from hsd_viz.drafting.proposals import DatabaseAnswer, Proposals, Spot
from hsd_viz.drafting.semantic_database import Copy, SemanticDatabase
from hsd_viz.drafting.trust import MAX_BUCKET

#: The largest share of the remaining probability that a database can distribute.
MAX_SHARE = 0.999


class DatabaseAdapter(ABC):
    """The base class of adapters that query a database.

    Attributes:
        number: the index of the database among the drafter's sources.
        rates: the trust in its answers, by key length or band.
        discount: the amount that is subtracted from each count.
    """

    __slots__ = ("discount", "number", "rates")

    #: Whether the keys of the database are tokens.
    has_token_keys = True

    def __init__(self, number: int, rates: Sequence[float], discount: float) -> None:
        self.number = number
        self.rates = rates
        self.discount = discount

    @abstractmethod
    def look_up(self, spot: Spot) -> Match | None:
        """Return the answer of the database after a position; ``None`` if it has no match."""

    def distribute(self, match: Match, spot: Spot, proposals: Proposals, left: float) -> float:
        """Distribute a part of the probability ``left`` over the continuations of an answer.

        Args:
            match: the answer of the database.
            spot: the position that the continuations follow.
            proposals: the proposals, to which the continuations are added.
            left: the probability that more local databases left over.

        Returns:
            The distributed probability, which depends on the trust in the answer.
        """
        length, total, continuations = match
        discount = self.discount
        bucket = length if length < MAX_BUCKET else MAX_BUCKET
        seen = 0.0
        for _, count, _ in continuations:
            seen += count - discount
        rate = self.rates[bucket]
        # An answer never takes all of the remaining probability.
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


class ContextAdapter(DatabaseAdapter):
    """The context database, queried by the end of the text.

    A look-up sets the ``bound`` of the position to the length of the match.
    """

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


class SharedAdapter(DatabaseAdapter):
    """A database that outlives a run, queried by the end of the text."""

    __slots__ = ("_lookup",)

    def __init__(
        self, number: int, rates: Sequence[float], discount: float, database: Database
    ) -> None:
        super().__init__(number, rates, discount)
        self._lookup = database.lookup

    def look_up(self, spot: Spot) -> Match | None:
        return self._lookup(spot.tail)


class SemanticAdapter(DatabaseAdapter):
    """The semantic database, queried by the copies that lead to a position."""

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
