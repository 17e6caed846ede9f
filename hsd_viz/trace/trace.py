"""The trace of a decode: its tables as columns, rows and data frames, its metrics and its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from hsd_viz.drawing import drawing
from hsd_viz.names.hints import guess, no_attribute
from hsd_viz.trace import file, metrics
from hsd_viz.trace.file import Content, Tables
from hsd_viz.trace.meta import TraceMeta
from hsd_viz.trace.rows import CallRow, DraftRow, RoundRow, Row, TokenRow
from hsd_viz.trace.tables import TABLES, Columns

if TYPE_CHECKING:
    import pandas as pd

    from hsd_viz.trace.metrics import Metrics

AnyRow = TypeVar("AnyRow", bound=Row)
#: A lock, because steps may be added in a thread and read in another. It is also held while the
#: process forks, because a child would inherit it locked.
_MAKING = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_MAKING.acquire, after_in_parent=_MAKING.release, after_in_child=_MAKING.release
    )

#: The metrics that the ``repr`` of a trace shows.
_FIGURES = {
    "tokens": "{} tokens",
    "rounds": "{} target rounds",
    "mean_acceptance_length": "{:.2f} tokens per target forward pass",
    "acceptance_rate": "{:.0%} of draft tokens accepted",
    "tokens_per_second": "{:.0f} tokens/s after prefill",
    "repetition_share": "{:.0%} repetition",
}


def empty_tables() -> dict[str, Columns]:
    """Return the four tables without rows."""
    tables: dict[str, Columns] = {}
    for name, table in TABLES.items():
        tables[name] = {column: [] for column in table.columns}
    return tables


class TraceTables:
    """The four tables of a decode; ``len()`` is the number of emitted tokens.

    The columns are completed when they are first read, so that recording does not delay a decode.

    Args:
        make: functions that each return further rows, and the texts of tokens.
    """

    def __init__(self, *make: Callable[[], Tables]) -> None:
        self._columns = empty_tables()
        self._pieces: dict[int, str] = {}
        self._pending = [*make]

    def _complete(self) -> Self:
        if self._pending:
            with _MAKING:
                while self._pending:
                    tables, pieces = self._pending[0]()
                    for name, columns in tables.items():
                        for column, values in columns.items():
                            self._columns[name][column] += values
                    self._pieces.update(pieces)
                    del self._pending[0]
        return self

    @property
    def columns(self) -> dict[str, Columns]:
        """The columns by table and name."""
        return self._complete()._columns

    @property
    def pieces(self) -> dict[int, str]:
        """The text of each token id that occurs."""
        return self._complete()._pieces

    @property
    def token_rows(self) -> tuple[TokenRow, ...]:
        """The emitted tokens."""
        return self._rows("tokens", TokenRow)

    @property
    def draft_rows(self) -> tuple[DraftRow, ...]:
        """The draft tokens of all levels."""
        return self._rows("drafts", DraftRow)

    @property
    def round_rows(self) -> tuple[RoundRow, ...]:
        """The rounds of all levels."""
        return self._rows("rounds", RoundRow)

    @property
    def call_rows(self) -> tuple[CallRow, ...]:
        """The calls of models and databases."""
        return self._rows("calls", CallRow)

    def rows(self, table: str) -> tuple[Row, ...]:
        """Return the rows of ``tokens``, ``drafts``, ``rounds`` or ``calls``."""
        return self._rows(table, TABLES[table].row)

    def _rows(self, table: str, row: type[AnyRow]) -> tuple[AnyRow, ...]:
        """Return the rows of a table, of their class."""
        return tuple(map(row, *self.columns[table].values()))

    def __len__(self) -> int:
        return len(self.columns["tokens"]["token_id"])

    def __bool__(self) -> bool:
        return True

    def __getstate__(self) -> dict[str, Any]:
        return vars(self._complete())  # functions that build rows cannot be pickled

    def add_rows(self, pieces: dict[int, str] | None = None, **rows: Iterable[tuple]) -> Self:
        """Append rows to tables, given by name, and the texts of tokens by id; return ``self``."""
        tables: dict[str, Any] = {}
        for name, table_rows in rows.items():
            table = TABLES[name]
            # Columns that a row leaves out at its end get their default.
            whole_rows = [table.row(*row) for row in table_rows]
            # Without rows there are no columns to add.
            tables[name] = dict(zip(table.columns, zip(*whole_rows, strict=True), strict=False))
        self._pending.append(lambda: (tables, pieces or {}))
        return self

    @property
    def text_bytes(self) -> bytes:
        """The emitted text as bytes, because a step may begin or end inside a character."""
        tokens = self.columns["tokens"]
        pieces = []
        for text, raw in zip(tokens["text"], tokens["raw"], strict=True):
            pieces.append(text.encode() if raw is None else bytes.fromhex(raw))
        return b"".join(pieces)

    @property
    def token_ids(self) -> list[int]:
        """The emitted token ids."""
        return list(self.columns["tokens"]["token_id"])


class Step(TraceTables):
    """The tables of one or more target rounds.

    In ``rounds`` the row of a target round follows those of the levels below.
    """


class Trace(TraceTables):
    """The trace of a decode: its tables as rows and as pandas DataFrames, its metrics and its file.

    Attributes:
        meta: the description of the run: stack, models, options, machine and times.
    """

    def __init__(self, meta: TraceMeta, pieces: dict[int, str] | None = None) -> None:
        super().__init__()
        self.meta = meta
        self._pieces.update(pieces or {})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            names = [attribute for attribute in dir(type(self)) if not attribute.startswith("_")]
            no_attribute(self, name, "trace", names)

        def __getitem__(self, key: Any) -> Any:  # iteration calls it, too
            raise TypeError(f"a trace has no items{guess('item of', 'trace')}")

    def append(self, step: Step) -> None:
        """Add the rows of a step, which are built when one of them is first read."""
        self._pending.append(lambda: (step.columns, step.pieces))

    def __repr__(self) -> str:
        """Return a line with the stack and the main metrics of the run."""
        values: dict[str, Any] = dict(self.metrics())
        figures = []
        for name, form in _FIGURES.items():
            if values[name] is not None:
                figures.append(form.format(values[name]))
        return f"Trace({self.stack or '?'!r}: {', '.join(figures)})"

    @property
    def prompt(self) -> str:
        """The prompt as text."""
        return str(self.meta.get("prompt", ""))

    @property
    def stack(self) -> str:
        """The stack as decoded, with all lookaheads."""
        return str(self.meta.get("stack_resolved") or self.meta.get("stack") or "")

    @property
    def text(self) -> str:
        """The emitted text; invalid bytes become U+FFFD."""
        return self.text_bytes.decode("utf-8", errors="replace")

    def show(self) -> Any:
        """Return linked views of the text, its rounds and its timeline, for a notebook."""
        return drawing().show(self)

    def to_html(self) -> str:
        """Return the run as an interactive HTML page that works offline."""
        return drawing().to_html(self)

    def frame(self, table: str) -> pd.DataFrame:
        """Return a table as a DataFrame with its declared columns."""
        import pandas as pd

        # Nullable types, so that integers stay integers if values are missing.
        kinds = {"int": "Int64", "float": "float64"}
        types = {}
        for column in TABLES[table].columns.values():
            if column.null and column.kind in kinds:
                types[column.name] = kinds[column.kind]
        return pd.DataFrame(self.columns[table]).astype(types)

    @property
    def tokens(self) -> pd.DataFrame:
        """The emitted tokens, one row each."""
        return self.frame("tokens")

    @property
    def drafts(self) -> pd.DataFrame:
        """The tokens submitted to verifiers, one row each."""
        return self.frame("drafts")

    @property
    def rounds(self) -> pd.DataFrame:
        """The verifications, one row each; ``round`` is a copy of ``id``."""
        frame = self.frame("rounds")
        frame.insert(0, "round", frame["id"])
        return frame

    @property
    def calls(self) -> pd.DataFrame:
        """The forward passes and look-ups, one row each."""
        return self.frame("calls")

    def metrics(self) -> Metrics:
        """Return the metrics of the run, such as rounds, acceptance, speed and sources: see
        :func:`hsd_viz.trace.metrics.metrics`.
        """
        return metrics.metrics(self.columns, self.meta)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain JSON data: the content of a file with unpacked columns."""
        return file.to_data(self._content())

    @classmethod
    def from_dict(cls, data: Any) -> Trace:
        """Return the trace of JSON data from :meth:`to_dict` or from a file.

        Raises:
            TraceError: if ``data`` is not a complete trace.
        """
        return cls._of(file.from_data(data))

    def to_bytes(self, packed: bool = True) -> bytes:
        """Return the bytes of a trace file (:mod:`hsd_viz.trace.file`), gzipped if ``packed``."""
        return file.to_bytes(self._content(), packed)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the trace to a JSON file atomically, gzipped if the name ends in ``.gz``.

        Raises:
            UserError: if the name ends in neither ``.json`` nor ``.json.gz``.
        """
        return file.save(self._content(), path)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Trace:
        """Read a trace file.

        Raises:
            TraceError: if the file is missing, invalid or of a newer version.
        """
        return cls._of(file.load(path))

    @classmethod
    def from_bytes(
        cls, payload: bytes, name: str = "trace", max_bytes: int = file.MAX_BYTES
    ) -> Trace:
        """Read a trace from the bytes of its file, gzipped or not.

        ``name`` is used in error messages, and ``max_bytes`` is the largest unpacked size.
        """
        return cls._of(file.from_bytes(payload, name, max_bytes))

    def _content(self) -> Content:
        return Content(self.meta, self.columns, self.pieces)

    @classmethod
    def _of(cls, content: Content) -> Trace:
        trace = cls(content.meta, content.pieces)
        trace._columns = content.columns
        return trace
