"""Bets on pairs of texts: evidence that two decoders draw from different distributions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from hsd_viz.measure.audit.endpoint import MIN_PROBABILITY, Completion, Text

#: Prior weights of "no difference" in the bets by token, in observations of a prefix.
SHRINKAGE = (4.0, 16.0, 64.0)
#: Slopes of the bets by the probability of a text: one decoder may prefer likely or unlikely texts.
SLOPES = (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)
#: Exponents of rows from which one decoder may draw: sharper above 1, flatter below 1.
EXPONENTS = (0.5, 0.75, 1.4, 2.0)
#: Periods of the positions at which it may do so: all, or every n-th from each start.
PERIODS = (1, 2, 3, 4, 5)


def _groups() -> tuple[tuple[int, int], ...]:
    """Return all pairs of a period and a start."""
    groups = []
    for period in PERIODS:
        for start in range(period):
            groups.append((period, start))
    return tuple(groups)


GROUPS = _groups()


@dataclass(slots=True)
class PairTest:
    """The bets on pairs of texts, with their wealth."""

    _log_wealth: list[float] = field(
        default_factory=lambda: (
            [0.0] * (len(SHRINKAGE) + len(SLOPES) + len(EXPONENTS) * len(GROUPS))
        )
    )
    #: For each decoder, the counts of tokens after each prompt and prefix.
    _seen: tuple[defaultdict, defaultdict] = field(
        default_factory=lambda: (defaultdict(Counter), defaultdict(Counter))
    )

    def add(self, prompt: Hashable, first: Completion, second: Completion) -> float:
        """Bet on a pair of texts after ``prompt`` and return the wealth. Above 1 / alpha, the
        distributions differ.
        """
        scores = [*self._scores(prompt, first.tokens), *tilts(first)]
        other_scores = [*self._scores(prompt, second.tokens), *tilts(second)]
        for k, (a, b) in enumerate(zip(scores, other_scores, strict=True)):
            # The payoff 2 * sigma(a - b) is fair, because swapped texts would give
            # 2 * sigma(b - a).
            self._log_wealth[k] += math.log(2) - float(np.logaddexp(0.0, b - a))
        for seen, text in zip(self._seen, (first.tokens, second.tokens), strict=True):
            for place, token in enumerate(text):
                seen[prompt, text[:place]][token] += 1
        return fmean(math.exp(min(700.0, log)) for log in self._log_wealth)

    def _scores(self, prompt: Hashable, text: Text) -> list[float]:
        """Return the log likelihood ratio of ``text``, first decoder over second, for each bet."""
        ratios = [0.0] * len(SHRINKAGE)
        likely = 0.0
        for place, token in enumerate(text):
            first, second = (seen[prompt, text[:place]] for seen in self._seen)
            m = first.total()
            n = second.total()
            a = first[token]
            b = second[token]
            # Add half an observation, so that an unseen token is unlikely but not impossible.
            likely += math.log((a + b + 0.5) / (m + n + 1))
            if a + b:
                for k, prior in enumerate(SHRINKAGE):
                    pooled = prior * (a + b) / (m + n)
                    ratios[k] += math.log((a + pooled) / (m + prior) * (n + prior) / (b + pooled))
        return [*ratios, *(slope * likely for slope in SLOPES)]


def tilts(text: Completion) -> list[float]:
    """Return the log likelihood ratios of a text, drawn from rows raised to each of
    :data:`EXPONENTS` at the places of each of :data:`GROUPS` over the returned rows.
    """
    by_place = [_tilts_of_row(row) for row in text.rows()]
    sums = []
    for k in range(len(EXPONENTS)):
        for period, start in GROUPS:
            sums.append(sum(place[k] for place in by_place[start::period]))
    return sums


def _tilts_of_row(row: tuple[float, tuple[float, ...]] | None) -> tuple[float, ...]:
    """Return log(p(token)^γ / Σ p^γ / p(token)) of a row by exponent γ, 0 without one."""
    if row is None:
        return (0.0,) * len(EXPONENTS)
    probability, whole = row
    log = math.log(max(MIN_PROBABILITY, probability))
    tilts = []
    for exponent in EXPONENTS:
        mass = sum(p**exponent for p in whole)
        tilts.append((exponent - 1) * log - math.log(mass))
    return tuple(tilts)
