"""The four tables of a trace, which are declared once in ``tables.toml``.

From that declaration are derived: the columns of a trace and of its file, the checks of files that
are read, the data frames, the classes of rows (:mod:`hsd_viz.trace.rows`), the TypeScript types of
the page (``js/lib/tables.ts``) and the reference (``docs/reference/trace.md``).

Times are integer nanoseconds from the start of the decode. A *level* is a part of the stack, 0 at
the bottom. A *source* is the part that first proposed a token: a database (``context``, ``model``,
``statistics``), a baseline (``lookup``, ...), a draft model by its name, or ``target`` for the
target model's own tokens. Columns contain JSON values; rows are built from them on demand.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from hsd_viz.errors import MALFORMED, Unsupported, UserError
from hsd_viz.trace.packing import (
    pack_numbers,
    pack_repeated,
    pack_top,
    unpack_numbers,
    unpack_repeated,
    unpack_top,
)
from hsd_viz.trace.rows import ROWS, Row

Value = TypeVar("Value")
#: A table as JSON: a list of values per column, all of the same length.
Columns = dict[str, list[Any]]

#: An integer of 64 bits, except the smallest one.
_INTEGER = Annotated[int, msgspec.Meta(ge=1 - 2**63, le=2**63 - 1)]
#: A finite number, because JSON has neither NaN nor infinity.
_NUMBER = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
#: The types of values by kind of column.
_TYPES: dict[str, Any] = {"int": _INTEGER, "float": _NUMBER, "str": str, "ints": list[_INTEGER]}
_TYPES["top"] = list[tuple[_INTEGER, _NUMBER]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, as ``tables.toml`` declares it.

    Attributes:
        name: the name of the column.
        kind: the type of its values: ``int``, ``float``, ``str``, ``ints`` or ``top``.
        null: whether values may be missing.
        meaning: a description of the values.
        unit: the unit of the values; empty if they have none.
        names: the allowed values of a text column; empty if all texts are allowed.
        later: whether the column was added later, so that older files lack it.
        observed: whether values are missing only in traces of engines that do not report them.
        default: the value for files and rows that lack the column.
    """

    name: str
    kind: str
    null: bool
    meaning: str = ""
    unit: str = ""
    names: tuple[str, ...] = ()
    later: bool = False
    observed: bool = False
    default: Any = None

    def checked(self, values: Any) -> list:
        """Check that ``values`` are valid for this column, and return them.

        Raises:
            ValueError: if they are not.
        """
        kind: Any = Literal[self.names] if self.names else _TYPES[self.kind]
        msgspec.convert(values, list[kind | None if self.null else kind])  # type: ignore[misc]
        return values

    def pack(self, values: list) -> Any:
        """Return the values in the form of files (:mod:`hsd_viz.trace.packing`)."""
        match self.kind:
            case "int" | "float":
                return pack_numbers(values, whole=self.kind == "int")
            case "top":
                return pack_top(values)
        return pack_repeated(values)

    def unpack(self, packed: Any) -> list:
        """Return the values of a packed column, or of a plain list as in schema 1 and in events.

        An invalid column raises one of the exceptions that :meth:`TableColumns.read` reports.
        """
        if isinstance(packed, list):
            return self.checked(packed)
        if "of" in packed:
            return unpack_repeated(self.checked(packed["of"]), packed["at"])
        if self.kind == "top":
            return unpack_top(packed)
        if self.kind not in ("int", "float"):
            raise UserError("the values of this column are not numbers")
        return unpack_numbers(packed, whole=self.kind == "int", null=self.null)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """A table, as ``tables.toml`` declares it.

    Attributes:
        name: the name of the table.
        meaning: a description of a row.
        columns: the columns by name.
    """

    name: str
    meaning: str
    columns: dict[str, Column]

    @property
    def row_name(self) -> str:
        """The name of the class of rows, such as ``TokenRow``."""
        return f"{self.name.removesuffix('s').title()}Row"

    @property
    def row(self) -> type[Row]:
        """The class of rows; the last columns may be left out if null or a default is allowed."""
        return ROWS[self.name]

    def read(self, data: Any) -> Columns:
        """Return the columns of saved ``data``.

        A column that an older trace lacks is filled with its default.

        Raises:
            UserError: if a column is missing or not valid.
        """
        if not isinstance(data, dict):
            raise UserError(f"its table '{self.name}' is not an object of columns")
        columns: Columns = {}
        for name, column in self.columns.items():
            if name not in data and not column.later:
                raise UserError(f"column '{name}' of its table '{self.name}' is missing")
            rows = len(next(iter(columns.values()), ()))
            try:
                columns[name] = (
                    column.unpack(data[name]) if name in data else [column.default] * rows
                )
            except MALFORMED:
                raise UserError(
                    f"column '{name}' of its table '{self.name}' has values of a wrong type"
                ) from None
        if len({len(values) for values in columns.values()}) > 1:
            raise UserError(f"the columns of its table '{self.name}' are not lists of one length")
        return columns


def observed(value: Value | None) -> Value:
    """Return a time or a metric that every decode of this package has.

    Raises:
        Unsupported: if it is ``None``, because the trace was imported from an engine that does not
            report it.
    """
    if value is None:
        raise Unsupported(
            "the trace is imported from an engine that does not report all times and counts"
        )
    return value


def _column(name: str, declared: dict[str, Any]) -> Column:
    """Return a column from its declaration, with the names of entry points after its own."""
    names = list(declared.get("names", ()))
    group = declared.get("others", "")
    if group:
        names += sorted({point.name for point in entry_points(group=group)} - {*names})
    kind = declared["type"]
    return Column(
        name=name,
        kind=kind.removesuffix("?"),
        null=kind.endswith("?"),
        meaning=declared.get("meaning", ""),
        unit=declared.get("unit", ""),
        names=tuple(names),
        later=declared.get("later", False),
        observed=declared.get("observed", False),
        default=declared.get("default"),
    )


#: The file that declares the tables.
DECLARATION = Path(__file__).with_name("tables.toml")
_declared = tomllib.loads(DECLARATION.read_text(encoding="utf-8"))
#: The tables by name.
TABLES: dict[str, TableColumns] = {}
for _name, _table in _declared.items():
    _columns = {name: _column(name, column) for name, column in _table["columns"].items()}
    TABLES[_name] = TableColumns(_name, _table["meaning"].strip(), _columns)


#: The names of this package's verification rules, which are lossless.
OWN_RULES = tuple(_declared["rounds"]["columns"]["rule"]["names"])
#: The names of all verification rules, including those of other packages, which may not be
#: lossless.
RULES = TABLES["rounds"].columns["rule"].names
