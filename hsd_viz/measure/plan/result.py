"""The result of a plan: the report as lines and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.measure.plan.report import Compared, PlannedStack, PlanReport
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.page import lines
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table, Value

#: Number of predicted rows that are shown even if they were not measured.
SHOWN = 12


class PlanResult(Result):
    """The ranking of stacks on this machine, with its measurements.

    Attributes:
        plan: the report of the plan.
        machine: the facts of the machine.
        command: the command line.
    """

    title = "The fastest stack on this machine"
    noun = "plan"

    def __init__(
        self, plan: PlanReport, machine: Mapping[str, Any], command: str | None = None
    ) -> None:
        self.plan = plan
        self.machine = dict(machine)
        self.command = command
        self.complete = plan.complete

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PlanResult:
        """Return a result from the JSON data of :meth:`to_dict`.

        Raises:
            UserError: if it is not a plan.
        """
        return cls(PlanReport.from_dict(data), data.get("machine") or {}, data.get("command"))

    @property
    def picked(self) -> str:
        """The stack that the latency law selects."""
        return self.plan.picked

    def lines(self) -> list[str]:
        """Return the facts of the calibration."""
        return lines("calibration.jinja", about=self.plan.calibration)

    def tables(self) -> list[Table]:
        """Return the table of stacks, fastest first, with predicted and measured values."""
        return [_stacks_table(self.plan)]

    def parts(self) -> list[str | Table]:
        """Return the calibration, the table of stacks, and the selected stack."""
        return [*self.lines(), *self.tables(), "", *lines("plan.jinja", data=self.plan)]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON data."""
        return {"machine": self.machine, **self.plan.to_dict(), "command": self.command}


def _stacks_table(plan: PlanReport) -> Table:
    """Return the first stacks and those that were measured."""
    head = ["stack", "ms/token", "error", "acceptance length"]
    head += [f"{name} forwards/token" for name in plan.models]
    rows: list[list[Value]] = [list(head)]
    for place, stack in enumerate(plan.hierarchies):
        if place < SHOWN or stack.error is not None:
            rows.append(_cells(stack, plan.models))
    note = "predicted"
    if plan.measured_on is not None:
        note = f"predicted / measured on {plan.measured_on}"
    return Table("Stacks", rows, note, formats={"error": ("{:+.1%}", 1.0)})


def _cells(stack: PlannedStack, models: tuple[str, ...]) -> list[Value]:
    """Return the row of a stack."""
    cells: list[Value] = [
        stack.stack,
        _pair(stack.predicted_ms_per_token, stack.measured_ms_per_token, "{:.3f}"),
        "" if stack.error is None else stack.error,
        _compared(stack.acceptance_length, "{:.2f}"),
    ]
    for model in models:
        cells.append(_compared(stack.forwards_per_token.get(model), "{:.3f}"))
    return cells


def _compared(figure: Compared | None, form: str) -> str:
    """Format a predicted and a measured figure; "" without a figure."""
    if figure is None:
        return ""
    return _pair(figure.predicted, Estimate(figure.measured), form)


def _pair(predicted: float, measured: Estimate, form: str) -> str:
    """Format ``predicted / measured``, without the second if it was not measured."""
    text = form.format(predicted)
    if measured.value is not None:
        text += f" / {measured.as_text(form)}"
    return text
