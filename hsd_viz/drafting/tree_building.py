"""Best-first growth of a draft tree, until no further token is worth the cost of verifying it."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from hsd_viz.drafting.costs import CostCurve
from hsd_viz.drafting.proposals import Proposals, Spot

#: A token in the queue: its negated score, the token, and the index of its parent node (-1: the
#: text). The highest score comes first; among equal scores the lower token does, so that the order
#: does not depend on that of a dictionary.
Waiting = tuple[float, int, int]


@dataclass(frozen=True, slots=True)
class Prices:
    """The costs and limits that decide which nodes a tree gets.

    Attributes:
        budget: the largest number of nodes.
        costs: the costs of verifying 0, 1, 2, … nodes.
        slopes: the least cost per further node, by number of nodes.
        least_slope: the minimum of the slopes.
        min_score: the lowest score that a node may have.
    """

    budget: int
    costs: list[float]
    slopes: list[float]
    least_slope: float
    min_score: float


def prices_of(curve: CostCurve, min_score: float, budget: int) -> Prices:
    """Return the prices of a tree of at most ``budget`` nodes by a cost curve."""
    costs, slopes = curve.tables(budget)
    return Prices(
        budget=budget,
        costs=costs,
        slopes=slopes,
        least_slope=curve.least_slope,
        min_score=min_score,
    )


class GrowingTree:
    """A draft tree that grows node by node.

    Its best size is the one with the highest ratio of expected tokens (1 + Σ scores) to cost.

    Args:
        prices: the costs and limits of the nodes.
        root: the end of the text.

    Attributes:
        spots: the end of the text, followed by the nodes in the order in which they were added.
        least: the score that a node must exceed to be worth its cost.
    """

    __slots__ = ("_best_ratio", "_expected", "_prices", "_queue", "_size", "least", "spots")

    def __init__(self, prices: Prices, root: Spot) -> None:
        self.spots = [root]
        self._prices = prices
        self._queue: list[Waiting] = []
        self._expected = 1.0
        self._size = 0
        self._set_ratio(1.0)

    def _set_ratio(self, ratio: float) -> None:
        self._best_ratio = ratio
        break_even = ratio * self._prices.least_slope
        # A node at or below this score can never become worth its cost: the ratio only grows.
        self.least = break_even if break_even > self._prices.min_score else self._prices.min_score

    def offer(self, proposals: Proposals, node: int) -> None:
        """Queue the tokens proposed after a node that can be worth their cost."""
        least = self.least
        queue = self._queue
        for token, score in proposals.scores.items():
            if score > least:
                heappush(queue, (-score, token, node))

    def take(self) -> Waiting | None:
        """Remove the best token from the queue and return it.

        Return ``None`` if no token is worth its cost, or if the budget is used up.
        """
        nodes = len(self.spots) - 1
        queue = self._queue
        if not queue or nodes >= self._prices.budget:
            return None
        if -queue[0][0] <= self._best_ratio * self._prices.slopes[nodes]:
            return None
        return heappop(queue)

    def add(self, spot: Spot) -> None:
        """Add a node, and update the best size."""
        spots = self.spots
        self._expected += spot.reach
        ratio = self._expected / self._prices.costs[len(spots)]
        spots.append(spot)
        if ratio > self._best_ratio:
            self._size = len(spots) - 1
            self._set_ratio(ratio)

    def best_nodes(self) -> list[Spot]:
        """Return the nodes of the tree at its best size."""
        return self.spots[1 : self._size + 1]

    def has_proposals(self) -> bool:
        """Return whether any database proposed a token."""
        return any(spot.proposals and spot.proposals.scores for spot in self.spots)
