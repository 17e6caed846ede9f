"""Counts of a replay, and the figures of each drafter computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hsd_viz.measure.replay.above import Above
from hsd_viz.measure.replay.facts import LogFacts
from hsd_viz.measure.replay.figures import (
    AboveFigures,
    DrafterFigures,
    Pays,
    TokensAbove,
)
from hsd_viz.measure.replay.requests import LoggedRequest
from hsd_viz.measure.replay.text_replay import Replayed
from hsd_viz.results.bootstrap import estimate, ratio, resample
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.positions import reaching

#: Maximum number of resampled units per drafter: requests, or groups of requests.
GROUPS = 200
#: Number of rounds of a drafter by (group of requests, tokens, drafted, depth, accepted).
Shapes = Counter[tuple[int, ...]]


@dataclass(slots=True)
class Tally:
    """Counts of a replay so far.

    Attributes:
        log: the counts of the log's entries.
        shapes: the number of rounds by group of requests and shape, by drafter.
        recorded: the rounds with a database above the recorded drafter, per request.
        without_rounds: the number of requests without usable verifications, by reason.
    """

    log: LogFacts
    shapes: dict[str, Shapes]
    recorded: list[Above] = field(default_factory=list)
    without_rounds: Counter[str] = field(default_factory=Counter)

    def add(
        self, request: LoggedRequest, replayed: Mapping[str, Replayed], temperature: float
    ) -> None:
        """Add a complete request, so that an interrupted replay has only complete requests."""
        group = self.log.requests % GROUPS
        for name, rounds in replayed.items():
            for shape, count in rounds.shapes.items():
                self.shapes[name][group, *shape] += count
        self.log.add(request, temperature)

    def drafters(self, cost: np.ndarray) -> tuple[DrafterFigures, ...]:
        """Return the figures of each drafter, best first; ``cost``: the cost of 0, 1, 2, ... draft
        tokens.
        """
        drafters = []
        for name, shapes in self.shapes.items():
            if shapes:
                drafters.append(figures_of(name, shapes, cost))
        drafters.sort(key=lambda drafter: -(drafter.speedup.value or 0.0))
        return tuple(drafters)

    def above(self) -> AboveFigures | None:
        """Return the figures of a database above the recorded drafter; ``None`` if no verifications
        are recorded.
        """
        refused = sum(self.without_rounds.values())
        if not self.recorded and not refused:
            return None
        return AboveFigures(
            requests=len(self.recorded),
            refused=refused,
            why=self.without_rounds.most_common(1)[0][0] if refused else "",
            tokens=_tokens_above(self.recorded) if self.recorded else None,
        )


def _tokens_above(requests: list[Above]) -> TokensAbove:
    """Return the recorded tokens per forward pass and their two bounds, with intervals."""
    weights = resample(len(requests))
    tokens = weights @ np.array([request.tokens for request in requests])

    def per_pass(passes: Sequence[float]) -> Estimate:
        return estimate(ratio(tokens, weights @ np.array(passes)), len(requests))

    most_passes = [request.most for request in requests]
    drafted = sum(request.by_database for request in requests)
    return TokensAbove(
        recorded=per_pass([request.recorded for request in requests]),
        least=per_pass(most_passes),
        most=per_pass([request.fewest for request in requests]),
        by_database=drafted / sum(most_passes),
    )


def figures_of(name: str, shapes: Shapes, cost: np.ndarray) -> DrafterFigures:
    """Return the figures of a drafter from the shapes of its rounds."""
    group, tokens, drafted, depth, accepted = np.array(list(shapes)).T
    rounds = np.array(list(shapes.values()))
    units = int(group.max()) + 1
    weights = resample(units)

    def total(values: np.ndarray) -> np.ndarray:
        """Return the sums of a value per round, over the requests and their resamples."""
        return weights @ np.bincount(group, rounds * values)

    all_tokens = total(tokens)
    all_rounds = total(np.ones_like(tokens))
    all_drafted = total(drafted)
    all_accepted = total(accepted)
    # The cost of a round is that of verifying its draft.
    all_costs = total(cost[drafted])
    speedup = estimate(ratio(all_tokens, all_costs), units)
    positions = range(1, depth.max() + 1)
    return DrafterFigures(
        name=name,
        tokens=int(all_tokens[0]),
        rounds=int(all_rounds[0]),
        drafted=int(all_drafted[0]),
        accepted=int(all_accepted[0]),
        mean_acceptance_length=estimate(ratio(all_tokens, all_rounds), units),
        acceptance_rate=estimate(ratio(all_accepted, all_drafted), units),
        speedup=speedup,
        pays=Pays.at(speedup),
        drafted_by_position=_rounds_reaching(positions, depth, rounds),
        accepted_by_position=_rounds_reaching(positions, accepted, rounds),
    )


def _rounds_reaching(positions: range, reached: np.ndarray, rounds: np.ndarray) -> tuple[int, ...]:
    """Return the number of rounds that reached each position."""
    rounds_by_depth = np.bincount(reached, rounds)
    return tuple(map(int, reaching([*enumerate(rounds_by_depth)], positions)))
