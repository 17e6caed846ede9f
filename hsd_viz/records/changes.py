"""Detection of changes within a series: of acceptance, speed or the number of running requests."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hsd_viz.records.sample import Sample
from hsd_viz.records.series import Series

#: Minimum number of samples on each side of a change.
MIN_SAMPLES = 3
#: Minimum difference between the two sides in standard errors, and relative to their mean.
CERTAIN = 4.5
RELATIVE = 0.25
#: Maximum number of reported changes per figure.
MAX_CHANGES = 4
#: Median of the squared difference of two draws from a normal distribution, over its variance.
_MEDIAN_OF_DIFFERENCES = 0.9099


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a figure within a series.

    Attributes:
        figure: ``acceptance``, ``speed`` or ``running requests``.
        number: the number of the first sample after the change, from 1.
        samples: the number of samples of the series.
        line: the line of this sample in the file.
        clock: the time of this sample, as written.
        before: the mean between the previous change and this one.
        after: the mean between this change and the next one.
    """

    figure: str
    number: int
    samples: int
    line: int
    clock: str
    before: float
    after: float

    @property
    def words(self) -> str:
        """The change as a sentence."""
        verb = "fell" if self.after < self.before else "rose"
        when = f" ({self.clock})" if self.clock else ""
        where = f"record {self.number} of {self.samples}, line {self.line}{when}"
        if self.figure == "acceptance":
            return f"acceptance {verb} from {self.before:.1%} to {self.after:.1%} at {where}"
        unit = " tokens/s" if self.figure == "speed" else ""
        return f"{self.figure} {verb} from {self.before:.1f} to {self.after:.1f}{unit} at {where}"


def acceptance_of(sample: Sample) -> float | None:
    """Return the acceptance rate; without counts, that of the length and configured draft
    tokens.
    """
    if sample.rate is not None:
        return sample.rate
    if sample.length is not None and sample.draft_length:
        return (sample.length - 1) / sample.draft_length
    return sample.engine_rate


def speed_of(sample: Sample) -> float | None:
    """Return the tokens per second of one request."""
    if sample.seconds and sample.tokens:
        return sample.tokens / sample.seconds
    if sample.speed and sample.running:
        return sample.speed / sample.running
    return sample.speed or None


def changes(series: Series) -> list[Change]:
    """Return the changes of a series, by figure and in order."""
    figures = {
        "acceptance": [acceptance_of(sample) for sample in series.samples],
        "speed": [speed_of(sample) for sample in series.samples],
        "running requests": [sample.running for sample in series.samples],
    }
    changed = []
    for figure, values in figures.items():
        reported = [k for k, value in enumerate(values) if value is not None]
        if len(reported) < 2 * MIN_SAMPLES:
            continue
        numbers = np.array([values[k] for k in reported], float)
        noise = np.array([_noise(series.samples[k], figure) for k in reported])
        for split in splits(numbers, noise):
            first = reported[split.first]
            sample = series.samples[first]
            changed.append(
                Change(
                    figure=figure,
                    number=first + 1,
                    samples=len(series.samples),
                    line=sample.line,
                    clock=sample.clock,
                    before=split.before,
                    after=split.after,
                )
            )
    return changed


def _noise(sample: Sample, figure: str) -> float:
    """Return the variance of an acceptance rate due to its number of draft tokens."""
    rate = sample.rate
    if figure != "acceptance" or rate is None or not sample.drafted:
        return 0.0
    return max(rate * (1 - rate), 0.01) / sample.drafted


class Split(NamedTuple):
    """A change of a series.

    Attributes:
        first: the index of the first value after the change.
        before: the mean of the part before the change.
        after: the mean of the part after the change.
    """

    first: int
    before: float
    after: float


def splits(values: np.ndarray, noise: np.ndarray) -> list[Split]:
    """Return the changes of a series, in order.

    The series is split where the means of both sides differ by most standard errors, and then
    recursively on each side. The variance is estimated from differences of neighbours, which a
    change does not enlarge, and is at least that implied by the counts.
    """
    differences = np.diff(values) ** 2
    variance = float(np.median(differences)) / _MEDIAN_OF_DIFFERENCES if len(differences) else 0.0
    variance = max(variance, float(np.mean(noise)), 1e-12)
    cuts: list[int] = []
    parts = [(0, len(values))]
    while parts and len(cuts) < MAX_CHANGES:
        start, stop = parts.pop(0)
        cut = _best_cut(values[start:stop], variance)
        if cut is not None:
            cuts.append(start + cut)
            parts += [(start, start + cut), (start + cut, stop)]
    cuts.sort()
    edges = [0, *cuts, len(values)]
    means = [float(np.mean(values[a:b])) for a, b in itertools.pairwise(edges)]
    changes = []
    for k, cut in enumerate(cuts):
        before = means[k]
        after = means[k + 1]
        if _differs(before, after):
            changes.append(Split(first=cut, before=before, after=after))
    return changes


def _differs(before: float, after: float) -> bool:
    return abs(before - after) >= RELATIVE * max(abs(before), abs(after))


def _best_cut(values: np.ndarray, variance: float) -> int | None:
    """Return the index at which to split a part; ``None``: there is no certain change."""
    number = len(values)
    if number < 2 * MIN_SAMPLES:
        return None
    places = np.arange(MIN_SAMPLES, number - MIN_SAMPLES + 1)
    sums = np.cumsum(values)
    before = sums[places - 1] / places
    after = (sums[-1] - sums[places - 1]) / (number - places)
    errors = np.sqrt(variance * (1 / places + 1 / (number - places)))
    scores = np.abs(before - after) / errors
    best = int(np.argmax(scores))
    if scores[best] < CERTAIN or not _differs(float(before[best]), float(after[best])):
        return None
    cut = int(places[best])
    # A single outlier moves a mean and not a median.
    if not _differs(float(np.median(values[:cut])), float(np.median(values[cut:]))):
        return None
    return _refined(values, cut)


def _refined(values: np.ndarray, cut: int) -> int:
    """Return the index near ``cut`` with the smallest sum of squares, also for short parts."""
    squares = {}
    for k in range(max(1, cut - MIN_SAMPLES), min(len(values) - 1, cut + MIN_SAMPLES) + 1):
        before = values[:k]
        after = values[k:]
        squares[k] = np.var(before) * len(before) + np.var(after) * len(after)
    return min(squares, key=squares.__getitem__)


def trend(contexts: Sequence[float], rates: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the rate at short and at long contexts, and their difference in standard errors.

    The rates are those of a line fitted against the logarithm of the context, at the 10 % and the
    90 % quantile of the contexts. ``None`` with fewer than ten values or only one context.
    """
    if len(contexts) < 10 or min(contexts) <= 0:
        return None
    x = np.log2(np.asarray(contexts, float))
    y = np.asarray(rates, float)
    spread = float(np.sum((x - x.mean()) ** 2))
    if spread < 1e-9:
        return None
    slope = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
    left = y - y.mean() - slope * (x - x.mean())
    error = float(np.sqrt(np.sum(left**2) / (len(x) - 2) / spread)) or 1e-9
    shorter, longer = np.quantile(x, (0.1, 0.9))
    at_shorter = float(y.mean() + slope * (shorter - x.mean()))
    at_longer = float(y.mean() + slope * (longer - x.mean()))
    return max(0.0, at_shorter), max(0.0, at_longer), slope / error
