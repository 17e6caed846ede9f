"""What the doctor knows of a drafter: its rounds, and the times of a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hsd_viz.latency.inputs import Calibration
from hsd_viz.words import check_range

#: Largest batch that is considered.
MOST_BATCH = 4096


@dataclass(frozen=True, slots=True)
class Observation:
    """What was observed of a drafter. Times in ms at batch size 1, ``None`` where they were not observed.

    ``rounds`` counts verifications by (depth of the draft, accepted tokens), rounds without a draft included. ``step``
    is a plain step of the target, ``verify`` the forward pass of a round, ``draft`` the drafting of a round,
    ``overhead`` its other time. ``database``: whether the drafter is a database or an n-gram method. ``exact`` is False
    where only the means of ``rounds`` were observed: there are then no intervals and no acceptance by position.
    """

    source: str
    rounds: Mapping[tuple[int, int], int]
    step: float | None = None
    verify: float | None = None
    draft: float | None = None
    overhead: float | None = None
    batch: int = 1
    database: bool = False
    exact: bool = True
    calibration: Calibration | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.rounds or not any(depth for depth, _ in self.rounds):
            raise ValueError(f"{self.source} has no round with a draft: there is nothing to explain")
        for name in ("step", "verify", "draft", "overhead"):
            if (value := getattr(self, name)) is not None:
                check_range(f"the {name} time", value, 0.0)
        check_range("the batch", self.batch, 1, MOST_BATCH)
        if self.step == 0:
            raise ValueError("the time of a step must be more than 0")

    @property
    def depth(self) -> float:
        """Mean depth of the draft of a round."""
        return sum(depth * n for (depth, _), n in self.rounds.items()) / sum(self.rounds.values())

    @property
    def slope(self) -> float | None:
        """Cost of one more token in a forward pass, relative to a step, at batch size 1."""
        if self.step is None or self.verify is None:
            return None
        return max(0.0, self.verify / self.step - 1) / self.depth

    def by_position(self) -> list[tuple[int, int]]:
        """Return by position k: rounds that accepted k or more, and rounds whose draft reached k."""
        deepest = max(depth for depth, _ in self.rounds)
        found = []
        for k in range(1, deepest + 1):
            taken = sum(n for (_, accepted), n in self.rounds.items() if accepted >= k)
            found.append((taken, sum(n for (depth, _), n in self.rounds.items() if depth >= k)))
        return found

    def survival(self) -> list[float]:
        """Return S(k), the probability that the first k tokens of a draft are accepted, k = 1, 2, ...

        A product of conditional acceptances; of equal ones where only means were observed.
        """
        deepest, found, chain = max(depth for depth, _ in self.rounds), [], 1.0
        if not self.exact:
            mean = sum(a * n for (_, a), n in self.rounds.items()) / sum(self.rounds.values())
            low, high = 0.0, 1.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if sum(middle**k for k in range(1, deepest + 1)) < mean else (low, middle)
            return [high**k for k in range(1, deepest + 1)]
        for k in range(1, deepest + 1):
            taken = sum(n for (_, accepted), n in self.rounds.items() if accepted >= k)
            examined = sum(n for (depth, accepted), n in self.rounds.items() if min(depth, accepted + 1) >= k)
            chain *= taken / examined if examined else 0.0
            found.append(chain)
        return found

    def extra(self) -> dict[str, float | None]:
        """Return the extra time of a round by cause, in plain steps of the same batch."""
        slope, step = self.slope, self.step
        scale = 1.0 if slope is None else 1 + slope * (self.batch - 1)
        alone = None if slope is None else slope * self.depth
        full = None if slope is None else slope * self.batch * self.depth / scale
        relative = lambda ms: None if ms is None or step is None else ms / (step * scale)
        return {
            "drafting": relative(self.draft),
            "verification": None if alone is None or full is None else min(alone, full),
            "batch": None if alone is None or full is None else max(0.0, full - alone),
            "overhead": relative(self.overhead),
        }
