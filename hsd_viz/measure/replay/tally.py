"""Counts of a replay, and the figures of each drafter that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hsd_viz.measure.replay.above import Above
from hsd_viz.measure.replay.report import LogFacts
from hsd_viz.measure.replay.requests import LoggedRequest
from hsd_viz.measure.replay.text import Replayed
from hsd_viz.records.entries import BrokenEntry
from hsd_viz.results.estimate import Estimate, estimate, ratio, resample

#: Broken entries that are reported one by one.
EXAMPLES = 20
#: Resampled units per drafter: requests, in groups where there are more of them.
GROUPS = 200
#: Ratios of sums by group: numerator and denominator.
RATIOS = {
    "mean_acceptance_length": ("tokens", "rounds"),
    "acceptance_rate": ("accepted", "drafted"),
    "speedup": ("tokens", "cost"),
}
#: Rounds of a drafter by (group of requests, tokens, drafted, depth, accepted).
Shapes = Counter[tuple[int, ...]]


@dataclass(slots=True)
class Tally:
    """Counts so far.

    Attributes:
        shapes: rounds by drafter, by group of requests and shape.
        requests: requests that were replayed.
        prompt_tokens: tokens of their prompts.
        output_tokens: tokens of their outputs.
        broken: entries that could not be used.
        cut: requests longer than the limit.
        encoded: outputs that were text and were encoded again.
        sampled: requests of a temperature above 0.
        parts: outputs by what they contain.
        examples: the first broken entries: number and reason.
        recorded: what a database above the recorded drafter brings, by request.
        without_rounds: requests by the reason why that is not known.
    """

    shapes: dict[str, Shapes]
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    broken: int = 0
    cut: int = 0
    encoded: int = 0
    sampled: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[int, str]] = field(default_factory=list)
    recorded: list[Above] = field(default_factory=list)
    without_rounds: Counter[str] = field(default_factory=Counter)

    def add_broken(self, entry: BrokenEntry) -> None:
        """Count an entry that could not be used."""
        self.broken += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((entry.number, entry.why))

    def add(
        self, request: LoggedRequest, replayed: Mapping[str, Replayed], temperature: float
    ) -> None:
        """Add a request as a whole: an interrupted replay has whole requests."""
        group = self.requests % GROUPS
        for name, rounds in replayed.items():
            for shape, count in rounds.shapes.items():
                self.shapes[name][group, *shape] += count
        self.requests += 1
        self.prompt_tokens += len(request.text.prompt)
        self.output_tokens += len(request.text.output)
        self.cut += request.cut
        self.encoded += request.encoded
        self.sampled += temperature > 0
        self.parts.update(request.parts)

    def facts(self, name: str) -> LogFacts:
        """Return what was read of the log."""
        return LogFacts(
            name=name,
            requests=self.requests,
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            broken=self.broken,
            cut=self.cut,
            encoded=self.encoded,
            sampled=self.sampled,
            parts=dict(self.parts),
            examples=tuple(self.examples),
        )

    def rows(self, cost: np.ndarray) -> list[dict[str, Any]]:
        """Return a row per drafter, the best first; ``cost``: of 0, 1, 2, ... draft tokens."""
        rows = [row_of(name, shapes, cost) for name, shapes in self.shapes.items() if shapes]
        rows.sort(key=lambda row: -row["speedup"])
        return rows

    def above(self) -> dict[str, Any]:
        """Return the figures of a database above the recorded drafter; {} where nothing of it is
        recorded.
        """
        refused = sum(self.without_rounds.values())
        if not self.recorded and not refused:
            return {}
        figures: dict[str, Any] = {"requests": len(self.recorded), "refused": refused}
        if refused:
            figures["why"] = self.without_rounds.most_common(1)[0][0]
        if self.recorded:
            figures |= _figures_above(self.recorded)
        return figures


def _figures_above(requests: list[Above]) -> dict[str, Any]:
    """Return tokens per forward pass as recorded, at least and at most, with their intervals."""
    weights = resample(len(requests))

    def resampled(counts: Iterable[float]) -> np.ndarray:
        return weights @ np.array(list(counts))

    tokens = resampled(one.tokens for one in requests)
    rounds = {
        "recorded": resampled(one.recorded for one in requests),
        "least": resampled(one.most for one in requests),
        "most": resampled(one.fewest for one in requests),
    }
    figures: dict[str, Any] = {}
    for key, sums in rounds.items():
        figures |= estimate(ratio(tokens, sums), len(requests)).named(key)
    drafted = sum(one.by_database for one in requests)
    figures["by_database"] = drafted / sum(one.most for one in requests)
    return figures


def row_of(name: str, shapes: Shapes, cost: np.ndarray) -> dict[str, Any]:
    """Return the figures of a drafter, from the shapes of its rounds by group of requests."""
    group, tokens, drafted, depth, accepted = np.array(list(shapes)).T
    rounds = np.array(list(shapes.values()))
    units = int(group.max()) + 1
    values = {
        "tokens": tokens,
        "rounds": np.ones_like(tokens),
        "drafted": drafted,
        "accepted": accepted,
        # A round costs what verifying all of its draft costs.
        "cost": cost[drafted],
    }
    weights = resample(units)
    sums = {key: weights @ np.bincount(group, rounds * value) for key, value in values.items()}
    row: dict[str, Any] = {"name": name}
    for key in ("tokens", "rounds", "drafted", "accepted"):
        row[key] = int(sums[key][0])
    for key, (numerator, denominator) in RATIOS.items():
        figure = estimate(ratio(sums[numerator], sums[denominator]), units)
        row |= figure.named(key)
        if key == "speedup":
            row["pays"] = pays(figure)
    positions = range(1, depth.max() + 1)
    row["drafted_by_position"] = _reaching(positions, depth, rounds)
    row["accepted_by_position"] = _reaching(positions, accepted, rounds)
    return row


def _reaching(positions: Iterable[int], reached: np.ndarray, rounds: np.ndarray) -> list[int]:
    """Return how many rounds reached each position."""
    return [int(rounds[reached >= position].sum()) for position in positions]


def pays(speedup: Estimate) -> str:
    """Return whether a drafter pays: ``yes`` only where the whole interval is above 1.

    Few requests have no interval: then it is ``no`` or ``unclear``.
    """
    if speedup.interval is None:
        return "unclear" if (speedup.value or 0.0) > 1 else "no"
    low, high = speedup.interval
    if low > 1:
        return "yes"
    return "no" if high <= 1 else "unclear"
