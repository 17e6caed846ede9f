"""The report of a bench, with its conversion from and to JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.disk import object_at, parse_json
from hsd_viz.errors import UserError
from hsd_viz.machine import MachineFacts
from hsd_viz.measure.bench.block import FIGURES, Figures, PromptFigures, StackFigures, stack_data
from hsd_viz.measure.bench.hierarchy_gain import HierarchyGain, gain_data
from hsd_viz.models.families import FAMILIES, family_in
from hsd_viz.results.kinds import kind_of
from hsd_viz.stack import TARGET

if TYPE_CHECKING:
    import pandas as pd

#: Share of repetition (:func:`hsd_viz.trace.metrics.repetition_share`) below which outputs are
#: also reported separately.
LOW_REPETITION = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInfo:
    """The suite of a report.

    Attributes:
        name: the name of the suite.
        prompts: the number of prompts.
        categories: the descriptions of the categories, by name.
    """

    name: str
    prompts: int
    categories: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    """The settings of all stacks of a report. ``None``: a setting does not apply, or is missing in
    an old report. The values are as they were recorded: a rule may not be installed where the
    report is read.

    Attributes:
        temperature: the sampling temperature; 0 is greedy decoding.
        top_k: the number of likeliest tokens to sample from; 0: all.
        top_p: the total probability of the likeliest tokens to sample from.
        min_p: the minimum probability of a token relative to that of the likeliest one.
        seed: the seed of the random numbers.
        rule: the verification rule; missing in old reports.
        max_new_tokens: the maximum number of tokens of an output.
        repeats: the number of runs of each prompt and stack.
        state: the initial state of drafters that learn.
        budget: the maximum number of draft tokens per proposal of a drafter.
        family: the family whose models have short names; missing in old reports.
        target: the model that ``target`` denotes.
        databases: the folder of the databases if it is not that of the family.
        device: the device of the models.
        dtype: the number type of the weights.
        threads: the number of threads of forward passes.
        interleaved: whether stacks took turns.
        bootstrap_resamples: the number of resamples behind the intervals.
        low_repetition_below: the share of repetition below which an output counts as one with
            little repetition.
        template: the template that converts questions to prompts.
        left_out: the questions that did not fit the context, with the reason.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    rule: str = "token"
    max_new_tokens: int
    repeats: int
    state: str | None = None
    budget: int | None = None
    family: str | None = None
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


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of :meth:`BenchReport.frame`: a figure of a stack over some prompts.

    Attributes:
        stack: the stack as text.
        kind: the kind of the stack.
        category: the category of the prompts; "": all prompts.
        looping: whether prompts whose plain output has much repetition are included.
        outputs: the number of prompts.
        possible: whether the speed-up over these prompts is possible.
        metric: the name of the figure.
        value: the value; ``None``: undefined.
        low: the lower end of the interval; ``None``: too few prompts.
        high: the upper end of the interval; ``None``: too few prompts.
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
    """The report of a bench.

    Attributes:
        machine: the facts of the machine.
        suite: the suite of prompts.
        settings: the settings of all stacks.
        command: the command line.
        complete: whether the bench finished without interruption.
        stacks: the figures of the stacks.
        hierarchy_gain: the gain of several draft levels over one; ``None`` unless both were
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
        """Return a report from its JSON data (:func:`read_report` reads a file).

        Raises:
            UserError: if the data is not that of a report.
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
        except OF_ANOTHER_TYPE as error:
            raise UserError(f"a field is not valid: {error}") from None

    @property
    def ranked(self) -> list[StackFigures]:
        """The stacks by speed-up, largest first; those without a speed-up are last."""
        return sorted(self.stacks, key=lambda stack: -(stack.whole.speedup_over_plain.value or 0.0))

    @property
    def model(self) -> str:
        """The name of the target model on pages."""
        settings = self.settings
        if settings.target not in (None, TARGET):
            return str(settings.target)
        # Old reports name the family in their command line only.
        name = settings.family or family_in(self.command or "")
        family = FAMILIES.get(name)
        return name if family is None else family.target_title

    @property
    def processor(self) -> str | None:
        """The name of the device that ran the models."""
        return self.machine.gpu if self.settings.device.startswith("cuda") else self.machine.cpu

    def frame(self) -> pd.DataFrame:
        """Return a tidy data frame of the figures, with a row per :class:`FigureRow`."""
        import pandas as pd

        columns = [field.name for field in fields(FigureRow)]
        frame = pd.DataFrame(list(self.rows()), columns=columns)
        return frame.astype({"value": float, "low": float, "high": float})

    def rows(self) -> Iterator[FigureRow]:
        """Yield the figures of each stack, over all prompts and by category."""
        for stack in self.stacks:
            yield from _rows_of(stack.stack, "", stack)
            for category, block in stack.by_category.items():
                yield from _rows_of(stack.stack, category, block)


def _rows_of(stack: str, category: str, block: PromptFigures) -> Iterator[FigureRow]:
    """Yield the figures of a block, over all its prompts and over those with little repetition."""
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
        UserError: if the file ``name`` does not contain a report.
    """
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    try:
        data = parse_json(text, name)
        if not isinstance(data, dict):
            raise UserError("it is not a JSON object")
        return BenchReport.from_dict(data)
    except UserError:
        raise UserError(f"{name} is not a report of hsd-viz bench --json") from None
