"""Tables whose cells remain numbers until they are displayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

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
class Table:
    """A table of a result.

    Attributes:
        title: the title.
        rows: the cells, with the head first; empty if there is only a note.
        note: a remark below the title.
        kinds: the kind of each row except the head, if rows are stacks
            (:class:`~hsd_viz.results.kinds.StackKind`).
        formats: the formats of the numbers, by head of the column.
        bars: the heads of columns that pages also show as bars, on one scale.
    """

    title: str
    rows: Sequence[Sequence[Value]]
    note: str = ""
    kinds: tuple[str, ...] = ()
    formats: Mapping[str, NumberFormat] = field(default_factory=dict)
    bars: Iterable[str] = ()

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

    def widths(self) -> list[list[float]]:
        """Return the bar of each cell as a share of the largest; 0: no bar."""
        lengths_by_row = self._lengths()
        longest = lengths_by_row.max(initial=0.0) or 1.0
        return (lengths_by_row / longest).tolist()

    def one(self) -> float:
        """Return the place of the number 1 on the scale of the bars, as a share of the largest."""
        longest = self._lengths().max(initial=0.0)
        return min(1.0, 1 / longest) if longest else 1.0

    def _lengths(self) -> np.ndarray:
        """Return the numbers that have bars, and zeros elsewhere, row by row without the head."""
        head, *rows = self.rows
        lengths_by_row = np.zeros((len(rows), len(head)))
        for row, lengths in zip(rows, lengths_by_row, strict=True):
            for place, name in enumerate(head):
                if str(name) in self.bars:
                    lengths[place] = _length(row[place])
        return lengths_by_row

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
