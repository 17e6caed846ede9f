"""Tables whose cells remain numbers until they are displayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hsd_viz.results.estimate import NOT_MEASURED, Estimate
from hsd_viz.text import escape

if TYPE_CHECKING:
    import pandas as pd

#: A cell: text, a number or an estimate; ``None``: not measured.
Value = str | float | Estimate | None
#: The format of a number, and the factor by which it is multiplied before.
NumberFormat = tuple[str, float]
AS_IT_IS: NumberFormat = ("{}", 1.0)
#: Maximum number of positions in a table of acceptance.
MAX_POSITIONS = 8


@dataclass(frozen=True, slots=True)
class RatioColumn:
    """A column of ratios, which pages draw as bars.

    Attributes:
        head: the head of the column.
        reference: the row that has the ratio 1.
    """

    head: str
    reference: str = "plain decoding"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a result.

    Attributes:
        title: the title.
        rows: the cells, with the head first; empty if there is only a note.
        note: a remark below the title.
        kinds: the kind of each row except the head, if rows are stacks
            (:class:`~hsd_viz.results.kinds.StackKind`).
        formats: the formats of the numbers, by head of the column.
        chart: the column that pages draw above the table.
        compared: the heads of columns whose largest value pages stress.
    """

    title: str
    rows: Sequence[Sequence[Value]]
    note: str = ""
    kinds: tuple[str, ...] = ()
    formats: Mapping[str, NumberFormat] = field(default_factory=dict)
    chart: RatioColumn | None = None
    compared: Iterable[str] = ()

    def cells(self) -> list[list[str]]:
        """Return the head and the rows as text."""
        if not self.rows:
            return []
        formats = [self.formats.get(str(name), AS_IT_IS) for name in self.rows[0]]
        table = []
        for row in self.rows:
            pairs = zip(row, formats, strict=True)
            table.append([as_text(value, form, factor) for value, (form, factor) in pairs])
        return table

    def column(self, head: str) -> list[Value]:
        """Return the cells of a column."""
        place = list(self.rows[0]).index(head)
        return [row[place] for row in self.rows[1:]]

    def is_largest(self, place: int, head: str) -> bool:
        """Return whether a row has the largest value of a compared column; rows count from 0."""
        if head not in self.compared:
            return False
        values = [_length(cell) for cell in self.column(head)]
        return values[place] == max(values) > 0

    def dense(self, once: Iterable[str] = ()) -> Table:
        """Return the table without columns that have no values.

        Columns in ``once`` with the same value in all rows become part of the note.
        """
        places = []
        constants = []
        for place, (head, *column) in enumerate(zip(*self.cells(), strict=True)):
            values = set(column)
            is_same = len(column) > 1 and len(values) == 1 and not values & {NOT_MEASURED, ""}
            if head in once and is_same:
                constants.append(f"{head} {column[0]}")
            elif not column or values - {NOT_MEASURED, ""}:
                places.append(place)
        notes = [self.note.rstrip(":")]
        if constants:
            notes.append(f"the same for all stacks: {', '.join(constants)}")
        rows = []
        for row in self.rows:
            rows.append(_cells_at(row, places))
        return replace(self, rows=rows, note="; ".join(filter(None, notes)))

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a data frame, with intervals as columns ``HEAD low`` and ``HEAD
        high``.
        """
        import pandas as pd

        head, *rows = self.rows
        columns: dict[str, list[Value]] = {}
        for name, *cells in zip(head, *rows, strict=True):
            columns[str(name)] = list(map(_number_of, cells))
            lows, highs = zip(*map(_ends_of, cells), strict=True) if cells else ((), ())
            if any(low is not None for low in lows):
                columns[f"{name} low"] = list(lows)
                columns[f"{name} high"] = list(highs)
        return pd.DataFrame(columns)

    def to_html(self) -> str:
        """Return the table as HTML for a notebook; all text is escaped."""
        if not self.rows:
            return f"<p>{escape(self.title)}: {escape(self.note)}</p>"
        head, *rows = self.cells()
        title = f"<h4>{escape(self.title)}</h4>"
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        text = f"<thead>{_html_row('th', head)}</thead>"
        body = "".join(_html_row("td", row) for row in rows)
        return f"{title}{note}<table>{text}<tbody>{body}</tbody></table>"


def as_text(value: Value, form: str = "{}", factor: float = 1.0) -> str:
    """Format a value times ``factor``, with its interval if it has one."""
    if isinstance(value, str):
        return value
    figure = value if isinstance(value, Estimate) else Estimate(value)
    return figure.as_text(form, factor=factor)


def rates_as_text(rates: Sequence[float], positions: int) -> list[str]:
    """Format the rates of the first positions; positions without a rate are empty."""
    texts = [f"{rate:.2f}" for rate in rates[:positions]]
    return texts + [NOT_MEASURED] * (positions - len(texts))


def _cells_at(row: Sequence[Value], places: Sequence[int]) -> list[Value]:
    return [row[place] for place in places]


def _html_row(tag: str, cells: Sequence[str]) -> str:
    text = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{text}</tr>"


def _number_of(cell: Value) -> str | float | None:
    return cell.value if isinstance(cell, Estimate) else cell


def _ends_of(cell: Value) -> tuple[float | None, float | None]:
    interval = cell.interval if isinstance(cell, Estimate) else None
    return interval if interval is not None else (None, None)


def _length(cell: Value) -> float:
    number = _number_of(cell)
    return float(number or 0.0)
