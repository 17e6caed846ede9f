"""Series: the samples of one model, engine and form of record, and their sums.

Only samples of one series are pooled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import msgspec

from hsd_viz.records.fields import typed
from hsd_viz.records.sample import RecordedVerification, Sample


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one model, engine and form of record.

    Attributes:
        engine: the program that wrote the records.
        version: the version stated by the record, else the versions in which the form was seen.
        form: the name of the form.
        model: the served model; "": not named.
        samples: the samples in the order of the file.
        single: whether a sample is one request.
        method: the drafter, by its name in this package; ``None``: not named.
        draft_model: the model of the drafter; "": not named.
        remarks: remarks on what was left out, with the reason.
    """

    engine: str
    version: str
    form: str
    samples: tuple[Sample, ...]
    single: bool = False
    model: str = ""
    method: str | None = None
    draft_model: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The engine, the model and the form."""
        parts = [self.engine, *([self.model] if self.model else []), self.form]
        return ", ".join(parts)

    def pooled(self) -> Sample:
        """Return all samples as one (:func:`pooled`)."""
        return pooled(self.samples)

    def to_dict(self) -> dict[str, Any]:
        """Return the series as JSON data."""
        return {
            "engine": self.engine,
            "version": self.version,
            "form": self.form,
            "model": self.model,
            "single": self.single,
            "method": self.method,
            "draft_model": self.draft_model,
            "remarks": list(self.remarks),
            "samples": [sample.to_dict() for sample in self.samples],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Series:
        """Return the series of :meth:`to_dict`.

        Raises:
            BadFile: if it is not one.
        """
        about = typed(data, _SavedSeries)
        return cls(
            engine=about.engine,
            version=about.version,
            form=about.form,
            samples=tuple(Sample.from_dict(sample) for sample in about.samples),
            single=about.single,
            model=about.model,
            method=about.method,
            draft_model=about.draft_model,
            remarks=tuple(about.remarks),
        )


class _SavedSeries(msgspec.Struct):
    """The data of :meth:`Series.to_dict`, with the attributes of a series."""

    engine: str
    version: str
    form: str
    samples: list[dict[str, Any]]
    single: bool
    model: str
    method: str | None
    draft_model: str
    remarks: list[str]


def pooled(samples: Sequence[Sample]) -> Sample:
    """Combine samples to one.

    Counts are added where all samples have them. Acceptance by position is added over the samples
    that report it, each position over the drafts that reached it. Lengths without counts are
    averaged by the requests that were running, and printed acceptance rates by the draft tokens,
    if these are known, or else by the requests. Speeds are averaged over the intervals.
    """
    if len(samples) == 1:
        return samples[0]
    positions = [sample for sample in samples if sample.by_position is not None]
    return Sample(
        drafts=_sum(samples, "drafts"),
        drafted=_sum(samples, "drafted"),
        accepted=_sum(samples, "accepted"),
        by_position=_added(positions, "by_position") or None,
        reached=_added(positions, "reached") or None,
        histogram=_added(samples, "histogram"),
        verifications=_all_verifications(samples),
        tokens=_sum(samples, "tokens"),
        passes=_sum(samples, "passes"),
        length=_mean_length(samples),
        prefill_seconds=_sum(samples, "prefill_seconds"),
        seconds=_sum(samples, "seconds"),
        speed=_mean(samples, "speed"),
        running=_mean(samples, "running"),
        draft_length=_same([sample.draft_length for sample in samples]),
        draft_ms=_mean(samples, "draft_ms"),
        engine_rate=_mean_engine_rate(samples),
        derived=frozenset().union(*(sample.derived for sample in samples)),
    )


def _sum(samples: Sequence[Sample], name: str) -> float | None:
    """Return the sum of a field; ``None`` unless all samples have it."""
    values = [getattr(sample, name) for sample in samples]
    return None if None in values or not values else sum(values)


def _added(samples: Sequence[Sample], name: str) -> tuple[float, ...] | None:
    """Return the sums of a field by position; ``None`` unless all samples have it."""
    rows = []
    for sample in samples:
        row = getattr(sample, name)
        if row is None:
            return None
        rows.append(row)
    return added(rows) if rows else None


def position_drafts(samples: Iterable[Sample]) -> float:
    """Return the number of drafts of the samples that report acceptance by position."""
    return sum(sample.drafts or 0.0 for sample in samples if sample.by_position is not None)


def added(rows: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """Return the sums of rows of different lengths, by index."""
    return tuple(sum(column) for column in zip_longest(*rows, fillvalue=0.0))


def _all_verifications(samples: Sequence[Sample]) -> tuple[RecordedVerification, ...]:
    """Return all verifications, if every sample with drafts lists its own; else ()."""
    if any(sample.drafted and not sample.verifications for sample in samples):
        return ()
    return tuple(chain.from_iterable(sample.verifications for sample in samples))


def _mean_length(samples: Sequence[Sample]) -> float | None:
    """Return the mean of reported lengths, weighted by running requests; ``None``: counts exist."""
    if any(sample.length is None for sample in samples):
        return None
    lengths = [sample.length or 0.0 for sample in samples]
    return _weighted_mean(lengths, _requests(samples))


def _mean_engine_rate(samples: Sequence[Sample]) -> float | None:
    """Return the mean of printed acceptance rates, weighted by draft tokens if all samples that
    have a rate have them, else by running requests; ``None``: no sample has a rate.
    """
    rated = [sample for sample in samples if sample.engine_rate is not None]
    if not rated:
        return None
    rates = [sample.engine_rate or 0.0 for sample in rated]
    weights = _requests(rated)
    if _sum(rated, "drafted"):
        weights = [sample.drafted or 0.0 for sample in rated]
    return _weighted_mean(rates, weights)


def _requests(samples: Sequence[Sample]) -> list[float]:
    """Return the running requests of each sample, 1 where they are not known."""
    return [sample.running or 1.0 for sample in samples]


def _weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    pairs = zip(values, weights, strict=True)
    return sum(weight * value for value, weight in pairs) / sum(weights)


def _mean(samples: Sequence[Sample], name: str) -> float | None:
    """Return the mean of a field over the samples that have it."""
    values = [getattr(sample, name) for sample in samples]
    reported = [value for value in values if value is not None]
    return sum(reported) / len(reported) if reported else None


def _same(values: Sequence[int | None]) -> int | None:
    """Return the common value; ``None`` if values differ."""
    return values[0] if len(set(values)) == 1 else None
