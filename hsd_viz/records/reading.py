"""The contents of a record: its series, and what was read, skipped and refused, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.names.hints import did_you_mean
from hsd_viz.records.series import Series
from hsd_viz.settings.spelling import spelled
from hsd_viz.text import counted

#: Maximum number of lines quoted in a message, and length of each in characters.
EXAMPLES = 3
QUOTED = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """The contents of a file.

    Attributes:
        name: the name of the file.
        series: the series by engine, form and model, in the order of the file.
        lines: the number of lines and JSON values read.
        by_form: the number of records, by the name of the form.
        other: the number of lines and values without figures of speculative decoding.
        superseded: the number of chunks that a later chunk of the same stream continues.
        unknown: (line, text) of lines that may be records of an unknown form.
        refused: (line, reason) of damaged or impossible records.
    """

    name: str
    series: tuple[Series, ...]
    lines: int = 0
    by_form: Mapping[str, int] = field(default_factory=dict)
    other: int = 0
    superseded: int = 0
    unknown: tuple[tuple[int, str], ...] = ()
    refused: tuple[tuple[int, str], ...] = ()

    def notes(self) -> list[str]:
        """Return lines on what was read, skipped and refused, and the remarks of each series."""
        lines = self.read_notes()
        for series in self.series:
            lines += [f"{series.name}: {remark}" for remark in series.remarks]
        return lines

    def read_notes(self) -> list[str]:
        """Return lines on what was read, skipped and refused."""
        lines = [f"read {counted(self.lines, 'line')}, {self._found()}"]
        if self.other:
            lines.append(f"skipped {self.other:,} without figures of speculative decoding")
        if self.superseded:
            chunks = counted(self.superseded, "chunk")
            lines.append(
                f"skipped {chunks} of streams: a later chunk of the request has its counts"
            )
        for number, text in self.unknown[:EXAMPLES]:
            lines.append(f"unknown form, skipped: line {number}: {text[:QUOTED]}")
        if len(self.unknown) > EXAMPLES:
            lines.append(f"unknown forms: {len(self.unknown)} lines in all")
        for number, why in self.refused[:EXAMPLES]:
            lines.append(f"refused: line {number}: {why}")
        if len(self.refused) > EXAMPLES:
            lines.append(f"refused: {len(self.refused)} records in all")
        return lines

    def _found(self) -> str:
        """Describe the number of records and their forms."""
        if not self.by_form:
            return "none with figures of speculative decoding"
        forms = list(self.by_form)
        if len(forms) > 1:
            forms = [f"{count:,} × {form}" for form, count in self.by_form.items()]
        return f"{sum(self.by_form.values()):,} with figures ({'; '.join(forms)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as JSON data."""
        return {
            "name": self.name,
            "series": [series.to_dict() for series in self.series],
            "lines": self.lines,
            "by_form": dict(self.by_form),
            "other": self.other,
            "superseded": self.superseded,
            "unknown": list(map(list, self.unknown)),
            "refused": list(map(list, self.refused)),
        }

    def one(self, model: str | None = None) -> Series:
        """Return the series of a model; without a name, the only series.

        Lines of an older form of the same engine and model are left out, with a remark.

        Raises:
            UserError: if there are several models or engines, or no model of this name.
        """
        chosen = self.series if model is None else self._of_model(model)
        engines = sorted({series.engine for series in chosen})
        if len(engines) > 1:
            raise UserError(
                f"the records are of several engines ({', '.join(engines)}): choose one of them "
                f"with {spelled('engine')}"
            )
        names = _models(chosen)
        if len(names) > 1:
            rates = [f"{name or '(not named)'} ({_rate_of(chosen, name)})" for name in names]
            raise UserError(
                f"{self.name} has records of {len(names)} models: {', '.join(rates)}: "
                f"choose one with {spelled('model')}"
            )
        return _richest(chosen)

    def _of_model(self, model: str) -> list[Series]:
        chosen = [series for series in self.series if series.model == model]
        if not chosen:
            models = _models(self.series)
            known = ", ".join(name or "(not named)" for name in models)
            hint = did_you_mean(model, models)
            raise UserError(f"{self.name} has no model '{model}': it has {known}{hint}")
        return chosen


def _models(series: Sequence[Series]) -> list[str]:
    """Return the names of the models, each once, in order."""
    return list(dict.fromkeys(part.model for part in series))


def _rate_of(series: Sequence[Series], model: str) -> str:
    """Format the acceptance of a model."""
    for part in series:
        whole = part.pooled()
        if part.model == model and whole.rate is not None:
            return f"{whole.rate:.1%} accepted"
    return "acceptance not reported"


def _richest(series: Sequence[Series]) -> Series:
    """Return the series with most samples that report positions; add remarks on the others."""
    if len(series) == 1:
        return series[0]
    best = max(series, key=_worth)
    remarks = list(best.remarks)
    for other in series:
        if other is not best:
            records = counted(len(other.samples), "record")
            accepted = accepted_text(other.pooled().rate)
            remarks.append(f"{records} of the form '{other.form}' left out{accepted}")
    return replace(best, remarks=tuple(remarks))


def _worth(series: Series) -> tuple[bool, int]:
    """Return the sort key of a series: whether it reports positions, then its number of samples."""
    positions = any(sample.by_position is not None for sample in series.samples)
    return positions, len(series.samples)


def accepted_text(rate: float | None) -> str:
    """Format an acceptance rate as the end of a remark; "" if it is not reported."""
    return "" if rate is None else f", {rate:.1%} accepted"
