"""The compiled database drafter.

``src/drafter.hpp`` builds the same trees as :class:`~hsd_viz.drafting.db.DatabaseDrafter`, the
reference, with the same arithmetic in the same order. It is needed because forward passes evict the
interpreter's data from the processor's caches, so that Python is several times slower between them
than in a loop of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import byref
from math import isnan

import numpy as np

from hsd_viz.drafting.adapters import MAX_SHARE
from hsd_viz.drafting.context_database import ContextDatabase
from hsd_viz.drafting.db import DISCOUNTS, DatabaseDrafter
from hsd_viz.drafting.index.read import MAX_IN_BUCKET, Index
from hsd_viz.drafting.semantic_database import SEMANTIC, SemanticDatabase, watched_layer
from hsd_viz.drafting.shared import OF_THE_TEXT
from hsd_viz.drafting.tree import Drafter, DraftTree, Origin
from hsd_viz.drafting.trust import MAX_BUCKET, MAX_RATE, PRIOR_WEIGHT, priors
from hsd_viz.native.library import Library
from hsd_viz.native.model import integers, owned
from hsd_viz.native.structures import (
    DraftedNode,
    DrafterSettings,
    IndexArrays,
    SemanticSettings,
)
from hsd_viz.settings.ranges import MAX_BUDGET

#: The largest key length in tokens that the library supports.
MAX_KEY_LENGTH = 16


def drafter_settings(longest: int) -> DrafterSettings:
    """Return the settings of a drafter with keys of up to ``longest`` tokens."""
    return DrafterSettings(
        surest=MAX_SHARE,
        prior_weight=PRIOR_WEIGHT,
        most_rate=MAX_RATE,
        longest=longest,
        recent=ContextDatabase.recent,
        most=ContextDatabase.most,
        longest_bucket=MAX_BUCKET,
    )


def semantic_settings(database: type[SemanticDatabase]) -> SemanticSettings:
    """Return the settings of a semantic database."""
    return SemanticSettings(
        least_cosine=database.least_cosine,
        band_width=database.band_width,
        most=database.most,
        scanned=database.scanned,
        bands=database.bands,
    )


def native_drafter(drafter: Drafter, library: Library) -> Drafter:
    """Return the native equivalent of a drafter that has not begun a run, or the drafter itself if
    there is none.
    """
    if type(drafter) is not DatabaseDrafter or drafter.longest > MAX_KEY_LENGTH:
        return drafter
    for source in drafter.sources:
        if source not in OF_THE_TEXT and not _is_readable(drafter.databases[source]):
            return drafter
    return NativeDatabaseDrafter(library, drafter)


def _is_readable(database: object) -> bool:
    """Return whether the library can read a database: a file with the usual element sizes."""
    if type(database) is not Index or not 0 <= database.bits < 32:
        return False
    arrays = (database.starts, database.marks, database.places)
    return all(array.itemsize == 4 for array in arrays)


class NativeDatabaseDrafter:
    """A :class:`~hsd_viz.drafting.tree.Drafter` that runs in the library.

    Args:
        library: the compiled runtime.
        reference: the drafter whose settings are used; its shared databases are files.

    Raises:
        MemoryError: if there is too little memory.
    """

    name = DatabaseDrafter.name
    nodes = DatabaseDrafter.nodes

    def __init__(self, library: Library, reference: DatabaseDrafter) -> None:
        self.library = library
        self._native = library.quick
        self.sources = reference.sources
        self._reference = reference
        self.state_depth = reference.state_depth
        self._free: weakref.finalize | None = None
        self._nodes = np.empty(MAX_BUDGET, np.dtype(DraftedNode))
        self._nodes_at = self._nodes.ctypes.data

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with a prompt."""
        if self._free is not None:
            self._free()
        native = self._native
        reference = self._reference
        #: The handle of the drafter in the library, valid until the next start.
        self.handle = native.hsd_drafter_new(byref(drafter_settings(reference.longest)))
        self._free = owned(self, native.hsd_drafter_free, self.handle)
        for source in self.sources:
            self._add(source)
        native.hsd_drafter_ends(self.handle, integers(tuple(reference.eos)), len(reference.eos))
        costs, slopes = np.array(reference.costs.tables(MAX_BUDGET))
        native.hsd_drafter_costs(
            self.handle,
            costs.ctypes.data,
            slopes.ctypes.data,
            len(costs),
            reference.costs.least_slope,
            reference.min_score,
        )
        self._emitted = 0
        self.extend(prompt)

    def _add(self, source: str) -> None:
        """Add a database to the drafter in the library."""
        rates = np.array(priors(source, self._reference.temperature)).ctypes
        discount = DISCOUNTS[source]
        if source == SEMANTIC:
            settings = byref(semantic_settings(SemanticDatabase))
            self._native.hsd_drafter_add_semantic(self.handle, settings, rates.data, discount)
            return
        file = None
        if source != "context":
            index = self._reference.databases[source]
            assert isinstance(index, Index)
            file = byref(_file(index))
        self._native.hsd_drafter_add(self.handle, file, rates.data, discount)

    def extend(self, tokens: Sequence[int]) -> None:
        """Learn from emitted tokens, and append them to the text."""
        self._native.hsd_drafter_extend(self.handle, integers(tokens), len(tokens))
        self._emitted += len(tokens)

    def watch(self, layers: int) -> None:
        """Set the layer whose states a compiled decode passes to the drafter, if it needs states.

        ``layers`` is the number of layers of the target.
        """
        if self.state_depth is not None:
            self._native.hsd_drafter_watch(self.handle, watched_layer(self.state_depth, layers))

    def observe_states(self, states: np.ndarray) -> None:
        """Append the int8 states ``[n, width]`` of the next ``n`` positions of the text."""
        numbers = np.ascontiguousarray(states)
        self._native.hsd_drafter_states(self.handle, numbers.ctypes.data, *numbers.shape)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the tree of at most ``budget`` nodes after ``text``."""
        if budget < 1:
            return DraftTree(why_empty="no room")
        length = len(text)
        tail = text[-max(self._reference.longest, length - self._emitted) :]
        n = self._native.hsd_drafter_draft(
            self.handle, integers(tail), len(tail), length, budget, self._nodes_at
        )
        if n < 1:
            return DraftTree(why_empty="not worth it" if n else "no match")
        nodes = self._nodes[:n]
        return DraftTree(
            tokens=nodes["token"].tolist(),
            parents=nodes["parent"].tolist(),
            origins=self._origins(nodes),
            _depths=nodes["depth"].tolist(),
        )

    def _origins(self, nodes: np.ndarray) -> list[Origin]:
        """Return the origins of drafted nodes."""
        cosines = nodes["cosine"].tolist()
        columns = zip(
            [self.sources[database] for database in nodes["database"].tolist()],
            _without_negative(nodes["key_length"].tolist()),
            nodes["count"].tolist(),
            nodes["score"].tolist(),
            _without_negative(nodes["position"].tolist()),
            [None if isnan(cosine) else cosine for cosine in cosines],
            strict=True,
        )
        return [*map(Origin._make, columns)]


def _without_negative(numbers: Sequence[int]) -> list[int | None]:
    """Return the numbers, with ``None`` in place of negative ones."""
    return [None if number < 0 else number for number in numbers]


def _file(index: Index) -> IndexArrays:
    """Return the addresses of the arrays of an index, which are valid for its lifetime."""
    return IndexArrays(
        starts=_address(index.starts),
        marks=_address(index.marks),
        places=_address(index.places),
        values=_address(index.values),
        n_starts=len(index.starts),
        n_marks=len(index.marks),
        n_places=len(index.places),
        n_values=len(index.values),
        limit=index.limit,
        value_bytes=index.values.itemsize,
        wide=index.wide,
        shift=index.bits,
        longest=index.longest,
        most_in_bucket=MAX_IN_BUCKET,
    )


def _address(array: memoryview) -> int | None:
    """Return the address of an array; ``None`` if it is empty."""
    return np.frombuffer(array, np.uint8).ctypes.data if len(array) else None
