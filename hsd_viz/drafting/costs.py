"""Cost curves: the cost of verifying a draft by its number of tokens, and named presets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hsd_viz.errors import UserError
from hsd_viz.names.hints import did_you_mean
from hsd_viz.settings.ranges import check_range

#: The cost of a further draft token on a CPU, relative to a step of one token: a forward pass over
#: 4 tokens takes about 1.4 steps.
CPU_MARGINAL = 0.15


def cost_at(curve: Sequence[float], place: int) -> float:
    """Return an entry of a curve of costs by number of tokens.

    Beyond its last entry a curve continues with its last increment. It is flat there if it has one
    entry, or if it falls at its end, which is noise.
    """
    beyond = place - (len(curve) - 1)
    if beyond <= 0:
        return curve[place]
    increment = max(0.0, curve[-1] - curve[-2]) if len(curve) > 1 else 0.0
    return curve[-1] + increment * beyond


@dataclass(frozen=True, slots=True)
class CostCurve:
    """The cost c(m) of verifying a draft of m tokens.

    A tree of m nodes whose scores sum to S emits an expected 1 + S tokens at the cost c(m). If the
    best remaining node scores at most (1 + S) / c(m) times the slope at m, no larger tree has a
    better ratio. :func:`cost_at` continues the curve beyond its last entry.

    Attributes:
        relative: ``relative[m]`` is the cost of verifying m draft tokens, relative to a step
            without a draft, so that ``relative[0]`` is 1.
        slopes: ``slopes[m]`` is the least cost per further token of any larger tree, the infimum
            over k > m of (c(k) - c(m)) / (k - m).
        least_slope: the minimum of the slopes.
    """

    relative: tuple[float, ...]
    slopes: tuple[float, ...] = field(init=False, repr=False)
    least_slope: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        curve = self.relative
        if (
            len(curve) < 2
            or curve[0] <= 0
            or any(later < earlier for earlier, later in pairwise(curve))
        ):
            raise UserError(
                "a cost curve needs at least two entries, the first "
                "above 0, none below the one before it"
            )
        scaled = tuple(c / curve[0] for c in curve)
        last = scaled[-1] - scaled[-2]
        slopes = []
        for m in range(len(scaled) - 1):
            rises = ((scaled[k] - scaled[m]) / (k - m) for k in range(m + 1, len(scaled)))
            slopes.append(min(last, *rises))
        object.__setattr__(self, "relative", scaled)
        object.__setattr__(self, "slopes", (*slopes, last))
        object.__setattr__(self, "least_slope", min(self.slopes))

    def tables(self, nodes: int) -> tuple[list[float], list[float]]:
        """Return the relative costs and the slopes of 0 to ``nodes`` draft tokens."""
        costs = [cost_at(self.relative, m) for m in range(nodes + 1)]
        last = len(self.slopes) - 1
        slopes = [self.slopes[min(m, last)] for m in range(nodes + 1)]
        return costs, slopes


def cost_curve(costs: CostCurve | Sequence[float] | float | None) -> CostCurve:
    """Return the cost curve for a cost in any form.

    Args:
        costs: a curve, the costs of verifying 0, 1, 2, ... draft tokens in any unit, or the
            relative cost of a further token. ``None`` makes tokens free, so that only the budget
            ends a tree.
    """
    if isinstance(costs, CostCurve):
        return costs
    if costs is None or isinstance(costs, int | float):
        return CostCurve((1.0, 1.0 + float(costs or 0.0)))
    return CostCurve(tuple(float(c) for c in costs))


#: Cost curves by name: the costs of verifying 0, 1, 2, ... draft tokens, relative to a step without
#: a draft.
PRESETS = {
    "cpu": cost_curve(CPU_MARGINAL).relative,
    "free16": (*[1.0] * 17, 1 + 1 / 16),
}


def parse_cost(text: str) -> CostCurve:
    """Parse a cost curve: the name of a preset, the relative cost of a further token, or the costs
    c(0),c(1),...

    Raises:
        UserError: if the text has none of these forms.
    """
    if text in PRESETS:
        return CostCurve(PRESETS[text])
    try:
        numbers = [float(part) for part in text.split(",")]
        upper_bound = 100.0 if len(numbers) == 1 else 1e9
        for number in numbers:
            check_range("a cost", number, 0.0, upper_bound)
        return cost_curve(numbers if len(numbers) > 1 else numbers[0])
    except ValueError as error:
        forms = (
            f"{', '.join(PRESETS)}, the relative cost of one more token, or costs of 0, 1, 2, ... "
            "draft tokens"
        )
        hint = did_you_mean(text, PRESETS)
        raise UserError(
            f"'{text}' is not a verification cost: use {forms} as in 1,1.1,1.3 ({error}){hint}"
        ) from None
