"""The diagnosis of a drafter: the result of :func:`hsd_viz.doctor`, with its texts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hsd_viz.measure.doctor.advice import Recommendation, recommend
from hsd_viz.measure.doctor.observation import TIMES, Observation, Served
from hsd_viz.measure.doctor.profile import cells_of
from hsd_viz.measure.doctor.signs import Finding
from hsd_viz.measure.doctor.what_if import BatchGain, Lengths, Option
from hsd_viz.records.changes import Change
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.results.result import Result
from hsd_viz.results.table import MAX_POSITIONS, Table, as_text, rates_as_text
from hsd_viz.text import counted

#: Names of causes beside their share, if different from their usual name.
NAMES = {"acceptance": "rejected drafts"}
#: Maximum number of rows of the table of settings.
MAX_OPTIONS = 6
#: Number of positions in the table by category.
CELL_POSITIONS = 4


def name_of(cause: str) -> str:
    """Return the name of a cause beside its share of the loss."""
    return NAMES.get(cause, cause)


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
        return is_decided(self.speedup)

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
        data["not_observed"] = seen.unknown_times()
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


def is_decided(speedup: Estimate) -> bool:
    """Return whether the interval of a speed-up excludes 1."""
    low, high = speedup.ends or (1.0, 1.0)
    return not low <= 1 <= high


def _length_data(length: Lengths) -> dict[str, Any]:
    return {"tokens": length.tokens, **length.tokens_per_pass.named("tokens_per_pass")}


def _batch_data(batch: BatchGain) -> dict[str, Any]:
    return {
        "requests": batch.requests,
        "lines": batch.lines,
        **batch.tokens_per_second.named("tokens_per_second"),
        **batch.speedup.named("speedup"),
    }


# --- tables; ``None`` if a table has no values ----------------------------------------------------


def shares_table(
    seen: Observation, shares: Mapping[str, float], length: Estimate, speedup: Estimate
) -> Table:
    """Return the share of each cause in the loss against the ideal speed-up."""
    steps_by_cause = seen.parts()
    rows = [["cause", "share of the loss", "extra time in plain decoding steps", "ms per round"]]
    for cause, share in shares.items():
        steps = steps_by_cause.get(cause)
        ms = None
        if steps is not None and seen.step is not None:
            ms = steps * seen.step
        times = (as_text(steps, "{:.2f}"), as_text(ms, "{:.2f}"))
        rows.append([name_of(cause), f"{share:.0%}", *times])
    drafted = f"{seen.drafted:.1f}" if seen.drafted_known else "not reported"
    note = (
        f"tokens per forward pass {length.as_text('{:.2f}')}, drafted {drafted}, "
        f"speed-up {speedup.as_text('{:.2f}')}"
    )
    if seen.without_draft:
        note += f", {seen.without_draft:.0%} of the forward passes without a draft"
    return Table("Where the speed-up goes", rows if shares else [], note)


def positions_table(seen: Observation) -> Table | None:
    """Return acceptance by position in the draft."""
    if seen.varied:
        rates = list(seen.rates)[:MAX_POSITIONS]
        note = (
            "of all drafts, as the engine reports it: drafts have several lengths, which are "
            "unknown, and a draft shorter than k counts as rejected at position k"
        )
    else:
        rates = seen.rates_by_position()[:MAX_POSITIONS]
        note = "of the rounds that drafted k, those that accepted k"
    if not rates:
        return None
    positions = ["position"]
    accepted = ["accepted"]
    for position, rate in enumerate(rates, start=1):
        positions.append(str(position))
        accepted.append(f"{rate:.2f}")
    return Table("Acceptance by position", [positions, accepted], note)


def course_table(changes: Sequence[Change]) -> Table | None:
    """Return the changes of figures within the record."""
    if not changes:
        return None
    rows = [["figure", "from record", "line", "before", "after"]]
    for change in changes:
        form = "{:.1%}" if change.figure == "acceptance" else "{:.1f}"
        rows.append(
            [
                change.figure,
                str(change.number),
                str(change.line),
                form.format(change.before),
                form.format(change.after),
            ]
        )
    return Table("Changes in time", rows, "the figures above are pooled over all of it")


def cells_table(requests: Sequence[Served]) -> Table | None:
    """Return acceptance by category, context and temperature of the requests."""
    cells = cells_of(requests)
    if not cells:
        return None
    head = ["category", "context", "temperature", "rounds", "tokens per pass"]
    rows = [[*head, "position 1", "2", "3", "4"]]
    for cell in cells:
        rates = cell["marginal_accept_rates"]
        context = cell["context"]
        rows.append(
            [
                cell["category"] or "-",
                f"up to {context:,}" if context else "-",
                as_text(cell["temperature"], "{:g}"),
                str(cell["rounds"]),
                f"{1 + sum(rates):.2f}",
                *rates_as_text(rates, CELL_POSITIONS),
            ]
        )
    return Table("Acceptance by category, context and temperature", rows)


def lengths_table(lengths: Sequence[Lengths], present_length: int) -> Table | None:
    """Return tokens per forward pass by draft length."""
    if len(lengths) < 2:
        return None
    rows: list[list[Any]] = [["draft tokens", "tokens per forward pass"]]
    for length in lengths:
        present = " (present)" if length.tokens == present_length else ""
        rows.append([f"{length.tokens}{present}", length.tokens_per_pass])
    return Table(
        "What if: other draft lengths",
        rows,
        "the rounds of the record cut at this length: the most that it can gain",
        formats={"tokens per forward pass": ("{:.2f}", 1.0)},
    )


def batches_table(batches: Sequence[BatchGain]) -> Table | None:
    """Return the speeds by batch: those of the record, and those of a hardware model."""
    if len(batches) < 2:
        return None
    rows: list[list[Any]] = [["requests", "tokens/s per request", "speed-up", "from"]]
    note = "the record has no other batches"
    for batch in batches:
        rows.append(
            [
                batch.requests,
                batch.tokens_per_second.as_text("{:.1f}"),
                batch.speedup.as_text("{:.2f}"),
                counted(batch.lines, "line") if batch.lines else "hardware model",
            ]
        )
        if not batch.lines:
            note = "batches of the hardware model are predicted, at the acceptance of the record"
    return Table("What if: another batch", rows, note)


def options_table(
    options: Sequence[Option], observed: Option | None, advised: Option | None
) -> Table | None:
    """Return the fastest settings, with the present and the advised one.

    Lengths of one drafter are ordered by length, as in the table of lengths; others by speed-up.
    """
    if not options:
        return None
    rows: list[list[Any]] = [["setting", "speed-up"]]
    ranked = sorted(options, key=lambda option: -option.speedup)
    shown = []
    for place, option in enumerate(ranked):
        if place < MAX_OPTIONS or option in (observed, advised):
            shown.append(option)
    drafting = [option for option in shown if option.tokens]
    if len({option.method for option in drafting}) == 1:
        shown.sort(key=lambda option: option.tokens)
    for option in shown:
        present = " (present)" if option == observed else ""
        rows.append([f"{option.stack}{present}", option.speedup])
    return Table(
        "Settings compared",
        rows,
        "the present one as observed, the others by its times and rounds",
        formats={"speed-up": ("{:.2f}", 1.0)},
    )
