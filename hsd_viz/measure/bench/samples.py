"""Sums over the outputs of a stack and over bootstrap resamples of its prompts, and the figures
computed from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hsd_viz.measure.bench.block import Figures
from hsd_viz.measure.bench.output import Output
from hsd_viz.results.bootstrap import estimate, ratio, resample
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.trace.metrics import repetition_share

#: Maximum number of cumulative sums that a percentile holds in memory at a time.
SUMS_AT_ONCE = 1 << 12


class Samples:
    """Sums over outputs and over each resample of them, as arrays ``[1 + resamples]``."""

    def __init__(self, outputs: Sequence[Output], seed: int) -> None:
        self.outputs = outputs
        self.weights = resample(len(outputs), seed)

    def total(self, values: Iterable[float]) -> np.ndarray:
        """Return the sums of a value per output."""
        return self.weights @ np.fromiter(values, float, len(self.outputs))

    def field(self, name: str) -> np.ndarray:
        """Return the sums of a field of the outputs."""
        return self.total(getattr(output, name) for output in self.outputs)

    def tokens(self) -> np.ndarray:
        """Return the numbers of emitted tokens."""
        return self.total(len(output.token_ids) for output in self.outputs)

    def repeated(self) -> np.ndarray:
        """Return the numbers of repeated tokens."""
        return self.total(
            repetition_share(output.token_ids) * len(output.token_ids) for output in self.outputs
        )

    def speed(self) -> np.ndarray:
        """Return the tokens per second, prefill excluded."""
        return ratio(self.field("timed_tokens"), self.field("seconds"))

    def figures(self, plain: Samples) -> Figures:
        """Return the figures; ``plain`` are the samples of plain decoding for the same prompts."""
        tokens = self.tokens()
        with_prefill = self.field("seconds") + self.field("prefill_seconds")
        return Figures(
            outputs=len(self.outputs),
            tokens_per_second=self._estimate(self.speed()),
            tokens_per_second_with_prefill=self._estimate(ratio(tokens, with_prefill)),
            mean_acceptance_length=self._estimate(ratio(tokens, self.field("target_forwards"))),
            draft_seconds_per_round=self._draft_seconds_per_round(),
            draft_seconds_p99=self._draft_seconds_p99(),
            speedup_over_plain=self._estimate(ratio(self.speed(), plain.speed())),
            acceptance_rate=self._estimate(ratio(self.field("accepted"), self.field("drafted"))),
            repetition_share=self._estimate(ratio(self.repeated(), tokens)),
            first_token_seconds=self._first_token_seconds(),
            inter_token_seconds_median=self._inter_token_seconds(0.5),
            inter_token_seconds_p99=self._inter_token_seconds(0.99),
        )

    def _estimate(self, samples: np.ndarray) -> Estimate:
        return estimate(samples, len(self.outputs))

    def _drafting_times(self) -> list[tuple[float, ...]] | None:
        """Return the drafting times of each output; ``None`` unless every output has them."""
        times = []
        for output in self.outputs:
            if output.draft_seconds is None:
                return None
            times.append(output.draft_seconds)
        return times

    def _draft_seconds_per_round(self) -> Estimate:
        times = self._drafting_times()
        if times is None:
            return UNKNOWN
        return self._estimate(ratio(self.total(map(sum, times)), self.total(map(len, times))))

    def _draft_seconds_p99(self) -> Estimate:
        times = self._drafting_times()
        if times is None:
            return UNKNOWN
        rounds = []
        for of_output in times:
            rounds.append([(seconds, 1) for seconds in of_output])
        return self._estimate(_percentile(rounds, self.weights, 0.99))

    def _has_arrivals(self) -> bool:
        """Return whether every output has the times at which its tokens appeared."""
        return all(output.first_token_seconds is not None for output in self.outputs)

    def _first_token_seconds(self) -> Estimate:
        if not self._has_arrivals():
            return UNKNOWN
        return self._estimate(ratio(self.field("first_token_seconds"), self.weights.sum(1)))

    def _inter_token_seconds(self, share: float) -> Estimate:
        """Return a percentile of the time between tokens; the tokens of a forward pass count as
        spread evenly over its time.
        """
        if not self._has_arrivals():
            return UNKNOWN
        pace = []
        for output in self.outputs:
            pace.append([(wait / count, count) for wait, count in output.waits])
        return self._estimate(_percentile(pace, self.weights, share))


def _percentile(
    samples: Sequence[Sequence[tuple[float, int]]], weights: np.ndarray, share: float
) -> np.ndarray:
    """Return a percentile of all samples for each row of ``weights`` (``[rows, prompts]``).

    ``samples`` has (value, count) pairs by prompt.
    """
    owned = []
    for prompt, pairs in enumerate(samples):
        for value, count in pairs:
            owned.append((value, count, prompt))
    if not owned:
        return np.full(len(weights), np.nan)
    values, counts, owner = map(np.array, zip(*sorted(owned), strict=True))
    percentiles = np.full(len(weights), np.nan)
    step = max(1, SUMS_AT_ONCE // len(values))
    for first in range(0, len(weights), step):
        rows = slice(first, first + step)
        sums = np.cumsum(weights[rows, owner] * counts, axis=1)
        totals = sums[:, -1:]
        places = (sums >= share * totals).argmax(axis=1)
        is_defined = totals[:, 0] > 0
        percentiles[rows][is_defined] = values[places[is_defined]]
    return percentiles
