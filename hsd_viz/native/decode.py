"""The compiled loop: a whole decode by native models and a native database drafter, in one call at a time.

``src/loop.hpp`` is :class:`~hsd_viz.decoding.loop.Loop` in C++: the same rounds with the same verdicts, and the same
rows. A call lasts some 40 ms, without Python's lock, and returns what happened meanwhile as columns of the trace's
tables; a decode is cancelled by making no further call.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hsd_viz.decoding.record import Decoding
from hsd_viz.native.drafter import NativeDatabaseDrafter
from hsd_viz.native.library import DecodeSettings, LevelSettings, Rule, failure, integers
from hsd_viz.native.model import NativeModel, NativeSession
from hsd_viz.trace.tables import RULES, TABLES, Column, Columns

#: The time of a call, so that a decode can be followed and cancelled.
CALL_NS = 40_000_000
#: The most tokens of the prompt that are fed at a time: ``PREFILL_CHUNK`` of ``src/loop.hpp``.
PREFILL_CHUNK = 512
#: How many of the likeliest tokens there is room for in a row.
TOP = 5
_PLACES = {name: place for place, name in enumerate(TABLES)}


def _width(column: Column) -> int:
    """Return how many numbers the library has for a value of a column."""
    return 2 * TOP if column.kind == "top" else 1


class Batch:
    """What happened in one call: the library's rows of numbers by table, as columns when they are asked for. ``levels``
    are the names of the levels, ``sources`` those of what may have proposed a token.
    """

    def __init__(self, rows: dict[str, np.ndarray], levels: list[str], sources: list[str]) -> None:
        self._rows = rows
        self._names = {"name": levels, "source": sources}
        self._paths = [list(range(start, len(levels))) for start in range(len(levels))]
        #: The emitted tokens.
        self.tokens: list[int] = rows["tokens"][:, 1].astype(int).tolist()

    def columns(self) -> dict[str, Columns]:
        """Return the four tables as they are declared, without the texts of tokens."""
        tables: dict[str, Columns] = {}
        for name, table in TABLES.items():
            ends = np.cumsum([_width(column) for column in table.columns.values()])[:-1]
            parts = np.split(self._rows[name], ends, axis=1)
            tables[name] = {
                c.name: self._values(c, part) for c, part in zip(table.columns.values(), parts, strict=True)
            }
        return tables

    def _values(self, column: Column, numbers: np.ndarray) -> list:
        """Return the values of a column."""
        if column.kind == "top":
            pairs = numbers.reshape(-1, TOP, 2).tolist()
            return [[[int(token), p] for token, p in row if p == p] or None for row in pairs]
        if column.kind == "int" and not column.null:
            return numbers[:, 0].astype(int).tolist()
        values = numbers[:, 0].tolist()
        if column.kind == "float":
            return [None if value != value else value for value in values]
        if column.kind == "int":
            return [None if value != value else int(value) for value in values]
        of = self._paths if column.kind == "ints" else self._names.get(column.name, column.about.names)
        return [None if value != value else of[int(value)] for value in values]


class NativeDecode(Decoding):
    """The compiled loop, for levels of native sessions, which compute in one type and have one vocabulary, and a native
    drafter; forward passes have up to ``threads`` threads.

    Raises:
        MemoryError: if there is too little memory.
        ValueError: if a token is outside of the vocabulary.
    """

    drafter: NativeDatabaseDrafter | None

    def __init__(self, *given: Any, threads: int = 1, **limits: Any) -> None:
        super().__init__(*given, **limits)
        self._threads, self._more = threads, 1
        self._models = [level for level in self.levels if level is not None]
        self._names = [*([self.drafter.name] if self.drafter else []), *(level.name for level in self._models)]
        #: The names of what may have proposed a token, by its number: the levels, then the databases.
        self._sources = [*self._names[:-1], "target", *(self.drafter.sources if self.drafter else ())]
        #: Calls of the prefill that no batch had yet.
        self._filled: list[np.ndarray] = []

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        self._open()
        whole, parts = len(self.text) - 1, range(0, max(1, len(self.text) - 1), PREFILL_CHUNK)
        for k, name in enumerate(self._names):
            database = k == 0 and self.drafter is not None
            for begin in [0] if database else parts:
                self._call(0)
                self._filled.append(self._rows("calls"))
                if whole and not database:
                    yield name, min(begin + PREFILL_CHUNK, whole), whole

    def rounds(self, ns: int | None = None) -> Iterator[Batch]:
        """Decode to the end; yields what each call of about ``ns`` (default: :data:`CALL_NS`) brought; ``text`` grows
        by its tokens.
        """
        while self._more:
            self._call(CALL_NS if ns is None else ns)
            rows = {table: self._rows(table) for table in TABLES}
            if self._filled:
                rows["calls"], self._filled = np.concatenate([*self._filled, rows["calls"]]), []
            batch = Batch(rows, self._names, self._sources)
            self.text += batch.tokens
            yield batch

    def tables(self, batch: Batch) -> Callable[[], dict[str, Columns]]:
        """Return a function that makes the tables of a batch."""
        return batch.columns

    # --- inside ----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        drafter, sampling, levels = self.drafter, self.sampling, self._models
        sessions: list[NativeSession] = [level.session for level in levels]  # type: ignore[misc]
        target, library = sessions[-1].model, sessions[-1].model.library
        assert self.details <= TOP and can_compile([session.model for session in sessions], drafter)
        if drafter is not None:
            drafter.start(())
            drafter.make_room(self.budget)
        rules = [RULES.index(level.rule or sampling.rule) for level in levels]
        specs = (LevelSettings * len(levels))(
            *(
                session.settings(self.limit, level.lookahead or 0, rule, self._threads)
                for session, level, rule in zip(sessions, levels, rules, strict=True)
            )
        )
        drawing = Rule(sampling.temperature, sampling.top_p, min(sampling.top_k, target.vocab_size))
        sizes = target.vocab_size, self.limit, self.budget or 0, self.details
        settings = DecodeSettings(drawing, sampling.seed, *sizes)
        tokens, ends = integers(self.text), integers(tuple(self.eos))
        below = drafter.handle if drafter else None
        given = settings, target.compute.itemsize == 8, specs, len(specs), below, tokens, len(tokens), ends, len(ends)
        self._library, self._handle = library, library.hsd_decode_new(*given)
        if not self._handle:
            raise failure(library)
        # The finalizer keeps sessions and drafter alive. Nothing is freed at exit: a call may still be running.
        weakref.finalize(self, _free, library, self._handle, sessions, drafter).atexit = False

    def _call(self, ns: int) -> None:
        self._more = self._library.hsd_decode_run(self._handle, ns, self.log.now())
        if self._more < 0:
            raise failure(self._library)

    def _rows(self, table: str) -> np.ndarray:
        """Return the rows of the last call: a copy of the library's."""
        start, width = ctypes.c_void_p(), sum(map(_width, TABLES[table].columns.values()))
        n = self._library.quick.hsd_decode_rows(self._handle, _PLACES[table], start)
        return np.frombuffer(ctypes.string_at(start, 8 * n * width)).reshape(n, width)


def can_compile(models: Sequence[object], drafter: object) -> bool:
    """Return whether the compiled loop can decode with these models and this drafter (``None``: no drafter)."""
    if not all(isinstance(model, NativeModel) for model in models):
        return False
    same = len({(model.compute, model.vocab_size) for model in models}) == 1
    return same and (drafter is None or isinstance(drafter, NativeDatabaseDrafter))


def _free(library: ctypes.CDLL, handle: int, *used: object) -> None:
    library.hsd_decode_free(handle)
