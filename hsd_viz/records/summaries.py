"""Printed summaries of benchmarks of serving engines: a title, rows of names and values, an end."""

from __future__ import annotations

import re

from hsd_viz.errors import UserError
from hsd_viz.records.collected import Collected
from hsd_viz.records.engines.registry import SUMMARIES
from hsd_viz.records.forms import Form
from hsd_viz.records.sample import Sample

_HEAD = re.compile(r"={3,} *Serving Benchmark Result")
_ROW = re.compile(r"^\s*([A-Z][\w ()%/.-]*?):\s+(-?[\d.,]+|inf|nan)\s*$")


class Summaries:
    """The printed summaries of a file, each of which is kept at its end."""

    def __init__(self, collected: Collected) -> None:
        self._collected = collected
        #: The rows of the summary whose end is not reached yet.
        self._rows: dict[str, str] | None = None

    def take(self, text: str) -> bool:
        """Return whether a line belongs to a summary, and store its row."""
        if _HEAD.search(text):
            self.end()
            self._rows = {}
            return True
        if self._rows is None:
            return False
        row = _ROW.match(text)
        if row is not None:
            self._rows[row[1].strip()] = row[2]
            return True
        if text.strip().startswith("====="):
            self.end()
            return True
        # A line without a value belongs to the summary around it.
        return text.strip().startswith("---") or "Per-position" in text

    def end(self) -> None:
        """Keep the sample of the summary whose rows have been taken, if there is one."""
        rows = self._rows
        self._rows = None
        if not rows:
            return
        context = self._collected.context
        try:
            summary = _sample_of(rows)
        except UserError as error:
            self._collected.refuse(context.line, error)
            return
        if summary is not None:
            sample, form = summary
            self._collected.keep(sample, form, context.model)
            self._collected.count(form)


def _sample_of(rows: dict[str, str]) -> tuple[Sample, Form] | None:
    """Return the sample of the rows of a summary; ``None`` if it has no figures of drafts.

    Raises:
        BadFile: if the figures are impossible.
    """
    for read, form in SUMMARIES:
        sample = read(rows)
        if sample is not None:
            return sample, form
    return None
