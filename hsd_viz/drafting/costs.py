"""What verifying a draft costs, as plain data: the measure against which a tree grows or stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

#: The cost of one more draft token on a CPU, in steps of one token: a small model's forward of 4 tokens takes about 1.4 steps.
CPU_MARGINAL = 0.15


@dataclass(frozen=True, slots=True)
class CostCurve:
    """``relative[m]``: the cost of verifying ``m`` draft tokens, in steps without a draft, so ``relative[0]`` is 1.

    A tree whose nodes have scores s (expected accepted tokens: their sum S) emits 1 + S tokens for c(m). ``slopes[m]`` is the
    least cost per token of going on from ``m`` to any larger tree, inf over k > m of (c(k) - c(m)) / (k - m): when the best
    node left has a score of at most (1 + S) / c(m) times that, no larger tree has a better ratio. ``least_slope`` is the least of
    them. Beyond its last entry a curve goes on with its last step.
    """

    relative: tuple[float, ...]
    slopes: tuple[float, ...] = field(init=False, repr=False)
    least_slope: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        curve = self.relative
        if len(curve) < 2 or curve[0] <= 0 or any(later < earlier for earlier, later in pairwise(curve)):
            raise ValueError("a cost curve needs two entries or more, the first above 0, none below the one before it")
        scaled = tuple(c / curve[0] for c in curve)
        last = scaled[-1] - scaled[-2]
        slopes = tuple(
            min(last, *((scaled[k] - scaled[m]) / (k - m) for k in range(m + 1, len(scaled))))
            for m in range(len(scaled) - 1)
        )
        object.__setattr__(self, "relative", scaled)
        object.__setattr__(self, "slopes", (*slopes, last))
        object.__setattr__(self, "least_slope", min(self.slopes))

    def at(self, nodes: int) -> float:
        """The relative cost of verifying ``nodes`` draft tokens."""
        known = len(self.relative) - 1
        return self.relative[nodes] if nodes <= known else self.relative[known] + (nodes - known) * self.slopes[known]

    def tables(self, nodes: int) -> tuple[list[float], list[float]]:
        """:meth:`at` and :meth:`slope` of 0 to ``nodes`` as lists, for loops in a hurry."""
        return [self.at(m) for m in range(nodes + 1)], [self.slope(m) for m in range(nodes + 1)]

    def slope(self, nodes: int) -> float:
        """The least relative cost per token of any tree larger than ``nodes``."""
        return self.slopes[min(nodes, len(self.slopes) - 1)]


def cost_curve(costs: CostCurve | Sequence[float] | float | None) -> CostCurve:
    """A curve from a curve, from costs by number of draft tokens (any unit), or from the relative cost of one more token.

    ``None`` switches cost stopping off: every token is free and only the budget ends a tree.
    """
    if isinstance(costs, CostCurve):
        return costs
    if costs is None or isinstance(costs, int | float):
        step = float(costs or 0.0)
        return CostCurve((1.0, 1.0 + step))
    return CostCurve(tuple(float(c) for c in costs))
