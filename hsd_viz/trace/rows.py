"""Tables of a decode as columns and, made on demand, as rows: of a whole run, or of a step of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from hsd_viz.trace.tables import TABLES, CallRow, Columns, DraftRow, RoundRow, TokenRow

Row = TypeVar("Row", bound=tuple)


class _Rows(Generic[Row]):
    """A table as rows: a tuple made when it is first read. Assigned rows replace the table."""

    def __init__(self, table: str) -> None:
        self._table = TABLES[table]

    def __get__(self, record: Record, owner: type) -> tuple[Row, ...]:
        columns = record.columns[self._table.name]
        rows = record._rows.get(self._table.name, ())
        if len(rows) != len(next(iter(columns.values()))):
            rows += self._table.rows_of({name: values[len(rows) :] for name, values in columns.items()})
            record._rows[self._table.name] = rows
        return rows

    def __set__(self, record: Record, rows: Iterable[Row]) -> None:
        record.columns[self._table.name] = self._table.columns_of(rows)
        record._rows.pop(self._table.name, None)


class Record:
    """Four tables of a decode. ``columns`` are their columns by table and name; ``token_rows``, ``draft_rows``,
    ``round_rows`` and ``call_rows`` the same as tuples of rows. ``pieces`` maps token ids to their texts; ``len()`` is
    the number of emitted tokens.
    """

    token_rows, draft_rows = _Rows[TokenRow]("tokens"), _Rows[DraftRow]("drafts")
    round_rows, call_rows = _Rows[RoundRow]("rounds"), _Rows[CallRow]("calls")

    def __init__(self) -> None:
        self._columns = {name: table.empty() for name, table in TABLES.items()}
        self._pieces: dict[int, str] = {}
        self._rows: dict[str, tuple] = {}

    def _complete(self) -> None:
        """Make what is not made yet."""

    @property
    def columns(self) -> dict[str, Columns]:
        self._complete()
        return self._columns

    @property
    def pieces(self) -> dict[int, str]:
        self._complete()
        return self._pieces

    def __len__(self) -> int:
        return len(self.columns["tokens"]["token_id"])

    def __bool__(self) -> bool:
        return True

    def add(self, columns: dict[str, Columns]) -> None:
        """Append tables given as columns."""
        for name, values in columns.items():
            for column, more in values.items():
                self._columns[name][column] += more

    def add_rows(
        self,
        tokens: Iterable[TokenRow] = (),
        drafts: Iterable[DraftRow] = (),
        rounds: Iterable[RoundRow] = (),
        calls: Iterable[CallRow] = (),
    ) -> None:
        """Append rows to the tables."""
        rows = zip(TABLES.items(), (tokens, drafts, rounds, calls), strict=True)
        self._complete()
        self.add({name: table.columns_of(of) for (name, table), of in rows})

    def rows(self, table: str) -> tuple:
        """Return the rows of ``tokens``, ``drafts``, ``rounds`` or ``calls``."""
        return getattr(self, f"{table.removesuffix('s')}_rows")

    @property
    def text_bytes(self) -> bytes:
        """The emitted text; a step may begin or end inside a character."""
        tokens = self.columns["tokens"]
        pairs = zip(tokens["text"], tokens["raw"], strict=True)
        return b"".join(text.encode() if raw is None else bytes.fromhex(raw) for text, raw in pairs)

    @property
    def token_ids(self) -> list[int]:
        """The emitted token ids."""
        return list(self.columns["tokens"]["token_id"])


class Step(Record):
    """What happened in one or more target rounds: the own row of each is in ``rounds`` after those of the levels below.
    ``pieces`` gives the text of every token id in these tables. The tables are made by ``make`` when they are first
    read.
    """

    def __init__(self, make: Callable[[], tuple[dict[str, Columns], dict[int, str]]] | None = None) -> None:
        super().__init__()
        self._make = make

    def _complete(self) -> None:
        if (make := self._make) is not None:
            # Several threads may do this at once: what they make is the same.
            self._columns, self._pieces = make()
            self._make = None

    @classmethod
    def of_rows(
        cls,
        tokens: Iterable[TokenRow] = (),
        drafts: Iterable[DraftRow] = (),
        rounds: Iterable[RoundRow] = (),
        calls: Iterable[CallRow] = (),
        pieces: dict[int, str] | None = None,
    ) -> Step:
        """Return the step with these rows."""
        step = cls()
        step.add_rows(tokens, drafts, rounds, calls)
        step.pieces.update(pieces or {})
        return step

    def to_json(self) -> dict[str, Any]:
        """Return the tables as columns, and ``pieces`` by id as text."""
        return {**self.columns, "pieces": {str(token): text for token, text in self.pieces.items()}}


class Run(Record):
    """The tables of a whole decode; ``meta`` describes it."""

    def __init__(self, meta: dict[str, Any]) -> None:
        super().__init__()
        self.meta = meta
