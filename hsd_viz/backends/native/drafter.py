"""The database drafter in the native runtime: the trees of :class:`~hsd_viz.drafting.db.DatabaseDrafter`, sooner.

Between two rounds the forward sweeps the model's weights through the processor's caches, so every round's drafting starts cold,
and an interpreter then takes several times as long as in a loop of its own. The class in :mod:`hsd_viz.drafting` says what is drafted
and why; ``src/drafter.hpp`` does the same, with the same arithmetic in the same order.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from hsd_viz.backends.native.library import Drafting, IndexFile, failure
from hsd_viz.drafting.context import ContextDatabase, Database
from hsd_viz.drafting.costs import CostCurve
from hsd_viz.drafting.db import SUREST, DatabaseDrafter
from hsd_viz.drafting.estimates import DISCOUNTS, LONGEST_BUCKET, MOST_RATE, PRIOR_WEIGHT, priors
from hsd_viz.drafting.index.read import MOST_IN_BUCKET, GuardedIndex, Index
from hsd_viz.drafting.tree import Drafter, DraftTree

#: The longest keys it can have: ``MOST_KEY`` of ``src/database.hpp``.
LONGEST = 16
#: Tokens that there is room for at first.
MOST_IN = 512
#: Stands for "not known" where a number is asked for.
_NAN = float("nan")


def native_drafter(drafter: Drafter | None, library: ctypes.CDLL) -> Drafter | None:
    """The twin of a drafter that has one; else the drafter itself. To be asked before a run begins."""
    if type(drafter) is not DatabaseDrafter or drafter.longest > LONGEST:
        return drafter
    files = [drafter.databases[source] for source in drafter.sources if source != "context"]
    return NativeDatabaseDrafter(library, drafter) if all(map(_readable, files)) else drafter


class NativeDatabaseDrafter(DatabaseDrafter):
    """Drafts like the :class:`~hsd_viz.drafting.db.DatabaseDrafter` it is made from, whose databases are files.

    Raises ``MemoryError`` when there is too little memory.
    """

    def __init__(self, library: ctypes.CDLL, like: DatabaseDrafter) -> None:
        self._library = library
        self._native = library.quick
        self._draft = self._native.hsd_drafter_draft
        self.sources = like.sources
        self.temperature, self.longest, self.min_gain_rate = like.temperature, like.longest, like.min_gain_rate
        self.min_score, self.databases = like.min_score, like.databases
        self._free, self._most_in = None, 0
        self.eos, self.costs = like.eos, like.costs
        self.start(())

    # A drafter may be told of other ends and costs at any time; the library is told when it next drafts.

    @property
    def eos(self) -> frozenset[int]:
        return self._eos

    @eos.setter
    def eos(self, eos: Collection[int]) -> None:
        self._eos, self._budget = frozenset(eos), 0

    @property
    def costs(self) -> CostCurve:
        return self._costs

    @costs.setter
    def costs(self, costs: CostCurve) -> None:
        self._costs, self._budget = costs, 0

    def start(self, prompt: Sequence[int]) -> None:
        if self._free is not None:
            self._free()
        native, context = self._native, ContextDatabase(self.longest)
        rules = Drafting(SUREST, PRIOR_WEIGHT, MOST_RATE, self.longest, context.recent, context.most, LONGEST_BUCKET)
        self._handle = self._checked(native.hsd_drafter_new(rules))
        self._free = weakref.finalize(self, native.hsd_drafter_free, self._handle)
        self._free.atexit = False
        for source in self.sources:
            file = None if source == "context" else _file(self.databases[source])
            rates = priors(source, self.temperature)
            self._checked(
                native.hsd_drafter_add(self._handle, file, (ctypes.c_double * len(rates))(*rates), DISCOUNTS[source])
            )
        self._make_room(MOST_IN, self._budget)
        #: How many tokens were emitted, and the last ones while the library was not told of them: the next draft does it by the way.
        self._emitted, self._untold = 0, None
        self.extend(prompt)
        self._tell()

    def extend(self, tokens: Sequence[int]) -> None:
        if self._untold is not None:
            self._tell()
        self._untold = list(tokens)
        self._emitted += len(tokens)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        if budget < 1:
            return DraftTree(why_empty="no room")
        length, min_gain_rate, given = len(text), self.min_gain_rate, self._untold
        told = -1 if given is None else len(given)
        tail = text[-max(self.longest, length - self._emitted) :]
        given = [*given, *tail] if told > 0 else tail
        if len(given) > self._most_in or budget > self._budget:
            self._make_room(len(given), budget)
        self._in[: len(given)] = given
        n = self._draft(self._handle, told, len(tail), length, budget, _NAN if min_gain_rate is None else min_gain_rate)
        self._untold = None
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
            None,
            out[6 * n :],
        )

    # --- inside ----------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Tell the library of the tokens that were emitted last."""
        tokens, self._untold = self._untold, None
        if len(tokens) > self._most_in:
            self._make_room(len(tokens), self._budget)
        self._in[: len(tokens)] = tokens
        self._checked(self._native.hsd_drafter_extend(self._handle, len(tokens)))

    def _make_room(self, tokens: int, budget: int) -> None:
        """Make buffers for so many tokens and nodes or more; tell the library of them, of the costs and of what ends a text."""
        native, handle, costs = self._native, self._handle, self.costs
        self._most_in, self._budget = max(tokens, self._most_in), max(budget, self._budget, self.nodes)
        self._in = (ctypes.c_int32 * self._most_in)()
        self._out, self._scores = (ctypes.c_int64 * (7 * self._budget))(), (ctypes.c_double * self._budget)()
        native.hsd_drafter_buffers(handle, self._in, self._out, self._scores)
        size, ends = self._budget + 1, (ctypes.c_int32 * len(self.eos))(*self.eos)
        at, slopes = ((ctypes.c_double * size)(*table) for table in costs.tables(self._budget))
        self._checked(native.hsd_drafter_costs(handle, at, slopes, size, costs.least_slope, self.min_score))
        self._checked(native.hsd_drafter_ends(handle, ends, len(ends)))

    def _checked(self, result: Any) -> Any:
        if not result:
            raise failure(self._library)
        return result


def _readable(database: Database) -> bool:
    """Whether the library can read it: a file, of the sizes that are usual."""
    if type(database) not in (Index, GuardedIndex):
        return False
    sizes = [view.itemsize for view in (database.starts, database.marks, database.places)]
    return sizes == [4, 4, 4] and 0 <= database.bits < 32


def _file(index: Index) -> IndexFile:
    """Where the arrays of an index are. They stay there for as long as it does."""
    views = index.starts, index.marks, index.places, index.values
    guarded = isinstance(index, GuardedIndex)
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
