"""The report of a bench, its JSON data, and its reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from hsd_viz.decoding.options import Sampling
from hsd_viz.disk import object_at, parse_json
from hsd_viz.errors import UserError
from hsd_viz.machine import MachineFacts
from hsd_viz.measure.bench.block import FIGURES, Figures, PromptFigures, StackFigures, stack_data
from hsd_viz.measure.bench.hierarchy_gain import HierarchyGain, gain_data
from hsd_viz.results.kinds import kind_of

if TYPE_CHECKING:
    import pandas as pd

#: Outputs with a smaller share are also reported apart: see
#: :func:`hsd_viz.trace.metrics.repetition_share`.
LOW_REPETITION = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInfo:
    """The suite of a report.

    Attributes:
        name: its name.
        prompts: the number of its prompts.
        categories: their descriptions.
    """

    name: str
    prompts: int
    categories: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings(Sampling):
    """The settings of all stacks of a report, beside their sampling; ``None`` where one does not
    apply or an old report does not hold it.

    Attributes:
        max_new_tokens: the most tokens of an output.
        rule: the verification rule; old reports do not name it.
        repeats: runs of each prompt and stack.
        state: of drafters that learn.
        budget: the most draft tokens of a drafter at a time.
        target: what ``target`` means.
        databases: the folder of the databases, where it is not the family's.
        device: where models ran.
        dtype: the type of their weights.
        threads: of forward passes.
        interleaved: whether stacks took turns.
        bootstrap_resamples: behind the intervals.
        low_repetition_below: the share of repetition below which an output counts as one of little.
        template: how questions became prompts.
        left_out: questions that did not fit, and why.
    """

    max_new_tokens: int
    #: Old reports do not name their rule.
    rule: str = "token"
    repeats: int
    state: str | None = None
    budget: int | None = None
    target: str | None = None
    databases: str | None = None
    device: str
    dtype: str
    threads: int
    interleaved: bool = True
    bootstrap_resamples: int | None = None
    low_repetition_below: float = LOW_REPETITION
    template: str | None = None
    left_out: dict[str, str] | None = None

    def __post_init__(self) -> None:
        # A report may be of a rule that is not installed where it is read.
        pass


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of :meth:`BenchReport.frame`: a figure of some prompts of a stack.

    Attributes:
        stack: the stack as text.
        kind: its kind.
        category: of the prompts; "" for all of them.
        looping: False: only prompts whose plain output repeats itself little.
        outputs: the number of the prompts.
        possible: False where their speed-up is impossible.
        metric: the name of the figure.
        value: the figure; None where it is not defined.
        low: the lower end of its interval; None for too few prompts.
        high: the upper end.
    """

    stack: str
    kind: str
    category: str
    looping: bool
    outputs: int
    possible: bool
    metric: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """A bench.

    Attributes:
        machine: where it ran.
        suite: the prompts.
        settings: of all stacks.
        command: its command line.
        complete: whether it was not interrupted.
        stacks: the stacks.
        hierarchy_gain: what several levels of drafts bring over one; None where not both were
            measured, and in old reports.
    """

    machine: MachineFacts
    suite: SuiteInfo
    settings: ReportSettings
    command: str | None = None
    complete: bool = True
    stacks: tuple[StackFigures, ...]
    hierarchy_gain: HierarchyGain | None = None

    def __post_init__(self) -> None:
        if not self.stacks:
            raise TypeError("there is no stack")
        has_low_repetition = self.stacks[0].low_repetition is not None
        for stack in self.stacks:
            if not stack.by_category.keys() >= self.suite.categories.keys():
                raise TypeError("a stack lacks a category")
            if (stack.low_repetition is not None) is not has_low_repetition:
                raise TypeError("a stack lacks the prompts with little repetition")
        gain = self.hierarchy_gain
        if gain is not None and gain.by_category.keys() != self.suite.categories.keys():
            raise TypeError("the gain of a hierarchy is not of the suite's categories")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        gain = self.hierarchy_gain
        return {
            "machine": asdict(self.machine),
            "suite": asdict(self.suite),
            "settings": asdict(self.settings),
            "command": self.command,
            "complete": self.complete,
            "stacks": [stack.to_dict() for stack in self.stacks],
            "hierarchy_gain": None if gain is None else gain.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BenchReport:
        """Return a report from its JSON data; see :func:`read_report`.

        Raises:
            UserError: if they are not those of a report.
        """
        stacks = data.get("stacks")
        if not isinstance(stacks, list):
            raise UserError("'stacks' is missing or not a list")
        gain = None
        if data.get("hierarchy_gain") is not None:
            gain = gain_data(object_at(data, "hierarchy_gain"))
        by_field = {**data, "stacks": list(map(stack_data, stacks)), "hierarchy_gain": gain}
        try:
            return msgspec.convert(by_field, cls)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise UserError(f"a field is not valid: {error}") from None

    @property
    def ranked(self) -> list[StackFigures]:
        """The stacks by speed-up, the largest first; those without one last."""
        return sorted(self.stacks, key=lambda stack: -(stack.whole.speedup_over_plain.value or 0.0))

    @property
    def processor(self) -> str | None:
        """The device that ran the models, by name."""
        return self.machine.gpu if self.settings.device.startswith("cuda") else self.machine.cpu

    def frame(self) -> pd.DataFrame:
        """Return a tidy frame of the figures: a row per :class:`FigureRow`."""
        import pandas as pd

        columns = [field.name for field in fields(FigureRow)]
        frame = pd.DataFrame(list(self.rows()), columns=columns)
        return frame.astype({"value": float, "low": float, "high": float})

    def rows(self) -> Iterator[FigureRow]:
        """Yield the figures of each stack: of all prompts, and by category."""
        for stack in self.stacks:
            yield from _rows_of(stack.stack, "", stack)
            for category, block in stack.by_category.items():
                yield from _rows_of(stack.stack, category, block)


def _rows_of(stack: str, category: str, block: PromptFigures) -> Iterator[FigureRow]:
    """Yield the figures of a block: of all its prompts, and of those with little repetition."""
    yield from _rows_of_figures(stack, category, True, block.whole)
    if block.low_repetition is not None:
        yield from _rows_of_figures(stack, category, False, block.low_repetition)


def _rows_of_figures(
    stack: str, category: str, looping: bool, figures: Figures
) -> Iterator[FigureRow]:
    for metric in FIGURES:
        figure = figures.figure(metric)
        low, high = figure.interval or (None, None)
        yield FigureRow(
            stack=stack,
            kind=kind_of(stack).value,
            category=category,
            looping=looping,
            outputs=figures.outputs,
            possible=figures.is_possible,
            metric=metric,
            value=figure.value,
            low=low,
            high=high,
        )


def read_report(content: str | bytes, name: str) -> BenchReport:
    """Read a report from JSON.

    Raises:
        UserError: if the file ``name`` does not hold a report.
    """
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    try:
        data = parse_json(text, name)
        if not isinstance(data, dict):
            raise UserError("it is not a JSON object")
        return BenchReport.from_dict(data)
    except UserError:
        raise UserError(f"{name} is not a report of hsd-viz bench --json") from None
