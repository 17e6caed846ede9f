"""The record of a decode: four tables, declared once in ``tables.toml``.

From that declaration come the columns of a trace and of its file, the check of what is read, the data frames, the
TypeScript types of the page (``js/lib/tables.ts``) and the reference (``docs/reference/trace.md``).

Times are integer nanoseconds from the start of the decode. A *level* is a stage of the stack, 0 at the bottom. A
*source* is what first proposed a token: a database (``context``, ``model``, ``statistics``), a baseline (``lookup``,
...), a draft model by its name, or ``target`` for the target model's own tokens. Columns hold JSON values; rows are
named tuples of them, made on demand.
"""

from __future__ import annotations

import tomllib
from collections import namedtuple
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import takewhile
from pathlib import Path
from typing import Any

#: The verification rule of chains that were sampled from rows, unless another one is requested: the faster one
#: (docs/bench/rules-cpu.json).
DEFAULT_RULE = "block"

#: A table as JSON: a list of values for each column, all of one length; and as rows, which are named tuples.
Columns = dict[str, list[Any]]
Row = Any
#: The most probable tokens of a distribution, [token id, probability], most probable first.
Top = list[list[Any]]

#: Whether a value is of a kind.
_FITS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: type(value) is int and abs(value) < 2**63,
    "float": lambda value: type(value) is float or _FITS["int"](value),
    "str": lambda value: type(value) is str,
    "ints": lambda value: type(value) is list and all(map(_FITS["int"], value)),
    "top": lambda value: type(value) is list and all(map(_is_share, value)),
}


def _is_share(pair: Any) -> bool:
    return type(pair) is list and len(pair) == 2 and _FITS["int"](pair[0]) and _FITS["float"](pair[1])


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column. ``kind``: ``int``, ``float``, ``str``, ``ints`` or ``top``; ``null``: may be; the other fields
    are those of ``tables.toml``.
    """

    name: str
    kind: str
    null: bool
    meaning: str
    unit: str = ""
    names: tuple[str, ...] = ()
    later: bool = False
    observed: bool = False
    default: Any = None

    def checked(self, values: Any) -> list:
        """Return ``values``. Raises: ValueError: if they are not a column of this type."""
        fits, names = _FITS[self.kind], self.names
        right = lambda value: self.null if value is None else fits(value) and (not names or value in names)
        if type(values) is not list or not all(map(right, values)):
            raise ValueError
        return values


@dataclass(frozen=True, slots=True)
class Table:
    """A declared table: its name, its meaning, its columns by name, and the class of its rows, in which columns at the
    end that may be null, or have a default, may be left out.
    """

    name: str
    meaning: str
    columns: dict[str, Column]
    row: Any

    def columns_of(self, rows: Iterable[tuple]) -> Columns:
        """Return rows as columns."""
        rows = [*rows]
        values = map(list, zip(*rows, strict=True)) if rows else ([] for _ in self.columns)
        return dict(zip(self.columns, values, strict=True))

    def rows_of(self, columns: Columns) -> tuple:
        """Return columns as rows."""
        return tuple(map(self.row, *(columns[name] for name in self.columns)))

    def checked(self, data: Any, read: Callable[[Column, Any], list]) -> Columns:
        """Return ``data`` as columns, each by ``read`` (:meth:`Column.checked` where it travels); one that an older
        trace lacks has its default in every row. Raises: ValueError: if a column is missing or is not as declared.
        """
        if not isinstance(data, dict):
            raise ValueError(f"its table '{self.name}' is not an object of columns")
        columns: Columns = {}
        for name, column in self.columns.items():
            if name not in data and not column.later:
                raise ValueError(f"column '{name}' of its table '{self.name}' is missing")
            rows = len(next(iter(columns.values()), ()))
            try:
                columns[name] = read(column, data[name]) if name in data else [column.default] * rows
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
                raise ValueError(f"column '{name}' of its table '{self.name}' has values of a wrong type") from None
        if len({len(values) for values in columns.values()}) > 1:
            raise ValueError(f"the columns of its table '{self.name}' are not lists of one length")
        return columns


def _column(name: str, type: str, names: Sequence[str] = (), others: str = "", **about: Any) -> Column:
    found = {point.name for point in entry_points(group=others)} - {*names} if others else ()
    return Column(name, type.removesuffix("?"), type.endswith("?"), names=(*names, *sorted(found)), **about)


def _row(name: str, columns: Collection[Column]) -> Any:
    optional = takewhile(lambda column: column.null or column.default is not None, reversed([*columns]))
    defaults = [column.default for column in optional][::-1]
    return namedtuple(name, [column.name for column in columns], defaults=defaults, module=__name__)


_DECLARED = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
TABLES: dict[str, Table] = {}
for _name, _table in _DECLARED.items():
    _columns = {name: _column(name, **column) for name, column in _table["columns"].items()}
    _class = _row(f"{_name.removesuffix('s').title()}Row", _columns.values())
    TABLES[_name] = Table(_name, _table["meaning"].strip(), _columns, _class)

#: The classes of rows.
TokenRow, DraftRow, RoundRow, CallRow = (table.row for table in TABLES.values())
#: The rules that every runtime has, and with those of other packages.
OWN_RULES = tuple(_DECLARED["rounds"]["columns"]["rule"]["names"])
RULES = TABLES["rounds"].columns["rule"].names
