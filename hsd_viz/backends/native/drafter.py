"""The database drafter in the native runtime: the trees of :class:`~hsd_viz.drafting.db.DatabaseDrafter`, faster.

Between two rounds the forward pass sweeps the model's weights through the processor's caches, so drafting starts cold
in every round, and an interpreter then takes several times as long as in a loop of its own. The class in
:mod:`hsd_viz.drafting` documents what is drafted and why; ``src/drafter.hpp`` does the same, with the same arithmetic
in the same order.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from hsd_viz.backends.native.library import Drafting, IndexFile, failure
from hsd_viz.drafting.context import ContextDatabase, Database
from hsd_viz.drafting.db import MAX_SHARE, DatabaseDrafter
from hsd_viz.drafting.estimates import DISCOUNTS, LONGEST_BUCKET, MOST_RATE, PRIOR_WEIGHT, priors
from hsd_viz.drafting.index.format import MOST_IN_BUCKET, GuardedIndex, Index
from hsd_viz.drafting.tree import Drafter, DraftTree

#: The longest keys it can have: ``MOST_KEY`` of ``src/database.hpp``.
LONGEST = 16
#: Tokens that there is room for at first.
MOST_IN = 512


def native_drafter(drafter: Drafter | None, library: ctypes.CDLL) -> Drafter | None:
    """Return the native equivalent of a drafter that has not begun a run, itself if there is none."""
    if type(drafter) is not DatabaseDrafter or drafter.longest > LONGEST:
        return drafter
    files = [drafter.databases[source] for source in drafter.sources if source != "context"]
    return NativeDatabaseDrafter(library, drafter) if all(map(_readable, files)) else drafter


class NativeDatabaseDrafter:
    """A :class:`~hsd_viz.drafting.tree.Drafter` with the settings of ``reference``, whose shared databases are files.

    Raises:
        MemoryError: if there is too little memory.
    """

    name = DatabaseDrafter.name
    nodes = DatabaseDrafter.nodes

    def __init__(self, library: ctypes.CDLL, reference: DatabaseDrafter) -> None:
        self._library, self._native = library, library.quick
        self._draft = self._native.hsd_drafter_draft
        self._reference = reference
        self.sources = reference.sources
        self._free: weakref.finalize | None = None
        self._most_in, self._budget = 0, 0
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with this prompt."""
        if self._free is not None:
            self._free()
        native, reference, context = self._native, self._reference, ContextDatabase(self._reference.longest)
        rules = Drafting(
            MAX_SHARE, PRIOR_WEIGHT, MOST_RATE, reference.longest, context.recent, context.most, LONGEST_BUCKET
        )
        self._handle = self._checked(native.hsd_drafter_new(rules))
        self._free = weakref.finalize(self, native.hsd_drafter_free, self._handle)
        self._free.atexit = False
        for source in self.sources:
            file = None if source == "context" else _file(reference.databases[source])
            rates = priors(source, reference.temperature)
            self._checked(
                native.hsd_drafter_add(self._handle, file, (ctypes.c_double * len(rates))(*rates), DISCOUNTS[source])
            )
        self._make_room(MOST_IN, self._budget)
        #: How many tokens were emitted, and the last ones until the library has them: the next draft passes them along.
        self._emitted, self._pending = 0, None
        self.extend(prompt)
        self._flush()

    def extend(self, tokens: Sequence[int]) -> None:
        """Learn from these emitted tokens and remember them."""
        if self._pending is not None:
            self._flush()
        self._pending = list(tokens)
        self._emitted += len(tokens)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the tree of at most ``budget`` nodes after ``text``."""
        if budget < 1:
            return DraftTree(why_empty="no room")
        length, pending = len(text), self._pending
        new = -1 if pending is None else len(pending)
        tail = text[-max(self._reference.longest, length - self._emitted) :]
        given = [*pending, *tail] if new > 0 else tail
        if len(given) > self._most_in or budget > self._budget:
            self._make_room(len(given), budget)
        self._in[: len(given)] = given
        n = self._draft(self._handle, new, len(tail), length, budget)
        self._pending = None
        if n < 1:
            if n < -1:
                raise failure(self._library)
            return DraftTree(why_empty="not worth it" if n else "no match")
        out, sources = self._out[: 7 * n], self.sources
        return DraftTree(
            out[:n],
            out[n : 2 * n],
            [sources[k] for k in out[2 * n : 3 * n]],
            out[3 * n : 4 * n],
            out[4 * n : 5 * n],
            self._scores[:n],
            [None if place < 0 else place for place in out[5 * n : 6 * n]],
            _depths=out[6 * n :],
        )

    # --- inside ----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Pass the tokens that were emitted last to the library."""
        tokens, self._pending = self._pending, None
        if len(tokens) > self._most_in:
            self._make_room(len(tokens), self._budget)
        self._in[: len(tokens)] = tokens
        self._checked(self._native.hsd_drafter_extend(self._handle, len(tokens)))

    def _make_room(self, tokens: int, budget: int) -> None:
        """Make buffers for so many tokens and nodes and pass them on, with the costs and the end tokens."""
        native, handle, reference = self._native, self._handle, self._reference
        self._most_in, self._budget = max(tokens, self._most_in), max(budget, self._budget, self.nodes)
        self._in = (ctypes.c_int32 * self._most_in)()
        self._out, self._scores = (ctypes.c_int64 * (7 * self._budget))(), (ctypes.c_double * self._budget)()
        native.hsd_drafter_buffers(handle, self._in, self._out, self._scores)
        size, eos, costs = self._budget + 1, reference.eos, reference.costs
        at, slopes = ((ctypes.c_double * size)(*table) for table in costs.tables(self._budget))
        self._checked(native.hsd_drafter_costs(handle, at, slopes, size, costs.least_slope, reference.min_score))
        self._checked(native.hsd_drafter_ends(handle, (ctypes.c_int32 * len(eos))(*eos), len(eos)))

    def _checked(self, result: Any) -> Any:
        if not result:
            raise failure(self._library)
        return result


def _readable(database: Database) -> bool:
    """Whether the library can read it: a file, of the usual element sizes."""
    if type(database) not in (Index, GuardedIndex):
        return False
    sizes = [view.itemsize for view in (database.starts, database.marks, database.places)]
    return sizes == [4, 4, 4] and 0 <= database.bits < 32


def _file(index: Index) -> IndexFile:
    """Return where the arrays of an index are. They stay there for the index's lifetime."""
    views, guarded = (index.starts, index.marks, index.places, index.values), isinstance(index, GuardedIndex)
    return IndexFile(
        *(np.frombuffer(view, np.uint8).ctypes.data if len(view) else None for view in views),
        *map(len, views),
        index.limit if guarded else -1,
        index.values.itemsize,
        index.wide,
        index.bits,
        index.longest,
        MOST_IN_BUCKET if guarded else 0,
    )
