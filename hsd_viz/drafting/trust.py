"""The trust of a drafter in each database: prior hit rates, and their update during a run."""

from __future__ import annotations

from hsd_viz.drafting.semantic_database import SEMANTIC

#: The longest key length with its own estimate, which longer keys share.
MAX_BUCKET = 8
#: The upper bound of a rate. It exceeds 1, because a discount may be too cautious.
MAX_RATE = 1.2
#: The weight of the prior, in expected hits.
PRIOR_WEIGHT = 6.0

#: Hits per expected hit by key length 1, 2, ... (index 0 is unused), for greedy decoding and for
#: sampling at temperature 1. The expected hits are the discounted share of the counts. The values
#: are rounded measurements on texts of two small models of Python source, prompted by the
#: ``heldout`` suite; results are not sensitive to them. The semantic database has bands of cosines
#: instead of key lengths. Its values are about half of those measured with it alone, on answers of
#: SmolLM2, because most of its proposals were already made by the context database.
GREEDY = {
    "context": (0.0, 0.36, 0.56, 0.70, 0.80, 0.88, 0.96, 1.00, 1.12),
    "model": (0.0, 0.70, 0.80, 0.85, 0.90, 0.92, 0.94, 0.95, 0.95),
    "statistics": (0.0, 0.70, 0.75, 0.80, 0.85, 0.88, 0.90, 0.90, 0.90),
    "logits": (0.0, 0.58, 0.93, 0.94, 0.94, 0.94, 0.94, 0.94, 0.94),
    SEMANTIC: (0.0, 0.03, 0.08, 0.15, 0.20, 0.25, 0.35, 0.45, 0.50),
}
SAMPLED = {
    "context": (0.0, 0.22, 0.40, 0.41, 0.50, 0.58, 0.65, 0.68, 0.70),
    "model": (0.0, 0.32, 0.38, 0.34, 0.44, 0.50, 0.55, 0.60, 0.60),
    "statistics": (0.0, 0.37, 0.27, 0.24, 0.30, 0.38, 0.50, 0.50, 0.50),
    "logits": (0.0, 0.50, 0.74, 0.80, 0.80, 0.80, 0.80, 0.80, 0.80),
    SEMANTIC: (0.0, 0.02, 0.05, 0.10, 0.12, 0.15, 0.20, 0.25, 0.30),
}


def priors(source: str, temperature: float) -> list[float]:
    """Return the prior hits per expected hit of ``source`` by key length.

    Between greedy decoding and temperature 1 they are interpolated by the square of the
    temperature. At temperature 0.7 this was within 0.1 of the measurement.
    """
    heat = min(1.0, temperature) ** 2
    pairs = zip(GREEDY[source], SAMPLED[source], strict=True)
    return [(1 - heat) * greedy + heat * sampled for greedy, sampled in pairs]


class Trust:
    """Estimates of hits per expected hit, by database and key length, during a run.

    A token with share s in a database has the estimated probability rate·s, where rate = (w·prior
    + hits) / (w + Σ expected) is the posterior mean of a Gamma-Poisson model with prior weight w.

    Attributes:
        rates: the current rates: ``rates[d][n]`` for database d and key length n.
    """

    def __init__(self, sources: tuple[str, ...], temperature: float = 0.0) -> None:
        self._priors = [priors(s, temperature) for s in sources]
        self.rates = [list(p) for p in self._priors]
        self._hits = [[0.0] * len(p) for p in self._priors]
        self._expected = [[0.0] * len(p) for p in self._priors]

    def observe(self, database: int, n: int, expected: float, hit: bool) -> None:
        """Update the rate of a database with the outcome of a look-up.

        Args:
            database: the index of the database among the sources.
            n: the key length or band.
            expected: the total discounted share of the proposed tokens.
            hit: whether the next token was among them.
        """
        hits = self._hits[database]
        totals = self._expected[database]
        hits[n] = seen = hits[n] + hit
        totals[n] = total = totals[n] + expected
        rate = (PRIOR_WEIGHT * self._priors[database][n] + seen) / (PRIOR_WEIGHT + total)
        self.rates[database][n] = min(rate, MAX_RATE)
