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

from hsd_viz.drafting.context import ContextDatabase, Database
from hsd_viz.drafting.db import MAX_SHARE, DatabaseDrafter
from hsd_viz.drafting.estimates import DISCOUNTS, LONGEST_BUCKET, MOST_RATE, PRIOR_WEIGHT, priors
from hsd_viz.drafting.index.format import MOST_IN_BUCKET, Index
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.native.library import Drafting, IndexFile, doubles, failure, integers

#: The longest keys it can have: ``MOST_KEY`` of ``src/database.hpp``.
LONGEST = 16
#: Numbers of a node of a tree: token, parent, database, key length, count, position, depth, score.
_COLUMNS = 8


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

    name, nodes = DatabaseDrafter.name, DatabaseDrafter.nodes

    def __init__(self, library: ctypes.CDLL, reference: DatabaseDrafter) -> None:
        self.library, self._native, self._reference = library, library.quick, reference
        self.sources = reference.sources
        self._free: weakref.finalize | None = None
        self._budget = self.nodes
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with this prompt."""
        if self._free is not None:
            self._free()
        native, reference, context = self._native, self._reference, ContextDatabase(self._reference.longest)
        sizes = reference.longest, context.recent, context.most, LONGEST_BUCKET
        #: The drafter in the library; it lives as long as this object, or until the next start.
        self.handle = self._checked(native.hsd_drafter_new(Drafting(MAX_SHARE, PRIOR_WEIGHT, MOST_RATE, *sizes)))
        self._free = weakref.finalize(self, native.hsd_drafter_free, self.handle)
        self._free.atexit = False
        for source in self.sources:
            file = None if source == "context" else _file(reference.databases[source])
            rates = doubles(priors(source, reference.temperature))
            self._checked(native.hsd_drafter_add(self.handle, file, rates, DISCOUNTS[source]))
        self._checked(native.hsd_drafter_ends(self.handle, integers(tuple(reference.eos)), len(reference.eos)))
        self.make_room(self._budget)
        self._emitted = 0
        self.extend(prompt)

    def make_room(self, budget: int) -> None:
        """Make room for trees of so many nodes."""
        self._budget = max(budget, self._budget)
        self._out = (ctypes.c_double * (_COLUMNS * self._budget))()
        costs = self._reference.costs
        at, slopes = map(doubles, costs.tables(self._budget))
        least = costs.least_slope, self._reference.min_score
        self._checked(self._native.hsd_drafter_costs(self.handle, at, slopes, self._budget + 1, *least))

    def extend(self, tokens: Sequence[int]) -> None:
        """Learn from these emitted tokens and remember them."""
        self._checked(self._native.hsd_drafter_extend(self.handle, integers(tokens), len(tokens)))
        self._emitted += len(tokens)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the tree of at most ``budget`` nodes after ``text``."""
        if budget < 1:
            return DraftTree(why_empty="no room")
        if budget > self._budget:
            self.make_room(budget)
        length = len(text)
        tail = text[-max(self._reference.longest, length - self._emitted) :]
        n = self._native.hsd_drafter_draft(self.handle, integers(tail), len(tail), length, budget, self._out)
        if n < 1:
            if n < -1:
                raise failure(self.library)
            return DraftTree(why_empty="not worth it" if n else "no match")
        *columns, scores = [self._out[k : n * _COLUMNS : _COLUMNS] for k in range(_COLUMNS)]
        tokens, parents, sources, lengths, counts, positions, depths = ([int(v) for v in column] for column in columns)
        places = [None if place < 0 else place for place in positions]
        names = [self.sources[k] for k in sources]
        return DraftTree(tokens, parents, names, lengths, counts, scores, places, _depths=depths)  # type: ignore[arg-type]

    def _checked(self, result: Any) -> Any:
        if not result:
            raise failure(self.library)
        return result


def _readable(database: Database) -> bool:
    """Whether the library can read it: a file, of the usual element sizes."""
    if type(database) is not Index:
        return False
    sizes = [view.itemsize for view in (database.starts, database.marks, database.places)]
    return sizes == [4, 4, 4] and 0 <= database.bits < 32


def _file(index: Index) -> IndexFile:
    """Return where the arrays of an index are. They stay there for the index's lifetime."""
    views = (index.starts, index.marks, index.places, index.values)
    places = (np.frombuffer(view, np.uint8).ctypes.data if len(view) else None for view in views)
    limit, most = (index.limit, MOST_IN_BUCKET) if index.guarded else (-1, 0)
    return IndexFile(
        *places, *map(len, views), limit, index.values.itemsize, index.wide, index.bits, index.longest, most
    )
