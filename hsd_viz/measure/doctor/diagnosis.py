"""The diagnosis of a drafter: the result of :func:`hsd_viz.doctor`, and its words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from hsd_viz.measure.doctor.diagnosis_tables import (
    batches_table,
    cells_table,
    course_table,
    lengths_table,
    options_table,
    positions_table,
    shares_table,
)
from hsd_viz.measure.doctor.observation import TIMES, Observation
from hsd_viz.measure.doctor.recommendation import Recommendation, recommend
from hsd_viz.measure.doctor.signs import Finding
from hsd_viz.measure.doctor.what_if import BatchGain, Lengths, Option
from hsd_viz.records.changes import Change
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table


@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """The verdict on an observation.

    Attributes:
        observation: what was observed, with predicted times where there are.
        length: tokens per forward pass.
        findings: signs of misconfiguration.
        verdict: the verdict, without a full stop.
        advice: what to do about the cause.
        cause: what limits the speed-up most.
        shares: the share of each cause in what is lost; they sum to 1.
        speedup: with its 95 % interval.
        note: what the bound says of the times, "" where it holds.
        at_most: the bound of a speed-up that was not observed.
        observed: the run's own setting.
        advised: the setting to use.
        options: the settings compared.
        lengths: tokens per forward pass by draft length.
        batches: speeds by batch: those of the record, and those of a hardware model.
        flags: the settings of engines.
        predicted: the times of a hardware model.
        more: what would decide the verdict.
        changes: where figures changed in the middle of the record.
        remarks: what was read, skipped and refused.
        model: the served model, "" where it is not named.
        engine: the engine of the record, "" where there is none.
    """

    observation: Observation
    length: Estimate
    findings: tuple[Finding, ...]
    verdict: str = ""
    advice: str = ""
    cause: str | None = None
    shares: dict[str, float] = field(default_factory=dict)
    speedup: Estimate = UNKNOWN
    note: str = ""
    at_most: float | None = None
    observed: Option | None = None
    advised: Option | None = None
    options: tuple[Option, ...] = ()
    lengths: tuple[Lengths, ...] = ()
    batches: tuple[BatchGain, ...] = ()
    flags: dict[str, str] = field(default_factory=dict)
    predicted: tuple[str, ...] = ()
    more: str = ""
    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    model: str = ""
    engine: str = ""

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Diagnosis of {self.observation.source}"

    def headline(self) -> str:
        """Return the verdict as a sentence."""
        return f"Verdict: {self.verdict}."

    @property
    def decided(self) -> bool:
        """Whether it is known on which side of 1 the speed-up is."""
        low, high = self.speedup.ends or (1.0, 1.0)
        return not low <= 1 <= high

    def unknown(self) -> list[str]:
        """Return the times that were not observed."""
        seen = self.observation
        missing = ["a plain decoding step"] if seen.step is None else []
        if seen.round is None:
            missing += [part for part, time in seen.parts().items() if time is None]
        return missing

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON data."""
        seen = self.observation
        data = asdict(self)
        data |= self.length.named("length")
        data |= self.speedup.named("speedup")
        del data["observation"]
        data["findings"] = [finding.to_dict() for finding in self.findings]
        data["lengths"] = [_length_data(length) for length in self.lengths]
        data["batches"] = [_batch_data(batch) for batch in self.batches]
        data["changes"] = [asdict(change) | {"words": change.words} for change in self.changes]
        data["source"] = seen.source
        data["ms"] = {name: getattr(seen, name) for name in TIMES}
        data["batch"] = seen.batch
        data["busy"] = seen.busy
        data["by_position"] = seen.by_position() if seen.rounds else None
        data["not_observed"] = self.unknown()
        data["without_draft"] = seen.without_draft
        return data

    def tables(self) -> list[Table]:
        """Return shares, acceptance by position, the course in time and the settings compared."""
        seen = self.observation
        tables = [
            shares_table(seen, self.shares, self.length, self.speedup),
            positions_table(seen),
            course_table(self.changes),
            cells_table(seen.requests),
            lengths_table(self.lengths, seen.deepest),
            batches_table(self.batches),
            options_table(self.options, self.observed, self.advised),
        ]
        return [table for table in tables if table is not None]

    def recommendation(self) -> Recommendation:
        """Return what to do: the setting to use, and its conditions."""
        return recommend(
            self.observed,
            self.advised,
            self.advice,
            signs=[finding.sign for finding in self.findings],
            cause=self.cause,
            is_decided=self.decided,
            is_doubtful=bool(self.observation.busy or self.note),
        )

    # --- words

    def lines(self) -> list[str]:
        """Return the verdict and what follows from it, as lines."""
        return [self.headline(), self.to_do_line(), *self.caveats(), *self.record_lines()]

    def to_do_line(self) -> str:
        """Return what to do as a line."""
        return f"What to do: {self.recommendation().words()}."

    def caveats(self) -> list[str]:
        """Return what restricts the verdict, what changed in time and the findings, as lines."""
        lines = []
        if self.note:
            lines.append(f"Impossible times: {self.note}; the speed-up is capped.")
        if self.more:
            lines.append(f"Undecided yet: to decide, {self.more}.")
        if self.predicted:
            names = ", ".join(self.predicted)
            lines.append(f"Predicted by the hardware model, not measured: {names}.")
        if self.observation.busy:
            lines.append(f"The machine was busy: {self.observation.busy}.")
        if not self.observation.drafted_known:
            lines.append(
                "The record does not report how many tokens were drafted: what rejected ones "
                "cost is not known."
            )
        lines += [f"Change in time: {change.words}." for change in self.changes]
        lines += [finding.words for finding in self.findings]
        return lines

    def record_lines(self) -> list[str]:
        """Return what was read, skipped and refused, as lines."""
        return [f"Record: {remark}." for remark in self.remarks]


def _length_data(length: Lengths) -> dict[str, Any]:
    return {"tokens": length.tokens, **length.tokens_per_pass.named("tokens_per_pass")}


def _batch_data(batch: BatchGain) -> dict[str, Any]:
    return {
        "requests": batch.requests,
        "lines": batch.lines,
        **batch.tokens_per_second.named("tokens_per_second"),
        **batch.speedup.named("speedup"),
    }
