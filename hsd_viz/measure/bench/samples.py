"""Sums over the outputs of a stack and over bootstrap resamples of its prompts, and the figures
that are ratios of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hsd_viz.measure.bench.output import Output
from hsd_viz.results.estimate import ratio, resample
from hsd_viz.trace.metrics import repetition_share


class Samples:
    """Sums over outputs, and over each resample of them: arrays ``[1 + resamples]``."""

    def __init__(self, outputs: Sequence[Output], seed: int) -> None:
        self.outputs = outputs
        self.weights = resample(len(outputs), seed)

    def total(self, values: Iterable[float]) -> np.ndarray:
        """Return the sums of one value per output."""
        return self.weights @ np.fromiter(values, float, len(self.outputs))

    def field(self, name: str) -> np.ndarray:
        """Return the sums of a field of the outputs."""
        return self.total(getattr(output, name) for output in self.outputs)

    def tokens(self) -> np.ndarray:
        """Return the numbers of emitted tokens."""
        return self.total(len(output.token_ids) for output in self.outputs)

    def repeated(self) -> np.ndarray:
        """Return the numbers of tokens that repeat their output."""
        return self.total(
            repetition_share(output.token_ids) * len(output.token_ids) for output in self.outputs
        )

    def speed(self) -> np.ndarray:
        """Return the tokens per second without prefill."""
        return ratio(self.field("timed_tokens"), self.field("seconds"))

    def figures(self, plain: Samples) -> dict[str, np.ndarray]:
        """Return the samples of the figures that every output reports."""
        tokens = self.tokens()
        with_prefill = self.field("seconds") + self.field("prefill_seconds")
        samples = {
            "tokens_per_second": self.speed(),
            "tokens_per_second_with_prefill": ratio(tokens, with_prefill),
            "mean_acceptance_length": ratio(tokens, self.field("target_forwards")),
            "speedup_over_plain": ratio(self.speed(), plain.speed()),
            "acceptance_rate": ratio(self.field("accepted"), self.field("drafted")),
            "repetition_share": ratio(self.repeated(), tokens),
        }
        return samples | self.drafting() | self.waiting()

    def drafting(self) -> dict[str, np.ndarray]:
        """Return the samples of the drafting latency, where every output has it."""
        rounds = []
        single = []
        for output in self.outputs:
            if output.draft_seconds is None:
                return {}
            rounds.append(output.draft_seconds)
            single.append([(seconds, 1) for seconds in output.draft_seconds])
        return {
            "draft_seconds_per_round": ratio(
                self.total(map(sum, rounds)), self.total(map(len, rounds))
            ),
            "draft_seconds_p99": _percentile(single, self.weights, 0.99),
        }

    def waiting(self) -> dict[str, np.ndarray]:
        """Return the samples of the times to a first and to further tokens, where every output has
        them. The tokens of a forward pass share its time evenly.
        """
        pace = []
        for output in self.outputs:
            if output.first_token_seconds is None:
                return {}
            pace.append([(wait / count, count) for wait, count in output.waits])
        first = ratio(self.field("first_token_seconds"), self.weights.sum(1))
        return {
            "first_token_seconds": first,
            "inter_token_seconds_median": _percentile(pace, self.weights, 0.5),
            "inter_token_seconds_p99": _percentile(pace, self.weights, 0.99),
        }


def _percentile(
    samples: Sequence[Sequence[tuple[float, int]]], weights: np.ndarray, share: float
) -> np.ndarray:
    """Return the percentile of all samples by row of ``weights`` (``[rows, prompts]``): (value,
    count) by prompt.
    """
    owned = []
    for prompt, pairs in enumerate(samples):
        for value, count in pairs:
            owned.append((value, count, prompt))
    if not owned:
        return np.full(len(weights), np.nan)
    values, counts, owner = map(np.array, zip(*sorted(owned), strict=True))
    percentiles = np.full(len(weights), np.nan)
    for row, weight in enumerate(weights):
        sums = np.cumsum(weight[owner] * counts)
        if sums[-1]:
            percentiles[row] = values[np.searchsorted(sums, share * sums[-1])]
    return percentiles
