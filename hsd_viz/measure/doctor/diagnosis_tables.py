"""The tables of a diagnosis. Functions return ``None`` if a table has no values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hsd_viz.measure.doctor.loss import name_of
from hsd_viz.measure.doctor.observation import Observation, Served
from hsd_viz.measure.doctor.profile import cells_of
from hsd_viz.measure.doctor.what_if import BatchGain, Lengths, Option
from hsd_viz.records.changes import Change
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.table import MAX_POSITIONS, Table, as_text, rates_as_text
from hsd_viz.text import counted

#: Maximum number of rows of the table of settings.
MAX_OPTIONS = 6
#: Number of positions in the table by category.
CELL_POSITIONS = 4


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
