"""The functions of the native runtime's C interface, declared once.

From these declarations and the structures (:mod:`hsd_viz.native.structures`) are derived: the types
of :mod:`ctypes` (:mod:`hsd_viz.native.library`), the exports of ``hsd-viz.wasm``, and the header
``src/interface.hpp`` (``python -m tools.reference``). The C++ compiler checks the definitions
against that header.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from typing import Any, Protocol, TypeVar

from hsd_viz.native.c_types import (
    Bytes,
    Bytes8,
    Bytes8Out,
    BytesOut,
    ConstDecode,
    ConstModel,
    ConstSession,
    CType,
    DecodeHandle,
    Double,
    Doubles,
    DoublesAt,
    DrafterHandle,
    Floats,
    Int,
    Int64,
    Integers,
    ModelHandle,
    Nothing,
    SessionHandle,
    Sessions,
    Text,
    c_type_of,
    hints_of,
)
from hsd_viz.native.structures import (
    DecodeSettingsAt,
    DrafterSettingsAt,
    IndexAt,
    LevelsAt,
    NodesOut,
    SemanticAt,
    ShapeAt,
)

#: The value that each function returns if it fails, with its message in ``hsd_error``; ``None`` is
#: a null handle.
_FAILURES: dict[str, int | None] = {}
#: The names of functions that keep Python's lock.
_QUICK: set[str] = set()

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _fails_with(result: int | None) -> Callable[[_Method], _Method]:
    """Declare the value that a function returns if it fails."""

    def declared(function: _Method) -> _Method:
        _FAILURES[function.__name__] = result
        return function

    return declared


def _quick(function: _Method) -> _Method:
    """Declare a function that takes a few microseconds and keeps Python's lock.

    If it released the lock, another thread could take it and hold it for milliseconds.
    """
    _QUICK.add(function.__name__)
    return function


class Functions(Protocol):
    """The functions of the library.

    A function with a declared failure stores the reason for ``hsd_error``.
    """

    def hsd_error(self) -> Text:
        """Return the reason of the last failure; ``memory`` if there was too little memory."""

    def hsd_vector_bytes(self) -> Int:
        """Return the size of the kernel's vectors in bytes."""

    @_fails_with(None)
    def hsd_model_new(self, shape: ShapeAt) -> ModelHandle:
        """Create a model without weights."""

    @_fails_with(0)
    def hsd_model_set(
        self, model: ModelHandle, layer: Int, slot: Int, data: Bytes, scales: Floats
    ) -> Int:
        """Set a vector or matrix: floats, or rows of 8-bit weights with a scale per row."""

    @_fails_with(0)
    def hsd_model_panels(
        self, model: ModelHandle, layer: Int, slot: Int, data: Bytes, bits: Int
    ) -> Int:
        """Set a matrix of packed panels, which remain owned by the caller."""

    @_fails_with(0)
    def hsd_model_disable_rope(self, model: ModelHandle, layer: Int) -> Int:
        """Disable rotary positions in a layer."""

    @_fails_with(0)
    def hsd_model_head_tokens(self, model: ModelHandle, tokens: Integers, n: Int) -> Int:
        """Set the tokens of a reduced head."""

    def hsd_model_bytes(self, model: ConstModel) -> Int64:
        """Return the size of the weights that a forward pass reads, in bytes."""

    def hsd_model_cache_bytes(self, model: ConstModel) -> Int64:
        """Return the size of a session's cache per token, in bytes."""

    def hsd_model_free(self, model: ModelHandle) -> Nothing:
        """Free a model without sessions."""

    @_fails_with(None)
    def hsd_session_new(self, model: ConstModel) -> SessionHandle:
        """Open an empty sequence."""

    @_fails_with(0)
    def hsd_session_forward(
        self,
        session: SessionHandle,
        tokens: Integers,
        n: Int,
        parents: Integers,
        rows: Int,
        logits: BytesOut,
        cos: Bytes,
        sin: Bytes,
        cached: Int,
        threads: Int,
    ) -> Int:
        """Feed n tokens after the cached ones, and write the logits [rows][vocab] after the last
        ``rows`` of them.
        """

    @_fails_with(0)
    def hsd_session_forward_batch(
        self,
        session: SessionHandle,
        sessions: Sessions,
        tokens: Integers,
        n: Int,
        logits: BytesOut,
        cos: Bytes,
        sin: Bytes,
        cached: Integers,
        threads: Int,
    ) -> Int:
        """Feed the next token of each of n other sessions of the same model, with shared rotary
        tables.
        """

    @_quick
    @_fails_with(0)
    def hsd_session_keep(self, session: SessionHandle, base: Int, places: Integers, n: Int) -> Int:
        """Move the cache entries of n positions to the n positions from ``base`` on."""

    @_quick
    @_fails_with(0)
    def hsd_session_watch(self, session: SessionHandle, layer: Int) -> Int:
        """Keep the input states of a layer, from the next forward pass on."""

    @_quick
    @_fails_with(0)
    def hsd_session_states(self, session: ConstSession, n: Int, numbers: Bytes8Out) -> Int:
        """Write the states [n][width] of the first n tokens of the last forward pass."""

    def hsd_session_free(self, session: SessionHandle) -> Nothing:
        """Free a session."""

    @_quick
    @_fails_with(None)
    def hsd_drafter_new(self, settings: DrafterSettingsAt) -> DrafterHandle:
        """Create a drafter without databases."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_add(
        self, drafter: DrafterHandle, file: IndexAt, priors: Doubles, discount: Double
    ) -> Int:
        """Add the next database: an index file or, without a file, the context database. ``priors``
        has a rate per key length.
        """

    @_quick
    @_fails_with(0)
    def hsd_drafter_add_semantic(
        self, drafter: DrafterHandle, settings: SemanticAt, priors: Doubles, discount: Double
    ) -> Int:
        """Add the semantic database. ``priors`` has a rate per band of cosines."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_watch(self, drafter: DrafterHandle, layer: Int) -> Int:
        """Set the layer of the target whose states a decode passes to the drafter."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_states(
        self, drafter: DrafterHandle, numbers: Bytes8, n: Int, width: Int
    ) -> Int:
        """Append the states [n][width] of the next n positions of the text."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_costs(
        self,
        drafter: DrafterHandle,
        at: Doubles,
        slopes: Doubles,
        n: Int,
        least_slope: Double,
        floor: Double,
    ) -> Int:
        """Set the costs and the slopes of 0 to n - 1 nodes, and the least score of a node."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_ends(self, drafter: DrafterHandle, tokens: Integers, n: Int) -> Int:
        """Set the tokens that end a text."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_extend(self, drafter: DrafterHandle, tokens: Integers, n: Int) -> Int:
        """Learn from n emitted tokens, and append them to the text."""

    @_quick
    @_fails_with(-2)
    def hsd_drafter_draft(
        self,
        drafter: DrafterHandle,
        text: Integers,
        n: Int,
        length: Int64,
        budget: Int,
        nodes: NodesOut,
    ) -> Int:
        """Draft after a text of ``length`` tokens that ends with the n tokens ``text``. Write the
        nodes of the tree, and return their number; for an empty tree, return 0 (no match) or -1
        (not worth it).
        """

    @_quick
    def hsd_drafter_free(self, drafter: DrafterHandle) -> Nothing:
        """Free a drafter."""

    @_fails_with(None)
    def hsd_decode_new(
        self,
        settings: DecodeSettingsAt,
        wide: Int,
        levels: LevelsAt,
        n: Int,
        drafter: DrafterHandle,
        prompt: Integers,
        n_prompt: Int,
        ends: Integers,
        n_ends: Int,
    ) -> DecodeHandle:
        """Create a decode by n levels, the target last, over a drafter, if any; ``wide`` for
        float64. The decode uses its sessions and drafter exclusively, and they must outlive it.
        """

    @_fails_with(-1)
    def hsd_decode_run(self, decode: DecodeHandle, ns: Int64, now: Int64) -> Int:
        """Decode for ``ns`` nanoseconds or slightly longer, from the time ``now`` of the decode on.
        Return 2 if models are still to read the prompt, 1 if rounds follow, 0 at the end.
        """

    @_quick
    def hsd_decode_rows(self, decode: ConstDecode, table: Int, numbers: DoublesAt) -> Int:
        """Return the count of numbers in the rows that the last run added to a table, and set their
        address, which is valid until the next run.
        """

    @_quick
    def hsd_decode_inside(self, decode: ConstDecode) -> Int64:
        """Return the time of all runs in ns spent in forward passes, sampling and verification."""

    def hsd_decode_free(self, decode: DecodeHandle) -> Nothing:
        """Free a decode."""


@dataclass(frozen=True, slots=True)
class Function:
    """A declared function.

    Attributes:
        name: the name in the library.
        meaning: the description, its docstring.
        result: the type of the result.
        arguments: the types of the arguments by name.
        can_fail: whether the function can fail.
        failure: the value that it returns if it fails.
        quick: whether it is called without releasing Python's lock.
    """

    name: str
    meaning: str
    result: CType
    arguments: dict[str, CType]
    can_fail: bool
    failure: int | None
    quick: bool


@cache
def functions() -> dict[str, Function]:
    """Return the declared functions by name."""
    declared = {}
    for name, method in vars(Functions).items():
        if not name.startswith("hsd_"):
            continue
        types = {argument: c_type_of(hint) for argument, hint in hints_of(method).items()}
        result = types.pop("return")
        declared[name] = Function(
            name=name,
            meaning=getdoc(method) or "",
            result=result,
            arguments=types,
            can_fail=name in _FAILURES,
            failure=_FAILURES.get(name),
            quick=name in _QUICK,
        )
    return declared
