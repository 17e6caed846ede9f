"""The growth of a draft tree: best node first, until no other token can pay for its cost."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from hsd_viz.drafting.costs import CostCurve
from hsd_viz.drafting.proposals import Proposals, Spot

#: A token in the queue: its score, negated, the token, and the number of the node that it follows
#: (-1: the text). The best one is first, among equals the lower token, so that the order does not
#: depend on that of a dictionary.
Waiting = tuple[float, int, int]


@dataclass(frozen=True, slots=True)
class Prices:
    """What the nodes of one tree cost.

    Attributes:
        budget: the most nodes.
        costs: of verifying 0, 1, 2, … nodes.
        slopes: at each number of nodes the least cost per further node.
        least_slope: the least of all slopes.
        min_score: the lowest score of a node.
    """

    budget: int
    costs: list[float]
    slopes: list[float]
    least_slope: float
    min_score: float


def prices_of(curve: CostCurve, min_score: float, budget: int) -> Prices:
    """Return what the nodes of a tree of at most ``budget`` nodes cost by a curve."""
    costs, slopes = curve.tables(budget)
    return Prices(
        budget=budget,
        costs=costs,
        slopes=slopes,
        least_slope=curve.least_slope,
        min_score=min_score,
    )


class GrowingTree:
    """A draft tree while it grows. Of all its sizes, the one with the most expected tokens (1 + Σ
    scores) for its cost is the best.

    Args:
        prices: of its nodes.
        root: the end of the text.

    Attributes:
        spots: the end of the text, then the nodes in the order in which they were added.
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
        pays = ratio * self._prices.least_slope
        #: No node at or below this score can pay: the ratio to beat only grows.
        self.least = pays if pays > self._prices.min_score else self._prices.min_score

    def offer(self, proposals: Proposals, node: int) -> None:
        """Queue what was proposed after a node and can pay."""
        least = self.least
        queue = self._queue
        for token, score in proposals.scores.items():
            if score > least:
                heappush(queue, (-score, token, node))

    def take(self) -> Waiting | None:
        """Remove the best token from the queue and return it; ``None`` if no token pays, or the
        budget is used.
        """
        nodes = len(self.spots) - 1
        queue = self._queue
        if not queue or nodes >= self._prices.budget:
            return None
        if -queue[0][0] <= self._best_ratio * self._prices.slopes[nodes]:
            return None
        return heappop(queue)

    def add(self, spot: Spot) -> None:
        """Add a node."""
        spots = self.spots
        self._expected += spot.reach
        ratio = self._expected / self._prices.costs[len(spots)]
        spots.append(spot)
        if ratio > self._best_ratio:
            self._size = len(spots) - 1
            self._set_ratio(ratio)

    def best_nodes(self) -> list[Spot]:
        """Return the nodes of the best size."""
        return self.spots[1 : self._size + 1]

    def has_proposals(self) -> bool:
        """Return whether any database had an answer."""
        return any(spot.proposals and spot.proposals.scores for spot in self.spots)
