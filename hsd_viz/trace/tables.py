"""The record of a decode: four tables, declared once in ``tables.toml``.

From that declaration come the columns of a trace and of its file, the check of what is read, the
data frames, the classes of rows (:mod:`hsd_viz.trace.rows`), the TypeScript types of the page
(``js/lib/tables.ts``) and the reference (``docs/reference/trace.md``).

Times are integer nanoseconds from the start of the decode. A *level* is a stage of the stack, 0 at
the bottom. A *source* is what first proposed a token: a database (``context``, ``model``,
``statistics``), a baseline (``lookup``, ...), a draft model by its name, or ``target`` for the
target model's own tokens. Columns hold JSON values; rows are made of them on demand.
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
#: A table as JSON: a list of values for each column, all of one length.
Columns = dict[str, list[Any]]

#: The types of values, by kind.
_INTEGER = Annotated[int, msgspec.Meta(ge=1 - 2**63, le=2**63 - 1)]
#: Neither NaN nor infinite, which JSON does not have.
_NUMBER = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
_TYPES: dict[str, Any] = {"int": _INTEGER, "float": _NUMBER, "str": str, "ints": list[_INTEGER]}
_TYPES["top"] = list[tuple[_INTEGER, _NUMBER]]


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column: the fields of ``tables.toml``.

    Attributes:
        name: of the column.
        kind: ``int``, ``float``, ``str``, ``ints`` or ``top``.
        null: whether a value may be missing.
        meaning: what the values are.
        unit: of the values.
        names: the values that are allowed, of a text.
        later: whether files from before the column lack it.
        observed: whether it is null only in a trace of an engine that does not report it.
        default: the value where it is missing.
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
        """Return ``values``.

        Raises:
            ValueError: if they are not a column of this type.
        """
        kind: Any = Literal[self.names] if self.names else _TYPES[self.kind]
        msgspec.convert(values, list[kind | None if self.null else kind])  # type: ignore[misc]
        return values

    def pack(self, values: list) -> Any:
        """Return the values as they are saved: see :mod:`hsd_viz.trace.packing`."""
        match self.kind:
            case "int" | "float":
                return pack_numbers(values, whole=self.kind == "int")
            case "top":
                return pack_top(values)
        return pack_repeated(values)

    def unpack(self, packed: Any) -> list:
        """Return the values of a saved column, which may be a plain list, as in files of schema 1
        and where it travels; of an invalid one raise what :meth:`TableColumns.read` reports.
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
    """A declared table.

    Attributes:
        name: of the table.
        meaning: of a row.
        columns: by name.
    """

    name: str
    meaning: str
    columns: dict[str, Column]

    @property
    def row_name(self) -> str:
        """The name of the class of its rows, such as ``TokenRow``."""
        return f"{self.name.removesuffix('s').title()}Row"

    @property
    def row(self) -> type[Row]:
        """The class of its rows, in which columns at the end that may be null, or have a default,
        may be left out.
        """
        return ROWS[self.name]

    def read(self, data: Any) -> Columns:
        """Return saved ``data`` as columns; one that an older trace lacks has its default in every
        row.

        Raises:
            UserError: if a column is missing or is not as declared.
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
        Unsupported: if it is ``None``: the trace is imported from an engine that does not report
            it.
    """
    if value is None:
        raise Unsupported(
            "the trace is imported from an engine that does not report all times and counts"
        )
    return value


def _column(name: str, declared: dict[str, Any]) -> Column:
    """Return a column as ``tables.toml`` declares it; names of entry points follow its own."""
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
TABLES: dict[str, TableColumns] = {}
for _name, _table in _declared.items():
    _columns = {name: _column(name, column) for name, column in _table["columns"].items()}
    TABLES[_name] = TableColumns(_name, _table["meaning"].strip(), _columns)


#: The names of this package's verification rules, which are lossless.
OWN_RULES = tuple(_declared["rounds"]["columns"]["rule"]["names"])
#: The names of all verification rules. Whether those of other packages are lossless is unknown.
RULES = TABLES["rounds"].columns["rule"].names
