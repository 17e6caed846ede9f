"""The compiled loop: a whole decode by native models and a native database drafter, in one call at
a time.

``src/loop.hpp`` is :class:`~hsd_viz.decoding.loop.Loop` in C++: the same rounds with the same
verdicts, and the same rows. A call lasts some 40 ms, without Python's lock, and returns what
happened meanwhile as columns of the trace's tables; a decode is cancelled by making no further
call.

``src/drafter.hpp`` makes the trees of :class:`~hsd_viz.drafting.db.DatabaseDrafter`, which says
what is drafted and why, with the same arithmetic in the same order: a forward pass sweeps the
processor's caches, so that an interpreter takes several times as long between two of them as in a
loop of its own.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref
from math import isnan

import numpy as np

from hsd_viz.decoding.loop import LIKELIEST, PREFILL_CHUNK, Loop
from hsd_viz.drafting.context import ContextDatabase
from hsd_viz.drafting.db import (
    DISCOUNTS,
    LONGEST_BUCKET,
    MAX_SHARE,
    MOST_RATE,
    PRIOR_WEIGHT,
    DatabaseDrafter,
    priors,
)
from hsd_viz.drafting.index.format import MOST_IN_BUCKET, Index
from hsd_viz.drafting.make import OF_THE_TEXT
from hsd_viz.drafting.semantic import SEMANTIC, SemanticDatabase, watched_layer
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.native.model import (
    Copying,
    DecodeSettings,
    Drafting,
    IndexFile,
    LevelSettings,
    NativeModel,
    NativeSession,
    Rule,
    integers,
    owned,
)
from hsd_viz.trace.tables import RULES, TABLES, Column, Columns
from hsd_viz.words import MAX_BUDGET

#: The time of a call, so that a decode can be followed and cancelled.
CALL_NS = 40_000_000
#: The library's rows: a number for each column, and :data:`LIKELIEST` pairs for a list of the
#: likeliest tokens.
_ROWS = {
    name: np.dtype(
        [(c.name, "f8", (LIKELIEST, 2) if c.kind == "top" else ()) for c in table.columns.values()]
    )
    for name, table in TABLES.items()
}
#: The longest keys it can have: ``MOST_KEY`` of ``src/database.hpp``.
LONGEST = 16
#: Numbers of a node of a tree: token, parent, database, key length, count, position, depth, cosine,
#: score.
_COLUMNS = 9


def drafting_of(longest: int) -> ctypes.Structure:
    """Return the numbers of a drafter with keys of up to ``longest`` tokens."""
    counted = ContextDatabase.recent, ContextDatabase.most
    return Drafting(MAX_SHARE, PRIOR_WEIGHT, MOST_RATE, longest, *counted, LONGEST_BUCKET)


def copying_of(database: type[SemanticDatabase]) -> ctypes.Structure:
    """Return the numbers of a semantic database."""
    return Copying(
        database.least_cosine,
        database.band_width,
        database.most,
        database.scanned,
        database.bands,
    )


def native_drafter(drafter: Drafter | None, library: ctypes.CDLL) -> Drafter | None:
    """Return the native equivalent of a drafter that has not begun a run, itself if there is
    none.
    """
    if type(drafter) is not DatabaseDrafter or drafter.longest > LONGEST:
        return drafter
    stored = [source for source in drafter.sources if source not in OF_THE_TEXT]
    for index in (drafter.databases[source] for source in stored):
        # The library reads files with the usual element sizes.
        usual = type(index) is Index and {
            index.starts.itemsize,
            index.marks.itemsize,
            index.places.itemsize,
        } == {4}
        if not usual or not 0 <= index.bits < 32:
            return drafter
    return NativeDatabaseDrafter(library, drafter)


class NativeDatabaseDrafter:
    """A :class:`~hsd_viz.drafting.tree.Drafter` with the settings of ``reference``, whose shared
    databases are files. Raises: MemoryError: if there is too little memory.
    """

    name = DatabaseDrafter.name
    nodes = DatabaseDrafter.nodes

    def __init__(self, library: ctypes.CDLL, reference: DatabaseDrafter) -> None:
        self.library = library
        self._native = library.quick
        self.sources = reference.sources
        self._reference = reference
        self.state_depth = reference.state_depth
        self._free: weakref.finalize | None = None
        self._out = (ctypes.c_double * (_COLUMNS * MAX_BUDGET))()

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with this prompt."""
        if self._free is not None:
            self._free()
        native = self._native
        reference = self._reference
        #: The drafter in the library; it lives as long as this object, or until the next start.
        self.handle = native.hsd_drafter_new(byref(drafting_of(reference.longest)))
        self._free = owned(self, native.hsd_drafter_free, self.handle)
        for source in self.sources:
            rates = np.array(priors(source, reference.temperature)).ctypes
            discount = DISCOUNTS[source]
            if source == SEMANTIC:
                copying = byref(copying_of(SemanticDatabase))
                native.hsd_drafter_add_semantic(self.handle, copying, rates.data, discount)
                continue
            file = None if source == "context" else byref(_file(reference.databases[source]))
            native.hsd_drafter_add(self.handle, file, rates.data, discount)
        native.hsd_drafter_ends(self.handle, integers(tuple(reference.eos)), len(reference.eos))
        at, slopes = np.array(reference.costs.tables(MAX_BUDGET))
        least = reference.costs.least_slope, reference.min_score
        native.hsd_drafter_costs(self.handle, at.ctypes.data, slopes.ctypes.data, len(at), *least)
        self._emitted = 0
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """Learn from these emitted tokens and remember them."""
        self._native.hsd_drafter_extend(self.handle, integers(tokens), len(tokens))
        self._emitted += len(tokens)

    def watch(self, layers: int) -> None:
        """Have a compiled decode pass the states of a target with so many layers, if the drafter
        needs any.
        """
        if self.state_depth is not None:
            self._native.hsd_drafter_watch(self.handle, watched_layer(self.state_depth, layers))

    def observe_states(self, states: np.ndarray) -> None:
        """Remember the int8 states ``[n, width]`` of the next places of the text."""
        numbers = np.ascontiguousarray(states)
        self._native.hsd_drafter_states(self.handle, numbers.ctypes.data, *numbers.shape)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the tree of at most ``budget`` nodes after ``text``."""
        if budget < 1:
            return DraftTree(why_empty="no room")
        length = len(text)
        tail = text[-max(self._reference.longest, length - self._emitted) :]
        n = self._native.hsd_drafter_draft(
            self.handle, integers(tail), len(tail), length, budget, self._out
        )
        if n < 1:
            return DraftTree(why_empty="not worth it" if n else "no match")
        *columns, cosines, scores = [
            self._out[k : n * _COLUMNS : _COLUMNS] for k in range(_COLUMNS)
        ]
        tokens, parents, sources, lengths, counts, positions, depths = (
            [int(v) for v in column] for column in columns
        )
        return DraftTree(
            tokens=tokens,
            parents=parents,
            sources=[self.sources[source] for source in sources],
            key_lengths=[None if length < 0 else length for length in lengths],
            counts=list(counts),
            scores=list(scores),
            positions=[None if position < 0 else position for position in positions],
            cosines=[None if isnan(cosine) else cosine for cosine in cosines],
            _depths=depths,
        )


def _file(index: Index) -> ctypes.Structure:
    """Return where the arrays of an index are. They stay there for the index's lifetime."""
    views = (index.starts, index.marks, index.places, index.values)
    places = (np.frombuffer(view, np.uint8).ctypes.data if len(view) else None for view in views)
    shape = (
        index.limit,
        index.values.itemsize,
        index.wide,
        index.bits,
        index.longest,
        MOST_IN_BUCKET,
    )
    return IndexFile(*places, *map(len, views), *shape)


class NativeDecode(Loop):
    """The compiled loop, for levels of native sessions, which compute in one type and have one
    vocabulary, and a native drafter. Raises: MemoryError: if there is too little memory.
    ValueError: if a token is outside of the vocabulary.
    """

    drafter: NativeDatabaseDrafter | None
    #: The library's rows by table since they were last taken: doubles.
    _happened: dict[str, list[bytes]]

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        self._open()
        whole = len(self.text) - 1
        parts = range(0, max(1, len(self.text) - 1), PREFILL_CHUNK)
        for level in self.levels:
            database = level is None
            name = "" if level is None else level.name
            for begin in [0] if database else parts:
                self._more = self._call(0, "calls")
                if whole and not database:
                    yield name, min(begin + PREFILL_CHUNK, whole), whole

    def rounds(self, ns: int | None = None) -> Iterator[list[int]]:
        """Decode to the end; yields the tokens that each call of about ``ns`` (default:
        :data:`CALL_NS`) brought.
        """
        while self._more:
            self._more = self._call(CALL_NS if ns is None else ns, *TABLES)
            tokens = (
                np.frombuffer(self._happened["tokens"][-1], _ROWS["tokens"])["token_id"]
                .astype(int)
                .tolist()
            )
            self.text += tokens
            yield tokens

    def take(self) -> Callable[[], dict[str, Columns]]:
        happened = self._happened
        names = self._names
        self._happened = {name: [] for name in TABLES}
        return lambda: {
            table: _columns(table, b"".join(parts), names) for table, parts in happened.items()
        }

    # --- inside -----------------------------------------------------------------------------------

    def _open(self) -> None:
        drafter = self.drafter
        sampling = self.sampling
        levels = self.written
        sessions: list[NativeSession] = [level.session for level in levels]  # type: ignore[misc]
        target = sessions[-1].model
        library = sessions[-1].model.library
        assert self.details <= LIKELIEST and can_compile(
            [session.model for session in sessions], drafter
        )
        names = [*([drafter.name] if drafter else []), *(level.name for level in levels)]
        #: The values of columns that the library has as numbers; a source is a level or, after
        #: these, a database.
        self._names = {
            "name": names,
            "source": [*names[:-1], "target", *(drafter.sources if drafter else ())],
            "path": _Paths(),
        }
        self._happened = {name: [] for name in TABLES}
        if drafter is not None:
            drafter.start(())
            drafter.watch(target.layers)
        specs = (LevelSettings * len(levels))()
        for k, (session, level) in enumerate(zip(sessions, levels, strict=True)):
            specs[k] = session.settings(
                self.limit,
                level.lookahead or 0,
                RULES.index(sampling.rule),
                level.confidence,
                level.positions,
            )
        drawing = Rule(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            top_k=min(sampling.top_k, target.vocab_size),
        )
        settings = DecodeSettings(
            drawing, sampling.seed, target.vocab_size, self.limit, self.budget or 0, self.details
        )
        tokens = integers(self.text)
        ends = integers(tuple(self.eos))
        below = drafter.handle if drafter else None
        given = (
            target.compute.itemsize == 8,
            specs,
            len(specs),
            below,
            tokens,
            len(tokens),
            ends,
            len(ends),
        )
        self._library = library
        self._handle = library.hsd_decode_new(byref(settings), *given)
        owned(self, library.hsd_decode_free, self._handle, sessions, drafter)

    def _call(self, ns: int, *tables: str) -> bool:
        """Decode for about ``ns``, and copy the rows of these tables; return whether there is more
        to do.
        """
        more = self._library.hsd_decode_run(self._handle, ns, self.now())
        start = ctypes.c_void_p()
        rows = self._library.quick.hsd_decode_rows
        for table in tables:
            n = rows(self._handle, [*_ROWS].index(table), byref(start))
            self._happened[table].append(ctypes.string_at(start, 8 * n))
        return more > 0


class _Paths:
    """The levels of a path by the library's number of it: the sum of 2 to the power of each."""

    def __getitem__(self, number: int) -> list[int]:
        return [level for level in range(number.bit_length()) if number >> level & 1]


def _columns(table: str, rows: bytes, names: dict[str, list]) -> Columns:
    """Return the library's rows as columns."""
    numbers = np.frombuffer(rows, _ROWS[table])
    columns = TABLES[table].columns.values()
    return {c.name: _values(c, numbers[c.name], names.get(c.name, c.names)) for c in columns}


def _values(column: Column, numbers: np.ndarray, names: Sequence) -> list:
    """Return the values of a column of numbers; numbers of texts and paths are places in
    ``names``.
    """
    if column.kind == "top":
        return [[[int(token), p] for token, p in row if p == p] or None for row in numbers.tolist()]
    if column.kind == "int" and not column.null:
        return numbers.astype(int).tolist()
    change = {"int": int, "float": float}.get(column.kind) or (lambda number: names[int(number)])
    return [None if value != value else change(value) for value in numbers.tolist()]


def can_compile(models: Sequence[object], drafter: object) -> bool:
    """Return whether the compiled loop can decode with these models and this drafter (``None``: no
    drafter).
    """
    shapes = {
        (model.compute, model.vocab_size) if isinstance(model, NativeModel) else None
        for model in models
    }
    return (
        len(shapes) == 1
        and None not in shapes
        and isinstance(drafter, NativeDatabaseDrafter | None)
    )
