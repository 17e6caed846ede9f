"""The cost of verifying a draft, as plain data: the criterion by which a tree grows or stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

#: The cost of one more draft token on a CPU, in steps of one token: a forward pass of 4 tokens takes about 1.4 steps.
CPU_MARGINAL = 0.15


@dataclass(frozen=True, slots=True)
class CostCurve:
    """``relative[m]``: the cost of verifying ``m`` draft tokens, in steps without a draft, so ``relative[0]`` is 1.

    A tree of m nodes whose scores (expected accepted tokens) sum to S emits 1 + S tokens for c(m). ``slopes[m]`` is the
    least cost per token of any larger tree, inf over k > m of (c(k) - c(m)) / (k - m): if the best remaining node
    scores at most (1 + S) / c(m) times that, no larger tree has a better ratio. ``least_slope`` is their minimum.
    Beyond its last entry a curve continues with its last step.
    """

    relative: tuple[float, ...]
    slopes: tuple[float, ...] = field(init=False, repr=False)
    least_slope: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        curve = self.relative
        if len(curve) < 2 or curve[0] <= 0 or any(later < earlier for earlier, later in pairwise(curve)):
            raise ValueError("a cost curve needs at least two entries, the first above 0, none below the one before it")
        scaled = tuple(c / curve[0] for c in curve)
        last = scaled[-1] - scaled[-2]
        slopes = tuple(
            min(last, *((scaled[k] - scaled[m]) / (k - m) for k in range(m + 1, len(scaled))))
            for m in range(len(scaled) - 1)
        )
        object.__setattr__(self, "relative", scaled)
        object.__setattr__(self, "slopes", (*slopes, last))
        object.__setattr__(self, "least_slope", min(self.slopes))

    def tables(self, nodes: int) -> tuple[list[float], list[float]]:
        """Return the relative costs and the slopes of 0 to ``nodes`` draft tokens."""
        last = len(self.relative) - 1
        beyond = range(1, nodes + 1 - last)
        costs = [*self.relative[: nodes + 1], *(self.relative[last] + k * self.slopes[last] for k in beyond)]
        return costs, [*self.slopes[: nodes + 1], *(self.slopes[last] for _ in beyond)]


def cost_curve(costs: CostCurve | Sequence[float] | float | None) -> CostCurve:
    """Return a curve from a curve, costs by number of draft tokens (any unit), or the relative cost of one more token.

    ``None`` disables cost stopping: tokens are free and only the budget ends a tree.
    """
    if isinstance(costs, CostCurve):
        return costs
    if costs is None or isinstance(costs, int | float):
        step = float(costs or 0.0)
        return CostCurve((1.0, 1.0 + step))
    return CostCurve(tuple(float(c) for c in costs))
