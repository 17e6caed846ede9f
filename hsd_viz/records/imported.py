"""The result of an import: the traces of records, and what was read, skipped and refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from hsd_viz.records.read import read
from hsd_viz.records.reading import Reading
from hsd_viz.records.series import Series
from hsd_viz.records.traces import series_lines, trace_of_series, traces_of
from hsd_viz.results.result import Result
from hsd_viz.results.table import NumberFormat, Table, Value
from hsd_viz.trace import Trace

_HEAD = ["records of", "model", "records", "tokens per forward pass", "acceptance rate", "tokens/s"]
_FORMATS: dict[str, NumberFormat] = {
    "tokens per forward pass": ("{:.2f}", 1.0),
    "acceptance rate": ("{:.1%}", 1.0),
    "tokens/s": ("{:.1f}", 1.0),
}


class ImportResult(Result, Sequence[Trace]):
    """A sequence of the traces of a record: one per request, or one per series.

    Attributes:
        reading: the contents of the file.
    """

    title = "Imported records"
    noun = "import"

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._traces: list[Trace] | None = None

    @property
    def traces(self) -> list[Trace]:
        """The traces."""
        if self._traces is None:
            self._traces = []
            for series in self.reading.series:
                self._traces += traces_of(series)
        return self._traces

    @overload
    def __getitem__(self, place: int) -> Trace: ...

    @overload
    def __getitem__(self, place: slice) -> list[Trace]: ...

    def __getitem__(self, place: int | slice) -> Trace | list[Trace]:
        return self.traces[place]

    def __len__(self) -> int:
        return len(self.traces)

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    def lines(self) -> list[str]:
        """Return lines on each series with its figures, and on what was read, skipped and
        refused.
        """
        lines = []
        for series in self.reading.series:
            lines += series_lines(series)
        return [*lines, *self.reading.notes()]

    def tables(self) -> list[Table]:
        """Return the figures by series."""
        rows: list[list[Value]] = [list(_HEAD)]
        for series in self.reading.series:
            rows.append(_row(series))
        return [Table("Series", rows, formats=_FORMATS)]

    def parts(self) -> list[str | Table]:
        """Return only the lines, which have all figures of the table."""
        return list(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as JSON data."""
        return self.reading.to_dict()


def _row(series: Series) -> list[Value]:
    figures = trace_of_series(series).metrics()
    whole = series.pooled()
    length = figures["mean_acceptance_length"]
    rate = figures["acceptance_rate"]
    speed = figures["tokens_per_second"]
    return [
        f"{series.engine}: {series.form}",
        series.model or "-",
        len(series.samples),
        whole.tokens_per_verification if length is None else length,
        whole.engine_rate if rate is None else rate,
        whole.speed if speed is None else speed,
    ]


def import_records(
    path: str | Path, engine: str | None = None, since: str | Path | None = None
) -> ImportResult:
    """Return the traces of a record of another engine: one per request, or one per series.

    Args:
        path: responses, a log, a stream, a summary or a copy of ``/metrics``.
        engine: only records of this engine.
        since: an earlier copy of ``/metrics``: counters are counted from it.

    Raises:
        UserError: for an unknown engine, or a file without a usable record.
    """
    return ImportResult(read(path, engine, since))
