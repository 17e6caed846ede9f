"""A recorded decode: rows, tables, and one versioned file."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from hsd_viz.disk import replacing
from hsd_viz.trace.records import CallRow, DraftRow, RoundRow, Step, TokenRow, Top
from hsd_viz.words import counted

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
TABLES: dict[str, type] = {"tokens": TokenRow, "drafts": DraftRow, "rounds": RoundRow, "calls": CallRow}
_FORMAT = "hsd_viz trace"
#: What every trace's meta has; the rest depends on who decoded.
_META = ("stack", "prompt", "prompt_ids", "prefill_ns", "wall_ns")
#: Columns that traces written before them do not have.
_ADDED = frozenset({"residual_sum"})
#: The JSON types that may stand in a column, by the type of its field.
_KINDS: dict[Any, tuple[type, ...]] = {
    int: (int,),
    str: (str,),
    float: (int, float),
    int | None: (int, type(None)),
    str | None: (str, type(None)),
    float | None: (int, float, type(None)),
    tuple[int, ...]: (list, tuple),
    Top | None: (list, tuple, type(None)),
}


class TraceError(ValueError):
    """A trace file that cannot be read; the message is one sentence for the user."""


class Trace:
    """One decode: ``meta`` plus four lists of rows, in the order in which they happened.

    ``token_rows``, ``draft_rows``, ``round_rows`` and ``call_rows`` are lists of the named tuples in
    :mod:`hsd_viz.trace.records`; ``tokens``, ``drafts``, ``rounds`` and ``calls`` the same as pandas DataFrames.
    ``pieces`` maps each token id that occurs to its text.
    """

    def __init__(self, meta: dict[str, Any]) -> None:
        self.meta = meta
        self.pieces: dict[int, str] = {}
        self.token_rows: list[TokenRow] = []
        self.draft_rows: list[DraftRow] = []
        self.round_rows: list[RoundRow] = []
        self.call_rows: list[CallRow] = []

    def __repr__(self) -> str:
        """One line: the stack, how many tokens, how fast, how much of what was drafted was accepted."""
        m = self.metrics()
        speed, rate = m["tokens_per_second"], m["acceptance_rate"]
        facts = [counted(m["tokens"], "token")]
        if speed is not None:
            facts.append(f"{speed:.0f} tokens/s")
        if rate is not None:
            facts.append(f"{m['accepted']} of {m['drafted']} drafted accepted ({rate:.0%})")
        return f"Trace({str(self.meta.get('stack_resolved') or self.meta.get('stack') or '?')!r}: {', '.join(facts)})"

    def append(self, step: Step) -> None:
        """Add the rows of one target round."""
        self.token_rows += step.tokens
        self.draft_rows += step.drafts
        self.round_rows += step.rounds
        self.call_rows += step.calls
        self.pieces.update(step.pieces)

    def rows(self, table: str) -> list:
        """The rows of ``tokens``, ``drafts``, ``rounds`` or ``calls``."""
        return {
            "tokens": self.token_rows,
            "drafts": self.draft_rows,
            "rounds": self.round_rows,
            "calls": self.call_rows,
        }[table]

    def frame(self, table: str) -> pd.DataFrame:
        """One table as a DataFrame: a column for each field of its row class."""
        import pandas as pd

        types = get_type_hints(TABLES[table])
        frame = pd.DataFrame(_columns(TABLES[table], self.rows(table)), columns=list(types))
        # Whole numbers stay whole where some rows have none.
        kinds = {int | None: "Int64", float | None: "float64"}
        return frame.astype({name: kinds[kind] for name, kind in types.items() if kind in kinds})

    @property
    def tokens(self) -> pd.DataFrame:
        """One row per emitted token (:class:`~hsd_viz.trace.records.TokenRow`)."""
        return self.frame("tokens")

    @property
    def drafts(self) -> pd.DataFrame:
        """One row per token put before a verifier (:class:`~hsd_viz.trace.records.DraftRow`)."""
        return self.frame("drafts")

    @property
    def rounds(self) -> pd.DataFrame:
        """One row per verification (:class:`~hsd_viz.trace.records.RoundRow`)."""
        return self.frame("rounds")

    @property
    def calls(self) -> pd.DataFrame:
        """One row per forward or look-up (:class:`~hsd_viz.trace.records.CallRow`)."""
        return self.frame("calls")

    @property
    def token_ids(self) -> list[int]:
        """The emitted token ids."""
        return [t.token_id for t in self.token_rows]

    @property
    def text(self) -> str:
        """The emitted text; bytes that form no character are shown as U+FFFD."""
        raw = b"".join(bytes.fromhex(t.raw) if t.raw is not None else t.text.encode() for t in self.token_rows)
        return raw.decode("utf-8", errors="replace")

    def metrics(self) -> dict[str, Any]:
        """Rounds, acceptance, speed and sources of the whole run: see :func:`hsd_viz.trace.metrics.metrics`."""
        from hsd_viz.trace.metrics import metrics

        return metrics(self)

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain JSON data, one list per column."""
        tables = {name: _columns(row, self.rows(name)) for name, row in TABLES.items()}
        pieces = {str(k): v for k, v in self.pieces.items()}
        return {"format": _FORMAT, "schema": SCHEMA_VERSION, "meta": self.meta, "pieces": pieces, **tables}

    @classmethod
    def from_dict(cls, data: Any) -> Trace:
        """The inverse of :meth:`to_dict`; raises :class:`TraceError` for anything that is not a whole trace."""
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise TraceError(f"this is not an hsd_viz trace: {_what_else(data)}")
        schema = data.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise TraceError(f"this trace is broken: its schema version is {schema!r}, not a whole number from 1")
        if schema > SCHEMA_VERSION:
            raise TraceError(
                f"this trace has schema version {schema}, this hsd_viz reads up to {SCHEMA_VERSION}: update hsd_viz to open it"
            )
        try:
            trace = cls(dict(data["meta"]))
            trace.pieces = {int(k): str(v) for k, v in data["pieces"].items()}
            for name, row in TABLES.items():
                columns = {field: _column(data[name], row, field) for field in row._fields}
                _check_columns(name, row, columns)
                trace.rows(name).extend(row(*map(_tuples, values)) for values in zip(*columns.values(), strict=True))
            missing = [key for key in _META if key not in trace.meta]
        except KeyError as error:
            raise TraceError(f"this trace is broken: it has no {error}") from None
        except (TypeError, ValueError, AttributeError):
            raise TraceError("this trace is broken: its parts are not of the form of a trace") from None
        if missing:
            raise TraceError(f"this trace is broken: its meta has no {', '.join(missing)}")
        return trace

    def to_bytes(self, packed: bool = True) -> bytes:
        """The content of its file: JSON, gzipped where ``packed``."""
        text = json.dumps(self.to_dict(), ensure_ascii=True, separators=(",", ":")).encode()
        # mtime=0: the same trace gives the same bytes.
        return gzip.compress(text, mtime=0) if packed else text

    def save(self, path: str | os.PathLike) -> Path:
        """Write the trace as JSON, gzipped when the name ends in ``.gz``; the file appears whole or not at all."""
        path = Path(path)
        payload = self.to_bytes(packed=path.name.endswith(".gz"))
        with replacing(path) as temporary:
            temporary.write_bytes(payload)
        return path

    @classmethod
    def load(cls, path: str | os.PathLike) -> Trace:
        """Read a trace; raises :class:`TraceError` with one sentence when the file is missing, broken or too new."""
        path = Path(path)
        try:
            payload = path.read_bytes()
        except OSError as error:
            raise TraceError(f"cannot read the trace {path}: {error.strerror or error}") from None
        return cls.from_bytes(payload, name=path.name)

    @classmethod
    def from_bytes(cls, payload: bytes, name: str = "trace") -> Trace:
        """Read a trace from the content of its file (gzipped or not)."""
        try:
            if payload[:2] == b"\x1f\x8b":
                payload = gzip.decompress(payload)
            data = json.loads(payload)
        except (OSError, EOFError, ValueError, RecursionError):
            raise TraceError(f"{name} is broken or no trace: it is not whole JSON") from None
        try:
            return cls.from_dict(data)
        except TraceError as error:
            raise TraceError(f"{name}: {error}") from None


def _what_else(data: Any) -> str:
    """What a file that is no trace is, in words: people have several of ours."""
    has = data.keys() if isinstance(data, dict) else ()
    if "stacks" in has and "machine" in has:
        return "it is a report of hsd-viz bench, which the dashboard opens in its tab Benchmark"
    if "hierarchies" in has:
        return "it is what hsd-viz plan wrote, hierarchies by their predicted speed"
    if "traceEvents" in has:
        return "it was written for the viewer Perfetto; what can be opened again is what Save calls a trace"
    if isinstance(data, dict) and isinstance(data.get("format"), str):
        return f"it says that it is '{data['format'][:60]}'"
    return "it holds other data than those that hsd_viz writes of a run"


def _columns(row: type, rows: list) -> dict[str, list]:
    """The rows of one table as one list per column."""
    return (
        dict(zip(row._fields, map(list, zip(*rows, strict=True)), strict=True))
        if rows
        else {field: [] for field in row._fields}
    )


def _column(table: dict[str, Any], row: type, field: str) -> Any:
    """A column of a table; one that came with a later version, and that an older trace lacks, has its default in every row."""
    if field in _ADDED and field not in table:
        return [row._field_defaults[field]] * len(table[row._fields[0]])
    return table[field]


def _check_columns(table: str, row: type, columns: dict[str, list]) -> None:
    """Raise :class:`TraceError` unless all columns are lists of one length with values of the row's types."""
    lengths = {len(column) for column in columns.values() if isinstance(column, list)}
    if len(lengths) != 1 or not all(isinstance(column, list) for column in columns.values()):
        raise TraceError(f"this trace is broken: the columns of its table '{table}' are not lists of one length")
    for field, kind in get_type_hints(row).items():
        allowed = _KINDS[kind]
        if not all(type(value) in allowed for value in columns[field]):
            raise TraceError(
                f"this trace is broken: column '{field}' of its table '{table}' holds what cannot stand there"
            )


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
