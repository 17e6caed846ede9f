"""What ``db`` weighs: the cost of verifying a draft, and its trust in the proposals of each database."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

#: The cost of one more draft token on a CPU, in steps of one token: a forward pass of 4 tokens takes about 1.4 steps.
CPU_MARGINAL = 0.15

#: Longer keys share the estimate of this length; a rate may exceed 1, as a discount may be too cautious; and the weight
#: of the prior in expected hits.
LONGEST_BUCKET, MOST_RATE, PRIOR_WEIGHT = 8, 1.2, 6.0

#: Subtracted from each continuation's count (absolute discounting, Ney, Essen & Kneser 1994): a single occurrence is
#: weaker evidence than its share suggests. Text tends to repeat itself, so the context's discount is small.
DISCOUNTS = {"context": 0.15, "model": 0.4, "statistics": 0.5, "logits": 0.0}

#: Hits per expected hit by key length 1, 2, ... (index 0 unused), where "expected" is the discounted share of the
#: counts, for greedy decoding and for sampling at temperature 1. Rounded measurements on texts of two small models of
#: Python source, prompted by the ``heldout`` suite; results are not sensitive to them.
GREEDY = {
    "context": (0.0, 0.36, 0.56, 0.70, 0.80, 0.88, 0.96, 1.00, 1.12),
    "model": (0.0, 0.70, 0.80, 0.85, 0.90, 0.92, 0.94, 0.95, 0.95),
    "statistics": (0.0, 0.70, 0.75, 0.80, 0.85, 0.88, 0.90, 0.90, 0.90),
    "logits": (0.0, 0.58, 0.93, 0.94, 0.94, 0.94, 0.94, 0.94, 0.94),
}
SAMPLED = {
    "context": (0.0, 0.22, 0.40, 0.41, 0.50, 0.58, 0.65, 0.68, 0.70),
    "model": (0.0, 0.32, 0.38, 0.34, 0.44, 0.50, 0.55, 0.60, 0.60),
    "statistics": (0.0, 0.37, 0.27, 0.24, 0.30, 0.38, 0.50, 0.50, 0.50),
    "logits": (0.0, 0.50, 0.74, 0.80, 0.80, 0.80, 0.80, 0.80, 0.80),
}


@dataclass(frozen=True, slots=True)
class CostCurve:
    """``relative[m]``: the cost of verifying ``m`` draft tokens, in steps without a draft, so ``relative[0]`` is 1.

    A tree of m nodes whose scores sum to S emits 1 + S tokens for c(m). ``slopes[m]`` is the least cost per token of
    any larger tree, inf over k > m of (c(k) - c(m)) / (k - m): if the best remaining node scores at most (1 + S) / c(m)
    times that, no larger tree has a better ratio. ``least_slope`` is their minimum. Beyond its last entry a curve
    continues with its last step.
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
        slope = lambda m: min(last, *((scaled[k] - scaled[m]) / (k - m) for k in range(m + 1, len(scaled))))
        slopes = tuple(map(slope, range(len(scaled) - 1)))
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
        return CostCurve((1.0, 1.0 + float(costs or 0.0)))
    return CostCurve(tuple(float(c) for c in costs))


def priors(source: str, temperature: float) -> list[float]:
    """Return the prior hits per expected hit of ``source`` by key length. Between greedy decoding and temperature 1
    they are interpolated by the square of the temperature, which at 0.7 was within 0.1 of the measurement.
    """
    heat, pairs = min(1.0, temperature) ** 2, zip(GREEDY[source], SAMPLED[source], strict=True)
    return [(1 - heat) * greedy + heat * sampled for greedy, sampled in pairs]


class Trust:
    """One run's estimate, per database and key length, of hits per expected hit. For a token with share s in a
    database, the estimated probability is rate·s with rate = (w·prior + hits) / (w + Σ expected), the posterior mean of
    a Gamma-Poisson model with prior weight w. ``rates[d][n]`` is read by the drafter.
    """

    def __init__(self, sources: tuple[str, ...], temperature: float = 0.0) -> None:
        self._priors = [priors(s, temperature) for s in sources]
        self.rates = [list(p) for p in self._priors]
        self._hits = [[0.0] * len(p) for p in self._priors]
        self._expected = [[0.0] * len(p) for p in self._priors]

    def observe(self, database: int, n: int, expected: float, hit: bool) -> None:
        """Record the total discounted share ``expected`` of a look-up, and whether it had the next token (``hit``)."""
        hits, totals = self._hits[database], self._expected[database]
        hits[n] = seen = hits[n] + hit
        totals[n] = total = totals[n] + expected
        rate = (PRIOR_WEIGHT * self._priors[database][n] + seen) / (PRIOR_WEIGHT + total)
        self.rates[database][n] = min(rate, MOST_RATE)
