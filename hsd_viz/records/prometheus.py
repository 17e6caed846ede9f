"""Parses texts of ``/metrics``: scrapes, series by label, and differences of counters.

A counter counts from the start of its server. One scrape reports the total; two scrapes of one
server determine the counts between them. A counter that falls was reset by a restart of the server,
and its value counts from then on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from hsd_viz.records.sample import Sample, with_fixed_length

#: ``name{labels} value [timestamp]``; in tables of logs ``name{labels} | value``.
METRIC = re.compile(
    r"^\s*(?P<name>[A-Za-z_:][\w:.]*)(?:\{(?P<labels>[^}]*)\})?\s*(?:\|\s*)?"
    r"\s(?P<value>[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|[Nn]a[Nn]|\+?[Ii]nf))"
    r"(?:\s+\d{9,})?\s*(?:\|\s*)?$"
)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
#: Labels of ranks that report the same figures, of which only one is counted.
COPIES = ("tp_rank", "pp_rank", "moe_ep_rank")
MODEL_LABELS = ("model_name", "model", "served_model_name")

#: Name and labels of a metric.
Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Scrape:
    """The metrics of one scrape.

    Attributes:
        values: the values by name and labels.
        first_line: the first line of the scrape in the file.
    """

    values: dict[Key, float] = field(default_factory=dict)
    first_line: int = 0


@dataclass(slots=True)
class Scrapes:
    """The scrapes of a file.

    Attributes:
        scrapes: the scrapes in order. A metric that appears again starts the next scrape.
    """

    scrapes: list[Scrape] = field(default_factory=list)

    def add(self, name: str, labels: str, value: float, line: int) -> None:
        """Add a metric."""
        key = (name, tuple(sorted(_LABEL.findall(labels))))
        if not self.scrapes or key in self.scrapes[-1].values:
            self.scrapes.append(Scrape(first_line=line))
        self.scrapes[-1].values[key] = value

    def models(self) -> list[str]:
        """Return the names of the models in order; "": metrics without a model label."""
        names: dict[str, None] = {}
        for scrape in self.scrapes:
            names |= dict.fromkeys(map(model_of, scrape.values))
        return list(names)


def metric_of(text: str) -> tuple[str, str, float] | None:
    """Return the name, the labels and the value of a line; ``None`` if it is not a metric."""
    match = METRIC.match(text)
    if match is None:
        return None
    try:
        value = float(match["value"])
    except ValueError:
        return None
    return match["name"], match["labels"] or "", value


def model_of(key: Key) -> str:
    """Return the model in the labels of a metric; "": none."""
    labels = dict(key[1])
    return next((labels[name] for name in MODEL_LABELS if name in labels), "")


def label(key: Key, name: str) -> str:
    """Return a label of a metric; "": none."""
    return dict(key[1]).get(name, "")


def of_model(scrape: Scrape, model: str) -> dict[Key, float]:
    """Return the metrics of a model, including those without a model label."""
    metrics = {}
    for key, value in scrape.values.items():
        if model_of(key) in (model, "") and isfinite(value):
            metrics[key] = value
    return metrics


def counter_sum(values: Mapping[Key, float], names: Iterable[str]) -> float | None:
    """Return the sum of a counter over the parts of a service, ``None`` without one.

    ``names`` are its names, the first that exists counts; ``_total`` may be missing. Copies on the
    ranks of one model count once.
    """
    for name in names:
        plain = name.removesuffix("_total")
        parts = {}
        for key, value in values.items():
            if key[0] in (name, plain, f"{plain}_total") and not label(key, "position"):
                parts[key] = value
        if parts:
            return sum(_without_copies(parts).values())
    return None


def by_position(values: Mapping[Key, float], name: str) -> list[float] | None:
    """Return the sums of a counter by its label ``position`` (0, 1, ...); ``None``: missing."""
    plain = name.removesuffix("_total")
    sums: dict[int, float] = {}
    for key, value in _without_copies(values).items():
        place = label(key, "position")
        if key[0] in (plain, f"{plain}_total") and place.isdecimal() and int(place) <= 1024:
            sums[int(place)] = sums.get(int(place), 0.0) + value
    if not sums:
        return None
    return [sums.get(place, 0.0) for place in range(max(sums) + 1)]


def gauge(values: Mapping[Key, float], name: str) -> float | None:
    """Return the mean of a gauge over the parts of a service; ``None``: missing."""
    gauges = [value for key, value in values.items() if key[0] == name]
    return sum(gauges) / len(gauges) if gauges else None


def _without_copies(values: Mapping[Key, float]) -> dict[Key, float]:
    """Return the metrics without those of ranks that repeat the figures of the first rank."""
    return {key: value for key, value in values.items() if _is_first_rank(key)}


def _is_first_rank(key: Key) -> bool:
    """Return whether a metric belongs to the first rank, or has no rank."""
    return all(label(key, name) in ("", "0") for name in COPIES)


def difference(
    before: Mapping[Key, float], after: Mapping[Key, float]
) -> tuple[dict[Key, float], list[str]]:
    """Return the counts between two scrapes, and the counters that were reset.

    The counters of one part of a service (equal labels except the position) are reset together.
    """
    reset = [key for key, value in after.items() if value < before.get(key, 0.0)]
    restarted = {_part(key) for key in reset}
    counted: dict[Key, float] = {}
    for key, value in after.items():
        earlier = 0.0 if _part(key) in restarted else before.get(key, 0.0)
        counted[key] = value - earlier
    return counted, sorted({key[0] for key in reset})


def _part(key: Key) -> tuple[tuple[str, str], ...]:
    """Return the labels of a metric that identify a part of a service."""
    return tuple((name, value) for name, value in key[1] if name != "position")


def spec_decode(values: Mapping[Key, float], prefix: str) -> Sample | None:
    """Return the counters of speculative decoding by the names that vLLM gave them, ``None``
    without the number of drafts.

    Args:
        values: a scrape, or the difference of two.
        prefix: the prefix of the names.
    """
    drafts = counter_sum(values, [f"{prefix}num_drafts_total"])
    if drafts is None:
        return None
    places = by_position(values, f"{prefix}num_accepted_tokens_per_pos_total")
    sample = Sample(
        drafts=drafts,
        drafted=counter_sum(values, [f"{prefix}num_draft_tokens_total"]),
        accepted=counter_sum(values, [f"{prefix}num_accepted_tokens_total"]),
        by_position=None if places is None else tuple(places),
        draft_length=None if places is None else len(places),
    )
    return with_fixed_length(sample)
