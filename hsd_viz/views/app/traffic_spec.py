"""What the views of the visitor's traffic get: ``js/traffic/spec.ts`` is written from these classes
(:mod:`tools.reference`), each under its name without ``Spec``.
"""

from __future__ import annotations

from dataclasses import dataclass

from hsd_viz.measure.replay.figures import Pays


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpec:
    """A value with its 95 % interval.

    Attributes:
        value: the value.
        low: the lower end, if known.
        high: the upper end.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSpec(MeasuredSpec):
    """A number of draft tokens, and what it brings.

    Attributes:
        tokens: draft tokens.
        present: whether it is the setting of the record.
        best: whether it is the one to use.
        assumed: whether it is beyond the drafts that were seen.
    """

    tokens: int
    present: bool = False
    best: bool = False
    assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSpec:
    """A cause of loss.

    Attributes:
        name: the cause.
        share: its share of what is lost.
        ms: its milliseconds per round, if known.
    """

    name: str
    share: float
    ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """A table of a result, its cells as text.

    Attributes:
        title: what the rows are.
        note: a remark under the title, "" without one.
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
        engine: the engine, with its version.
        text: the settings.
        own: whether it is the engine of the record.
    """

    engine: str
    text: str
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidSpec:
    """What is known of every result.

    Attributes:
        figure: the figure of the headline.
        words: what it is of.
        lines: what else a reader must know.
        sources: what was read.
        pasted: settings to paste.
        verdict: the whole verdict, above the tables.
        tables: all figures.
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
    """A server's record, diagnosed.

    Attributes:
        measure: what the settings are compared by.
        unit: its unit.
        settings: the draft lengths that are compared.
        acceptance: P(accepted) at position 1, 2, … of the draft.
        losses: what is lost, by cause.
        ideal: the speed-up of drafts that are all accepted and cost nothing, if known.
    """

    measure: str
    unit: str
    settings: list[SettingSpec]
    acceptance: list[float]
    losses: list[LossSpec]
    ideal: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterSpec:
    """A drafter on a log.

    Attributes:
        name: the draft source.
        tokens: tokens per forward pass.
        speedup: the predicted speed-up.
        pays: whether it certainly is faster than plain decoding.
    """

    name: str
    tokens: MeasuredSpec
    speedup: MeasuredSpec
    pays: Pays


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSpec(SaidSpec):
    """A replayed log.

    Attributes:
        drafters: what each drafter would have brought.
    """

    drafters: list[DrafterSpec]


#: The classes that the page gets, in the order of ``spec.ts``.
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
