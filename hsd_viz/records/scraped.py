"""Series of ``/metrics``: gauges of each scrape, and what counters counted between scrapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hsd_viz.errors import UserError
from hsd_viz.records import prometheus
from hsd_viz.records.collected import Collected
from hsd_viz.records.engines import COUNTERS, GAUGES, ReadsMetrics, Values
from hsd_viz.records.forms import Form
from hsd_viz.records.prometheus import Key, Scrapes
from hsd_viz.records.reading import accepted_words
from hsd_viz.records.sample import Sample

_COUNTER_NAME = re.compile(r"_total$|spec_decode_num_|skipped_tokens_(?:sum|count|bucket)$")


def keep_scrapes(collected: Collected, scrapes: Scrapes, before: Scrapes | None) -> None:
    """Add the series of ``/metrics`` to what was collected, model by model.

    Args:
        collected: where the samples go.
        scrapes: the scrapes of the file.
        before: an earlier copy of ``/metrics``: counters are counted from its last scrape.
    """
    models = [name for name in scrapes.models() if name] or [""]
    lines = [scrape.first_line for scrape in scrapes.scrapes]
    for model in models:
        earlier = None
        if before is not None:
            earlier = prometheus.of_model(before.scrapes[-1], model)
        of_model = _ScrapesOfModel(collected, model, _values(scrapes, model), lines, earlier)
        for reads in GAUGES:
            of_model.keep_gauges(reads)
        for reads in COUNTERS:
            of_model.keep_counters(reads)


def _values(scrapes: Scrapes, model: str) -> list[Values]:
    """Return the metrics of a model in each scrape that has any."""
    values = [prometheus.of_model(scrape, model) for scrape in scrapes.scrapes]
    return [scrape for scrape in values if scrape]


class _ScrapesOfModel:
    """The scrapes of one model.

    Attributes:
        collected: where the samples go.
        model: the model, "" where it is not named.
        scrapes: its metrics at each moment.
        lines: the first line of each scrape.
        earlier: its metrics in an earlier copy.
    """

    def __init__(
        self,
        collected: Collected,
        model: str,
        scrapes: Sequence[Values],
        lines: Sequence[int],
        earlier: Values | None,
    ) -> None:
        self.collected = collected
        self.model = model
        self.scrapes = scrapes
        self.lines = lines
        self.earlier = earlier

    def _read(self, reads: ReadsMetrics, values: Values, line: int) -> tuple[Sample, Form] | None:
        try:
            return reads(values)
        except UserError as error:
            self.collected.refuse(line, error)
            return None

    def _keep(self, sample: Sample, form: Form) -> None:
        self.collected.keep(sample, form, self.model)
        self.collected.count(form)

    def keep_gauges(self, reads: ReadsMetrics) -> None:
        """Add a sample per scrape."""
        for line, values in zip(self.lines, self.scrapes, strict=False):
            self._keep_one(reads, values, line)

    def _keep_one(self, reads: ReadsMetrics, values: Values, line: int) -> None:
        sample_and_form = self._read(reads, values, line)
        if sample_and_form is not None:
            sample, form = sample_and_form
            self._keep(replace(sample, line=line), form)

    def keep_counters(self, reads: ReadsMetrics) -> None:
        """Add what counters counted: since the start in one scrape, else between scrapes."""
        chain = list(self.scrapes)
        if self.earlier is not None:
            chain.insert(0, self.earlier)
        chain = [values for values in chain if self._read(reads, values, 0) is not None]
        if len(chain) == 1:
            self._keep_one(reads, chain[0], self.lines[0])
        elif chain:
            self._keep_differences(reads, chain)

    def _keep_differences(self, reads: ReadsMetrics, chain: Sequence[Values]) -> None:
        """Add a sample per pair of successive scrapes."""
        form: Form | None = None
        remarks = []
        first = self._read(reads, chain[0], 0)
        for number, (later, previous) in enumerate(zip(chain[1:], chain, strict=False)):
            counters, reset = prometheus.difference(_counters_of(previous), _counters_of(later))
            sample_and_form = self._read(reads, {**later, **counters}, 0)
            if reset:
                remarks.append(
                    f"the counters were reset before scrape {number + 2}: the server restarted, "
                    "and the later counts are those since then"
                )
            if sample_and_form is not None:
                sample, form = sample_and_form
                self._keep(sample, form)
        if form is None:
            return
        if first is not None and self.earlier is None:
            remarks.insert(0, _before_the_first(first[0], len(chain)))
        self.collected.group(form, self.model).remarks += remarks


def _before_the_first(sample: Sample, scrapes: int) -> str:
    """Return the remark on what a server had counted before the first scrape."""
    return (
        f"{scrapes} scrapes of one server: counted is what was added between them; before "
        f"the first one {sample.drafted or 0:,.0f} draft tokens{accepted_words(sample.rate)}"
    )


def _counters_of(values: Values) -> dict[Key, float]:
    return {key: value for key, value in values.items() if _COUNTER_NAME.search(key[0])}
