"""The report of a bench as JSON data, and its reading.

A *block* has the figures of some prompts: ``outputs`` (their number), and of each of
:data:`FIGURES` the value and ``..._ci: [low, high]``; null where it is not defined. A stack is a
block of all prompts, with ``low_repetition`` (the block of those whose *plain* output repeats
itself little, or null), and the same in ``by_category``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from hsd_viz.errors import MALFORMED, UserError
from hsd_viz.machine import MachineFacts
from hsd_viz.measure.bench.hierarchy_gain import HierarchyGain
from hsd_viz.options import Sampling
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.results.kinds import kind_of

if TYPE_CHECKING:
    import pandas as pd

#: Outputs with a smaller share are also reported apart: see
#: :func:`hsd_viz.trace.metrics.repetition_share`.
LOW_REPETITION = 0.2
#: Timings of an idle machine differ by a few percent between repeats.
NOISE = 0.05
#: Speeds are tokens per second, times seconds, shares 0-1. The tokens of a round appear together:
#: for the time between tokens, they share the time of the round evenly. Old reports do not have the
#: last three.
FIGURES = (
    "tokens_per_second",
    "tokens_per_second_with_prefill",
    "mean_acceptance_length",
    "draft_seconds_per_round",
    "draft_seconds_p99",
    "speedup_over_plain",
    "acceptance_rate",
    "repetition_share",
    "first_token_seconds",
    "inter_token_seconds_median",
    "inter_token_seconds_p99",
)
#: The columns of :meth:`Report.frame`.
COLUMNS = (
    "stack",
    "kind",
    "category",
    "looping",
    "outputs",
    "possible",
    "metric",
    "value",
    "low",
    "high",
)
Block = Mapping[str, Any]


def figure(block: Block, name: str) -> Estimate:
    """Return a figure of a block with its interval."""
    low, high = block.get(f"{name}_ci") or (None, None)
    return Estimate(block.get(name), low, high, block["outputs"])


def possible(block: Block) -> bool:
    """Return whether the speed-up of a block over plain decoding is not :func:`impossible`."""
    return not impossible(block["speedup_over_plain"], block["mean_acceptance_length"])


def speedup(block: Block) -> Estimate:
    """Return the speed-up of a block over plain decoding; unknown where it is not possible."""
    return figure(block, "speedup_over_plain") if possible(block) else UNKNOWN


def impossible(speedup: float | None, length: float | None) -> bool:
    """Return whether a speed-up exceeds the acceptance length, which bounds it, by more than timing
    noise.
    """
    return speedup is not None and length is not None and speedup > length * (1 + NOISE)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of the rounds in a report that is read.

    Attributes:
        median_us: its median in a round, in microseconds.
        share: its share of the time of all rounds, 0-1.
    """

    median_us: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Profile:
    """The profile of a stack in a report that is read.

    Attributes:
        round_us: the median of a round, in microseconds.
        parts: its parts by name.
    """

    round_us: float
    parts: dict[str, _Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """The figures of a block in a report that is read which its tables show without an interval.

    Attributes:
        outputs: outputs of the block.
        speedup_over_plain: a figure of :data:`FIGURES`, as all that follow.
        mean_acceptance_length: None where it is not defined, as the others.
        acceptance_rate: 0-1.
        draft_seconds_per_round: in seconds.
        repetition_share: 0-1.
        low_repetition: the block of the outputs with little repetition.
    """

    outputs: int
    speedup_over_plain: float | None
    mean_acceptance_length: float | None
    acceptance_rate: float | None
    draft_seconds_per_round: float | None
    repetition_share: float | None
    low_repetition: _Block | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stack(_Block):
    """A stack in a report that is read; old reports lack what has a default.

    Attributes:
        stack: the stack as text.
        by_category: its blocks by the category of the prompts.
        token_identical_to_plain: outputs that equal the plain ones, and all outputs.
        state: ``cold`` or ``warm`` for drafters that learn.
        runtime: what ran the models.
        profile: the parts of its rounds.
    """

    stack: str
    by_category: dict[str, _Block]
    token_identical_to_plain: tuple[int, int] | None = None
    state: str | None = None
    runtime: str | None = None
    profile: _Profile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A bench.

    A stack has, beside its blocks, ``token_identical_to_plain`` ([equal outputs, outputs], null
    above temperature 0), ``state`` (``cold`` or ``warm`` for drafters that learn), ``runtime``
    (what ran the models) and ``profile`` (the parts of its rounds).

    Attributes:
        machine: where it ran.
        suite: the prompts.
        settings: of all stacks.
        command: its command line.
        complete: whether it was not interrupted.
        stacks: the stacks as JSON data.
        hierarchy_gain: what several levels of drafts bring over one; None where not both were
            measured, and in old reports.
    """

    machine: MachineFacts
    suite: SuiteInfo
    settings: ReportSettings
    command: str | None = None
    complete: bool = True
    stacks: tuple[dict[str, Any], ...]
    hierarchy_gain: HierarchyGain | None = None

    def __post_init__(self) -> None:
        if not self.stacks:
            raise TypeError("there is no stack")
        for stack in self.stacks:
            checked = msgspec.convert(stack, _Stack)
            if not checked.by_category.keys() >= self.suite.categories.keys():
                raise TypeError("a stack lacks a category")
        gain = self.hierarchy_gain
        if gain is not None and gain.by_category.keys() != self.suite.categories.keys():
            raise TypeError("the gain of a hierarchy is not of the suite's categories")
        for *_, one in self.rows():
            msgspec.convert((one.value, *(one.ends or ())), tuple[float | None, ...])

    def rows(self) -> Iterator[tuple[str, str, str, bool, int, bool, str, Estimate]]:
        """Yield (stack, kind, category, looping, outputs, possible, metric, figure), see
        :meth:`frame`.
        """
        for stack in self.stacks:
            name = stack["stack"]
            for category, whole in {"": stack, **stack["by_category"]}.items():
                for looping, block in ((True, whole), (False, whole["low_repetition"])):
                    for metric in FIGURES if block is not None else ():
                        about = (looping, block["outputs"], possible(block), metric)
                        yield name, kind_of(name).value, category, *about, figure(block, metric)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return asdict(self)

    @property
    def ranked(self) -> list[dict[str, Any]]:
        """The stacks by speed-up, the largest first; those without one last."""
        return sorted(self.stacks, key=lambda stack: -(stack["speedup_over_plain"] or 0.0))

    @property
    def processor(self) -> str | None:
        """The device that ran the models, by name."""
        return self.machine.gpu if self.settings.device.startswith("cuda") else self.machine.cpu

    def frame(self) -> pd.DataFrame:
        """Return a tidy frame of the figures: ``stack, kind, category`` ("" for all prompts),
        ``looping`` (False: only prompts whose plain output repeats itself little), ``outputs,
        possible, metric, value, low, high``. ``possible`` is False where the speed-up is
        :func:`impossible`; the interval of too few prompts is NaN.
        """
        import pandas as pd

        rows = []
        for *about, one in self.rows():
            low, high = one.interval or (None, None)
            rows.append([*about, one.value, low, high])
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame.astype({"value": float, "low": float, "high": float})


def read_report(content: str | bytes, name: str) -> Report:
    """Read a report from JSON.

    Raises:
        UserError: if the file ``name`` does not hold a report.
    """
    try:
        return msgspec.convert(
            json.loads(content if isinstance(content, str) else content.decode()), Report
        )
    except MALFORMED:
        raise UserError(f"{name} is not a report of hsd-viz bench --json") from None
