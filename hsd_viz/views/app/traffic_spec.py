"""Types of the traits of the views of the visitor's traffic. :mod:`tools.reference` writes
``js/traffic/spec.ts`` from these classes, each under its name without ``Spec``.
"""

from __future__ import annotations

from dataclasses import dataclass

from hsd_viz.measure.replay.figures import Pays


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpec:
    """A value with its 95 % interval.

    Attributes:
        value: the value.
        low: the lower end of the interval; ``None``: unknown.
        high: the upper end of the interval; ``None``: unknown.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSpec(MeasuredSpec):
    """A draft length with its predicted value.

    Attributes:
        tokens: the number of draft tokens.
        present: whether it is the setting of the record.
        best: whether it is the recommended setting.
        assumed: whether it exceeds the drafts of the record, so that its acceptance is assumed.
    """

    tokens: int
    present: bool = False
    best: bool = False
    assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSpec:
    """A cause of lost speed-up.

    Attributes:
        name: the name of the cause.
        share: the share of the loss, from 0 to 1.
        ms: the milliseconds per round; ``None``: unknown.
    """

    name: str
    share: float
    ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """A table of a result, with cells as text.

    Attributes:
        title: the title.
        note: a remark below the title; "": none.
        head: the names of the columns.
        rows: the cells.
    """

    title: str
    note: str
    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedSpec:
    """Settings of an engine to paste.

    Attributes:
        engine: the name of the engine, with its version.
        text: the settings.
        own: whether it is the engine of the record.
    """

    engine: str
    text: str
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidSpec:
    """The parts that every result has.

    Attributes:
        figure: the figure of the headline.
        words: the words after the figure.
        lines: further remarks.
        sources: descriptions of the files that were read.
        pasted: settings to paste.
        verdict: the complete verdict, shown above the tables.
        tables: all figures as tables.
    """

    figure: str
    words: str
    lines: list[str]
    sources: list[str]
    pasted: list[PastedSpec]
    verdict: str
    tables: list[TableSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisSpec(SaidSpec):
    """The diagnosis of a server's record.

    Attributes:
        measure: the measure by which draft lengths are compared.
        unit: the unit of the measure.
        settings: the compared draft lengths.
        acceptance: P(accepted) at position 1, 2, … of the draft.
        losses: the lost speed-up by cause.
        ideal: the speed-up of free drafts that are all accepted; ``None``: unknown.
    """

    measure: str
    unit: str
    settings: list[SettingSpec]
    acceptance: list[float]
    losses: list[LossSpec]
    ideal: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterSpec:
    """The result of a drafter on a log.

    Attributes:
        name: the name of the draft source.
        tokens: the tokens per forward pass.
        speedup: the predicted speed-up.
        pays: whether the drafter is certainly faster than plain decoding.
    """

    name: str
    tokens: MeasuredSpec
    speedup: MeasuredSpec
    pays: Pays


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSpec(SaidSpec):
    """The result of a replayed log.

    Attributes:
        drafters: the results of the drafters.
    """

    drafters: list[DrafterSpec]


#: The classes in ``spec.ts``, in their order.
SPECS: tuple[type, ...] = (
    MeasuredSpec,
    SettingSpec,
    LossSpec,
    TableSpec,
    PastedSpec,
    SaidSpec,
    DiagnosisSpec,
    DrafterSpec,
    ReplayedSpec,
)
