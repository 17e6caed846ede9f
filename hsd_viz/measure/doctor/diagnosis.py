"""The diagnosis of a drafter: the result of :func:`hsd_viz.doctor`, and its texts."""

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
    """The diagnosis of an observation.

    Attributes:
        observation: the observation, with predicted times in place of missing ones if available.
        length: the tokens per forward pass.
        findings: the findings of signs of misconfiguration.
        verdict: the verdict, without a full stop.
        advice: the advice about the cause.
        cause: the cause that limits the speed-up most.
        shares: the share of each cause in the loss; they sum to 1.
        speedup: the speed-up with its 95 % interval.
        note: a remark if the times contradict the bound of the speed-up; else "".
        at_most: the bound of a speed-up that was not observed.
        observed: the setting of the run.
        advised: the setting to use.
        options: the compared settings.
        lengths: the tokens per forward pass by draft length.
        batches: the speeds by batch size, of the record and of a hardware model.
        flags: the settings to paste, by engine.
        predicted: the names of the times taken from a hardware model.
        more: what would decide the verdict.
        changes: the changes of figures within the record.
        remarks: remarks on what was read, skipped and refused.
        model: the served model; "": not named.
        engine: the engine of the record; "": none.
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
        """Whether the interval of the speed-up excludes 1."""
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
        """Return the tables: shares, acceptance by position, changes in time, compared settings."""
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
        """Return the recommendation: the setting to use, and its conditions."""
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
        """Return the verdict and its consequences, as lines."""
        return [self.headline(), self.to_do_line(), *self.caveats(), *self.record_lines()]

    def to_do_line(self) -> str:
        """Return the recommendation as a line."""
        return f"What to do: {self.recommendation().words()}."

    def caveats(self) -> list[str]:
        """Return restrictions of the verdict, changes in time, and the findings, as lines."""
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
        """Return remarks on what was read, skipped and refused, as lines."""
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
