"""Series of ``/metrics``: the gauges of each scrape, and the counts between scrapes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from hsd_viz.errors import UserError
from hsd_viz.records import prometheus
from hsd_viz.records.collected import Collected
from hsd_viz.records.engines.registry import COUNTERS, GAUGES, ReadsMetrics, Values
from hsd_viz.records.forms import Form
from hsd_viz.records.prometheus import Key, Scrapes
from hsd_viz.records.reading import accepted_text
from hsd_viz.records.sample import Sample

_COUNTER_NAME = re.compile(r"_total$|spec_decode_num_|skipped_tokens_(?:sum|count|bucket)$")


def keep_scrapes(collected: Collected, scrapes: Scrapes, before: Scrapes | None) -> None:
    """Add the series of ``/metrics`` to the collected samples, model by model.

    Args:
        collected: the collection to which samples are added.
        scrapes: the scrapes of the file.
        before: an earlier copy of ``/metrics``, from whose last scrape counters count.
    """
    models = [name for name in scrapes.models() if name] or [""]
    for model in models:
        earlier = None
        if before is not None:
            values = prometheus.of_model(before.scrapes[-1], model)
            earlier = _ScrapeOfModel(0, 0, values)
        of_model = _ScrapesOfModel(collected, model, _of_model(scrapes, model), earlier)
        for reads in GAUGES:
            of_model.keep_gauges(reads)
        for reads in COUNTERS:
            of_model.keep_counters(reads)


class _ScrapeOfModel(NamedTuple):
    """The metrics of one model in one scrape.

    Attributes:
        number: the number of the scrape in the file, from 1; 0: the scrape is of another file.
        line: the first line of the scrape; 0: the scrape is of another file.
        values: the metrics.
    """

    number: int
    line: int
    values: Values


def _of_model(scrapes: Scrapes, model: str) -> list[_ScrapeOfModel]:
    """Return the scrapes that have metrics of a model."""
    scrapes_of_model = []
    for number, scrape in enumerate(scrapes.scrapes, start=1):
        values = prometheus.of_model(scrape, model)
        if values:
            scrapes_of_model.append(_ScrapeOfModel(number, scrape.first_line, values))
    return scrapes_of_model


class _ScrapesOfModel:
    """The scrapes of one model.

    Attributes:
        collected: the collection to which samples are added.
        model: the model; "": not named.
        scrapes: the scrapes that have metrics of the model.
        earlier: the last scrape of an earlier copy.
    """

    def __init__(
        self,
        collected: Collected,
        model: str,
        scrapes: Sequence[_ScrapeOfModel],
        earlier: _ScrapeOfModel | None,
    ) -> None:
        self.collected = collected
        self.model = model
        self.scrapes = scrapes
        self.earlier = earlier

    def _read(self, reads: ReadsMetrics, scrape: _ScrapeOfModel) -> tuple[Sample, Form] | None:
        try:
            return reads(scrape.values)
        except UserError as error:
            self.collected.refuse(scrape.line, error)
            return None

    def _keep(self, sample: Sample, form: Form) -> None:
        self.collected.keep(sample, form, self.model)
        self.collected.count(form)

    def keep_gauges(self, reads: ReadsMetrics) -> None:
        """Add a sample per scrape."""
        for scrape in self.scrapes:
            sample_and_form = self._read(reads, scrape)
            if sample_and_form is not None:
                sample, form = sample_and_form
                self._keep(replace(sample, line=scrape.line), form)

    def keep_counters(self, reads: ReadsMetrics) -> None:
        """Add the counts between scrapes; with only one scrape, those since the start."""
        chain = []
        samples = []
        for scrape in self._with_the_earlier():
            sample_and_form = self._read(reads, scrape)
            if sample_and_form is not None:
                chain.append(scrape)
                samples.append(sample_and_form)
        if not chain or chain == [self.earlier]:
            return
        first, form = samples[0]
        if len(chain) == 1:
            self._keep(replace(first, line=chain[0].line), form)
        else:
            self._keep_differences(reads, chain, first)

    def _with_the_earlier(self) -> list[_ScrapeOfModel]:
        return [*self.scrapes] if self.earlier is None else [self.earlier, *self.scrapes]

    def _keep_differences(
        self, reads: ReadsMetrics, chain: Sequence[_ScrapeOfModel], first: Sample
    ) -> None:
        """Add a sample per pair of successive scrapes.

        Args:
            reads: the reader of the counters.
            chain: the scrapes in order.
            first: the counts before the first scrape.
        """
        form: Form | None = None
        remarks = []
        for previous, later in itertools.pairwise(chain):
            counters, reset = prometheus.difference(
                _counters_of(previous.values), _counters_of(later.values)
            )
            added = later._replace(values={**later.values, **counters})
            sample_and_form = self._read(reads, added)
            if reset:
                remarks.append(
                    f"the counters were reset before scrape {later.number}: the server restarted, "
                    "and the later counts are those since then"
                )
            if sample_and_form is not None:
                sample, form = sample_and_form
                self._keep(replace(sample, line=later.line), form)
        if form is None:
            return
        if self.earlier is None:
            remarks.insert(0, _before_the_first(first, len(chain)))
        self.collected.group(form, self.model).remarks += remarks


def _before_the_first(sample: Sample, scrapes: int) -> str:
    """Return a remark on the counts of a server before the first scrape."""
    return (
        f"{scrapes} scrapes of one server: counted is what was added between them; before "
        f"the first one {sample.drafted or 0:,.0f} draft tokens{accepted_text(sample.rate)}"
    )


def _counters_of(values: Values) -> dict[Key, float]:
    return {key: value for key, value in values.items() if _COUNTER_NAME.search(key[0])}
