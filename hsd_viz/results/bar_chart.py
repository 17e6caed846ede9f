"""Bars of a column of a table with their intervals, for pages without scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hsd_viz.results.drafter_names import stack_name
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.kinds import COPYING_COLOURS, StackKind, is_copying
from hsd_viz.results.table import RatioColumn, Table, Value, as_text

#: Distances between the lines of an axis; the smallest that leaves few lines is used.
_STEPS = (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_MAX_STEPS = 4
#: The end of an axis, relative to the largest value on it.
_AXIS_END = 1.02
_COPYING = "copying"
#: The colours of bars on a light and on a dark page, by name: those of kinds of stacks.
BAR_COLOURS: dict[str, tuple[str, str]] = {
    **{kind.value: (kind.light, kind.dark) for kind in StackKind},
    _COPYING: COPYING_COLOURS,
}
_COLOUR_LABELS = {**{kind.value: kind.label for kind in StackKind}, _COPYING: _COPYING}


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from 0. Places on the axis are shares of its length.

    Attributes:
        label: the first cell of the row.
        name: the drafters of the row; "" if the rows are not stacks.
        value: the value as text.
        interval: the interval as text; "" without one.
        colour: the name of its colour in :data:`BAR_COLOURS`.
        end: the place of the value; 0 without one.
        low: the place of the interval's lower end.
        high: the place of the interval's upper end.
    """

    label: str
    name: str
    value: str
    interval: str
    colour: str
    end: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars on one axis.

    Attributes:
        title: the title; "" if the table's is enough.
        head: the head of the column.
        reference: the row that has the ratio 1.
        one: the place of the ratio 1.
        step: the distance between two lines of the axis, as a share of its length.
        ticks: the numbers at these lines, with their places.
        key: the colours of the bars, with the kinds of stacks that they mark; empty if rows are not
            stacks.
        bars: the bars, in the order of the rows.
    """

    title: str
    head: str
    reference: str
    one: float
    step: float
    ticks: list[tuple[str, float]]
    key: dict[str, str]
    bars: list[Bar]

    @property
    def has_intervals(self) -> bool:
        """Whether a bar has an interval."""
        return any(bar.interval for bar in self.bars)


def bar_chart(table: Table, column: RatioColumn, title: str = "") -> BarChart:
    """Return the bars of a column of ratios."""
    ratios = [_as_estimate(cell) for cell in table.column(column.head)]
    length = _AXIS_END * max([1.0, *_numbers_of(ratios)])
    step = next((step for step in _STEPS if length / step <= _MAX_STEPS), _STEPS[-1])
    ticks = []
    for line in range(int(length / step) + 1):
        number = line * step
        ticks.append((f"{number:g}", number / length))
    form, factor = table.formats.get(column.head, ("{:.2f}", 1.0))
    key = {}
    bars = []
    for place, ratio in enumerate(ratios):
        label = as_text(table.rows[place + 1][0])
        kind = table.kinds[place] if table.kinds else ""
        colour = _colour(label, kind)
        if kind:
            key[colour] = _COLOUR_LABELS[colour]
        low, high = ratio.interval or (0.0, 0.0)
        value, _, interval = ratio.as_text(form, factor=factor, unit="×").partition(" ")
        bars.append(
            Bar(
                label=label,
                name=stack_name(label) if table.kinds else "",
                value=value,
                interval=interval,
                colour=colour,
                end=(ratio.value or 0.0) / length,
                low=low / length,
                high=high / length,
            )
        )
    return BarChart(
        title=title,
        head=column.head,
        reference=column.reference,
        one=1 / length,
        step=step / length,
        ticks=ticks,
        key=key,
        bars=bars,
    )


def _as_estimate(cell: Value) -> Estimate:
    """Return the number of a cell with its interval; text has none."""
    if isinstance(cell, Estimate):
        return cell
    return Estimate(None if isinstance(cell, str) else cell)


def _numbers_of(ratios: Iterable[Estimate]) -> list[float]:
    """Return the values and the upper ends of their intervals."""
    numbers = []
    for ratio in ratios:
        if ratio.value is not None:
            numbers.append(ratio.value)
        if ratio.interval is not None:
            numbers.append(ratio.interval[1])
    return numbers


def _colour(label: str, kind: str) -> str:
    """Return the name of the colour of a row, by its stack and the kind of it."""
    if not kind:
        return StackKind.MODELS.value
    return _COPYING if is_copying(label) else kind
