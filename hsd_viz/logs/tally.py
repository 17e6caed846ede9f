"""The counts of a replay: what was read of the log, and the sums of each drafter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hsd_viz.bench.replay import Replayed

#: Resampled units per row: requests, in groups where there are more of them.
GROUPS = 200
#: Categories that are counted on their own; the others are counted together.
CATEGORIES, OTHER = 50, "other"
FIELDS = ("requests", "tokens", "rounds", "drafted", "accepted", "cost")


@dataclass(slots=True)
class Facts:
    """What was read of a log: entries, usable requests, their tokens, and what was wrong with the others."""

    entries: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    broken: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)
    compared: int = 0
    disagreeing: int = 0
    cut: int = 0
    training_entries: int = 0
    #: Replayed requests of the last entry: a conversation has several.
    part: int = 0


class Tally:
    """The counts of one row: sums by group of requests, in all and by category, and the shapes of its rounds."""

    def __init__(self) -> None:
        self.groups: dict[str, np.ndarray] = {"": np.zeros((GROUPS, len(FIELDS)))}
        self.shapes: Counter = Counter()
        #: Requests by tokens per forward pass, in hundredths.
        self.lengths: Counter = Counter()
        self.seconds = 0.0

    def add(self, number: int, category: str, found: Replayed, cost: float, seconds: float) -> None:
        """Add the ``number``-th request."""
        accepted = sum(accepted * n for (_, _, accepted), n in found.shapes.items())
        values = (1, found.tokens, found.rounds, found.drafted, accepted, cost)
        if category and category not in self.groups and len(self.groups) > CATEGORIES:
            category = OTHER
        for name in {"", category}:
            self.groups.setdefault(name, np.zeros((GROUPS, len(FIELDS))))[number % GROUPS] += values
        self.shapes.update(found.shapes)
        self.lengths[round(100 * found.tokens / found.rounds)] += 1
        self.seconds += seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON data."""
        groups = {name: [[k, *row] for k, row in enumerate(t.tolist()) if row[0]] for name, t in self.groups.items()}
        shapes = [[*shape, n] for shape, n in self.shapes.items()]
        return {"groups": groups, "shapes": shapes, "lengths": list(self.lengths.items()), "seconds": self.seconds}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Tally:
        """Return the inverse of :meth:`to_dict`."""
        found = cls()
        for name, rows in data["groups"].items():
            table = found.groups.setdefault(name, np.zeros((GROUPS, len(FIELDS))))
            for k, *values in rows:
                table[k] = values
        found.shapes = Counter({(m, depth, accepted): n for m, depth, accepted, n in data["shapes"]})
        found.lengths = Counter(dict(data["lengths"]))
        found.seconds = data["seconds"]
        return found
