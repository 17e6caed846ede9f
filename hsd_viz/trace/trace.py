"""A recorded decode: rows, tables, and one versioned file."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from hsd_viz.card import card, line, table
from hsd_viz.disk import write_whole
from hsd_viz.trace import metrics
from hsd_viz.trace.records import CallRow, DraftRow, RoundRow, Rows, TokenRow, Top
from hsd_viz.words import counted

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
#: The largest file that is read, in bytes of JSON: about 500 000 tokens.
MOST_BYTES = 2_000_000_000
TABLES: dict[str, Any] = {"tokens": TokenRow, "drafts": DraftRow, "rounds": RoundRow, "calls": CallRow}
_FORMAT = "hsd_viz trace"
#: Found by name when a trace is shown, as pandas finds its plotting backend: this package stays pure.
_VIEWS = "hsd_viz.views"
#: The required keys of a trace's meta; the rest depends on the engine.
_META = ("stack", "prompt", "prompt_ids", "prefill_ns", "wall_ns")
#: Columns that older traces lack.
_ADDED = frozenset({"residual_sum", "h", "rule", "recut"})
#: The JSON types allowed in a column, by the type of its field.
_KINDS: dict[Any, tuple[type, ...]] = {
    int: (int,),
    str: (str,),
    float: (int, float),
    int | None: (int, type(None)),
    str | None: (str, type(None)),
    float | None: (int, float, type(None)),
    tuple[int, ...]: (list, tuple),
    tuple[str, ...] | None: (list, tuple, type(None)),
    Top | None: (list, tuple, type(None)),
}

#: Characters of the prompt and of the text in the form for notebooks.
_SHOWN = 240
#: The metrics in it: key, title, format.
_FIGURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("tokens", "tokens", str),
    ("rounds", "target rounds", str),
    ("mean_acceptance_length", "tokens per target forward pass", "{:.2f}".format),
    ("acceptance_rate", "acceptance rate", "{:.0%}".format),
    ("tokens_per_second", "tokens/s after prefill", "{:.0f}".format),
    ("seconds", "decoding, seconds", "{:.3f}".format),
    ("repetition_share", "repetition", "{:.0%}".format),
)


class TraceError(ValueError):
    """A trace file that cannot be read; the message is one line for the user."""


class Trace(Rows):
    """One decode: the rows (:class:`~hsd_viz.trace.records.Rows`) with tables, metrics and files. ``tokens``,
    ``drafts``, ``rounds`` and ``calls`` are the rows as pandas DataFrames. ``len(trace)`` is the number of emitted
    tokens.
    """

    def __init__(self, meta: dict[str, Any]) -> None:
        super().__init__(meta)
        #: The tables made so far, with their number of rows.
        self._tables: dict[str, tuple[int, pd.DataFrame]] = {}

    def __len__(self) -> int:
        return len(self.token_rows)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        """Return one line: the stack, the number of tokens, the speed and the acceptance rate."""
        m = self.metrics()
        speed, rate = m["tokens_per_second"], m["acceptance_rate"]
        facts = ["tokens not observed" if m["tokens"] is None else counted(m["tokens"], "token")]
        if speed is not None:
            facts.append(f"{speed:.0f} tokens/s")
        if rate is not None and m["drafted"] is not None:
            facts.append(f"{m['accepted']} of {m['drafted']} drafted accepted ({rate:.0%})")
        return f"Trace({self.stack or '?'!r}: {', '.join(facts)})"

    @property
    def prompt(self) -> str:
        """The prompt as text."""
        return str(self.meta.get("prompt", ""))

    @property
    def stack(self) -> str:
        """The stack as decoded, with all lookaheads."""
        return str(self.meta.get("stack_resolved") or self.meta.get("stack") or "")

    def show(self) -> Any:
        """Return the text, its rounds and its timeline as views with one cursor, for a notebook."""
        return import_module(_VIEWS).overview(self)

    def to_html(self) -> str:
        """Return the run as one interactive page of HTML that opens offline."""
        return import_module(_VIEWS).run_page(self)

    def _repr_html_(self) -> str:
        """Return the stack, the machine, the metrics and the beginning of the text for a notebook."""
        meta, metrics = self.meta, self.metrics()
        short = lambda text: text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
        sampling = meta.get("sampling") or {}
        temperature = sampling.get("temperature")
        drawn = None if temperature is None else f"temperature {temperature:g}" if temperature else "greedy"
        facts = [drawn, meta.get("device_name") or meta.get("device"), meta.get("dtype"), meta.get("stop_reason")]
        rows = [
            (words, "–" if metrics[key] is None else write(metrics[key]))
            for key, words, write in _FIGURES
            if key in metrics
        ]
        texts = [("prompt", short(self.prompt)), ("text", short(self.text))]
        about = line(" · ".join(str(fact) for fact in facts if fact))
        return card("Trace", self.stack or "?", about, table((), rows), table((), texts))

    def frame(self, table: str) -> pd.DataFrame:
        """Return one table as a DataFrame, one column per field of its row class."""
        import pandas as pd

        types = get_type_hints(TABLES[table])
        frame = pd.DataFrame(_columns(TABLES[table], self.rows(table)), columns=list(types))
        # Integers stay integers where some rows have none.
        kinds = {int | None: "Int64", float | None: "float64"}
        return frame.astype({name: kinds[kind] for name, kind in types.items() if kind in kinds})

    @property
    def tokens(self) -> pd.DataFrame:
        """One row per emitted token (:class:`~hsd_viz.trace.records.TokenRow`)."""
        return self._table("tokens")

    @property
    def drafts(self) -> pd.DataFrame:
        """One row per token submitted to a verifier (:class:`~hsd_viz.trace.records.DraftRow`)."""
        return self._table("drafts")

    @property
    def rounds(self) -> pd.DataFrame:
        """One row per verification (:class:`~hsd_viz.trace.records.RoundRow`); ``round``, as in other tables, is its
        ``id``.
        """
        return self._table("rounds")

    @property
    def calls(self) -> pd.DataFrame:
        """One row per forward pass or look-up (:class:`~hsd_viz.trace.records.CallRow`)."""
        return self._table("calls")

    def _table(self, table: str) -> pd.DataFrame:
        """Return a copy of a table, which is built once for its rows."""
        count, frame = self._tables.get(table, (-1, None))
        if count != len(self.rows(table)):
            frame = self.frame(table)
            if table == "rounds":
                frame.insert(0, "round", frame["id"])
            self._tables[table] = len(frame), frame
        return frame.copy()

    @property
    def text(self) -> str:
        """The emitted text; bytes that form no character become U+FFFD."""
        return b"".join(t.bytes for t in self.token_rows).decode("utf-8", errors="replace")

    def metrics(self) -> dict[str, Any]:
        """Return rounds, acceptance, speed and sources of the run: see :func:`hsd_viz.trace.metrics.metrics`."""
        return metrics.metrics(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain JSON data, one list per column."""
        tables = {name: _columns(row, self.rows(name)) for name, row in TABLES.items()}
        pieces = {str(k): v for k, v in self.pieces.items()}
        return {"format": _FORMAT, "schema": SCHEMA_VERSION, "meta": self.meta, "pieces": pieces, **tables}

    @classmethod
    def from_dict(cls, data: Any) -> Trace:
        """Return the inverse of :meth:`to_dict`. Raises: TraceError: if ``data`` is not a complete trace."""
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise TraceError(f"this is not an hsd_viz trace: {_describe_other(data)}")
        schema = data.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise TraceError(
                f"the trace is not valid: its schema version is {schema!r}, expected a whole number from 1"
            )
        if schema > SCHEMA_VERSION:
            raise TraceError(
                f"the trace has schema version {schema}, this hsd_viz reads up to {SCHEMA_VERSION}: update hsd_viz"
            )
        try:
            trace = cls(dict(data["meta"]))
            trace.pieces = {int(k): str(v) for k, v in data["pieces"].items()}
            for name, row in TABLES.items():
                columns = {field: _column(data[name], row, field) for field in row._fields}
                _check_columns(name, row, columns)
                trace.rows(name).extend(row(*map(tuples, values)) for values in zip(*columns.values(), strict=True))
            missing = [key for key in _META if key not in trace.meta]
        except KeyError as error:
            raise TraceError(f"the trace is not valid: {error} is missing") from None
        except (TypeError, ValueError, AttributeError):
            raise TraceError("the trace is not valid: its parts do not have the structure of a trace") from None
        if missing:
            raise TraceError(f"the trace is not valid: its meta lacks {', '.join(missing)}")
        return trace

    def to_bytes(self, packed: bool = True) -> bytes:
        """Return the content of its file: JSON, gzipped if ``packed``."""
        text = json.dumps(self.to_dict(), ensure_ascii=True, separators=(",", ":")).encode()
        # mtime=0: the same trace gives the same bytes.
        return gzip.compress(text, mtime=0) if packed else text

    def save(self, path: str | os.PathLike) -> Path:
        """Write the trace as JSON, gzipped when the name ends in ``.gz``; the file appears whole or not at all."""
        path = Path(path)
        write_whole(path, self.to_bytes(packed=path.name.endswith(".gz")))
        return path

    @classmethod
    def load(cls, path: str | os.PathLike) -> Trace:
        """Read a trace. Raises: TraceError: if the file is missing, invalid or of a newer version."""
        path = Path(path)
        try:
            payload = path.read_bytes()
        except OSError as error:
            raise TraceError(f"cannot read the trace {path}: {error.strerror or error}") from None
        return cls.from_bytes(payload, name=path.name)

    @classmethod
    def from_bytes(cls, payload: bytes, name: str = "trace", most: int = MOST_BYTES) -> Trace:
        """Read a trace from the content of its file (gzipped or not), of at most ``most`` bytes unpacked."""
        payload = _unpacked(payload, name, most)
        try:
            data = json.loads(payload)
        except (ValueError, RecursionError):
            raise TraceError(f"{name} is not a valid trace: the JSON is incomplete") from None
        try:
            return cls.from_dict(data)
        except TraceError as error:
            raise TraceError(f"{name}: {error}") from None


def _unpacked(content: bytes, name: str, most: int) -> bytes:
    """Unpack at most ``most`` bytes: a small file can unpack to any size."""
    if content[:2] != b"\x1f\x8b":
        return content
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(content, most)
        if unpacking.unconsumed_tail:
            raise TraceError(f"{name} is too large: the maximum is {most / 1e6:.0f} MB unpacked")
        if not unpacking.eof:
            raise zlib.error
    except zlib.error:
        raise TraceError(f"{name} is not a valid trace: its gzip data is incomplete or damaged") from None
    return text


def _describe_other(data: Any) -> str:
    """Return what a file that is not a trace appears to be."""
    keys = data.keys() if isinstance(data, dict) else ()
    if "stacks" in keys and "machine" in keys:
        return "it is a report of hsd-viz bench, which the dashboard opens in its tab Benchmark"
    if "hierarchies" in keys:
        return "it is the output of hsd-viz plan: hierarchies by their predicted speed"
    if "traceEvents" in keys:
        return "it was exported for the viewer Perfetto; only files written by Save as a trace can be opened"
    if isinstance(data, dict) and isinstance(data.get("format"), str):
        return f"its format is '{data['format'][:60]}'"
    return "its data was not written by hsd_viz for a run"


def _columns(row: Any, rows: list) -> dict[str, list]:
    """Return the rows of one table as one list per column."""
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in row._fields)
    return dict(zip(row._fields, columns, strict=True))


def _column(table: dict[str, Any], row: Any, field: str) -> Any:
    """Return a column of a table; one that an older trace lacks has its default in every row."""
    if field in _ADDED and field not in table:
        return [row._field_defaults[field]] * len(table[row._fields[0]])
    return table[field]


def _check_columns(table: str, row: Any, columns: dict[str, list]) -> None:
    """Raise :class:`TraceError` unless all columns are lists of one length with values of the row's types."""
    lengths = {len(column) for column in columns.values() if isinstance(column, list)}
    if len(lengths) != 1 or not all(isinstance(column, list) for column in columns.values()):
        raise TraceError(f"the trace is not valid: the columns of its table '{table}' are not lists of one length")
    for field, kind in get_type_hints(row).items():
        allowed = _KINDS[kind]
        if not all(type(v) in allowed and (type(v) is not int or abs(v) < 2**63) for v in columns[field]):
            raise TraceError(
                f"the trace is not valid: column '{field}' of its table '{table}' has values of a wrong type"
            )


def tuples(value: Any) -> Any:
    """Return the lists in a JSON value as tuples."""
    return tuple(tuples(v) for v in value) if isinstance(value, list) else value
