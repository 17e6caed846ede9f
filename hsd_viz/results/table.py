"""Tables whose cells stay numbers until they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hsd_viz.results.estimate import Estimate
from hsd_viz.words import escape

if TYPE_CHECKING:
    import pandas as pd

#: A cell: text, a number or an estimate; ``None``: not measured.
Value = str | float | Estimate | None
#: The format of a number, and the factor before it.
Form = tuple[str, float]
AS_IT_IS: Form = ("{}", 1.0)
NOT_MEASURED = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a result.

    Attributes:
        title: what the rows are.
        rows: the cells, the head first; no rows where there is only a note.
        note: a remark under the title.
        kinds: the kind of each row but the head, where rows are stacks
            (:class:`~hsd_viz.results.kinds.Kind`).
        forms: the format of a column's numbers, by its head.
        bars: heads of columns that a page also shows as bars, on one scale.
    """

    title: str
    rows: Sequence[Sequence[Value]]
    note: str = ""
    kinds: tuple[str, ...] = ()
    forms: Mapping[str, Form] = field(default_factory=dict)
    bars: Iterable[str] = ()

    def cells(self) -> list[list[str]]:
        """Return the head and the rows as text."""
        if not self.rows:
            return []
        forms = [self.forms.get(str(name), AS_IT_IS) for name in self.rows[0]]
        table = []
        for row in self.rows:
            pairs = zip(row, forms, strict=True)
            table.append([as_text(value, form, factor) for value, (form, factor) in pairs])
        return table

    def widths(self) -> list[list[float]]:
        """Return the bar of each cell as a share of the largest, 0 where there is none."""
        head, *rows = self.rows
        drawn = []
        for row in rows:
            lengths = []
            for name, cell in zip(head, row, strict=True):
                lengths.append(_length(cell) if name in self.bars else 0.0)
            drawn.append(lengths)
        most = max((max(lengths, default=0.0) for lengths in drawn), default=0.0) or 1.0
        for lengths in drawn:
            lengths[:] = [length / most for length in lengths]
        return drawn

    def dense(self, once: Iterable[str] = ()) -> Table:
        """Return the table without columns that have no values.

        Columns of ``once`` that are equal for all rows move into the note.
        """
        kept = []
        same = []
        for place, (head, *column) in enumerate(zip(*self.cells(), strict=True)):
            values = set(column)
            is_same = len(column) > 1 and len(values) == 1 and not values & {NOT_MEASURED, ""}
            if head in once and is_same:
                same.append(f"{head} {column[0]}")
            elif not column or values - {NOT_MEASURED, ""}:
                kept.append(place)
        notes = [self.note.rstrip(":")]
        if same:
            notes.append(f"the same for all stacks: {', '.join(same)}")
        rows = []
        for row in self.rows:
            rows.append([row[place] for place in kept])
        return replace(self, rows=rows, note="; ".join(filter(None, notes)))

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame; the ends of intervals are columns ``HEAD low``, ``HEAD high``."""
        import pandas as pd

        head, *rows = self.rows
        columns: dict[str, list[Value]] = {}
        for place, name in enumerate(head):
            cells = [row[place] for row in rows]
            columns[str(name)] = [_number_of(cell) for cell in cells]
            if any(isinstance(cell, Estimate) and cell.interval for cell in cells):
                ends = [_ends_of(cell) for cell in cells]
                columns[f"{name} low"] = [low for low, _ in ends]
                columns[f"{name} high"] = [high for _, high in ends]
        return pd.DataFrame(columns)

    def to_html(self) -> str:
        """Return the table as HTML for a notebook; all text is escaped."""
        if not self.rows:
            return f"<p>{escape(self.title)}: {escape(self.note)}</p>"
        head, *rows = self.cells()
        text = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = ""
        for row in rows:
            body += f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        title = f"<h4>{escape(self.title)}</h4>"
        return f"{title}{note}<table><thead><tr>{text}</tr></thead><tbody>{body}</tbody></table>"


def as_text(value: Value, form: str = "{}", factor: float = 1.0) -> str:
    """Return a value times ``factor`` as text, with its interval where it has one."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Estimate):
        value = Estimate(value)
    if value.value is None:
        return NOT_MEASURED
    numbers = [value.value, *(value.interval or ())]
    if factor != 1:
        numbers = [factor * number for number in numbers]
    figure, *ends = [form.format(number) for number in numbers]
    return f"{figure} [{', '.join(ends)}]" if ends else figure


def _number_of(cell: Value) -> str | float | None:
    return cell.value if isinstance(cell, Estimate) else cell


def _ends_of(cell: Value) -> tuple[float | None, float | None]:
    interval = cell.interval if isinstance(cell, Estimate) else None
    return interval if interval is not None else (None, None)


def _length(cell: Value) -> float:
    number = _number_of(cell)
    return float(number or 0.0)
