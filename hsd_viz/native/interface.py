"""The functions of the C interface of the native runtime, declared once.

From these declarations and the structures (:mod:`hsd_viz.native.structures`) come the types of
:mod:`ctypes` (:mod:`hsd_viz.native.library`), what ``hsd-viz.wasm`` exports, and the header
``src/interface.hpp`` (``python -m tools.reference``). The C++ compiler compares that header with
what the C++ defines, and refuses a function of other types.
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

#: What a function returns when it fails, and its message is in ``hsd_error``; ``None``: a null
#: handle.
_FAILURES: dict[str, int | None] = {}
_QUICK: set[str] = set()

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _fails_with(result: int | None) -> Callable[[_Method], _Method]:
    """Declare what a function returns when it fails."""

    def declared(function: _Method) -> _Method:
        _FAILURES[function.__name__] = result
        return function

    return declared


def _quick(function: _Method) -> _Method:
    """Declare a function of some microseconds. It keeps Python's lock: another thread that took it
    meanwhile would hold it for milliseconds.
    """
    _QUICK.add(function.__name__)
    return function


class Functions(Protocol):
    """The functions of the library. Those with a declared failure leave its reason in
    ``hsd_error``.
    """

    def hsd_error(self) -> Text:
        """Return why the last function that failed did, ``memory`` if there was too little."""

    def hsd_vector_bytes(self) -> Int:
        """Return the bytes of a vector of the kernel."""

    @_fails_with(None)
    def hsd_model_new(self, shape: ShapeAt) -> ModelHandle:
        """Make a model without weights."""

    @_fails_with(0)
    def hsd_model_set(
        self, model: ModelHandle, layer: Int, slot: Int, data: Bytes, scales: Floats
    ) -> Int:
        """Set a vector or matrix: floats, or rows of 8-bit weights with a scale each."""

    @_fails_with(0)
    def hsd_model_panels(
        self, model: ModelHandle, layer: Int, slot: Int, data: Bytes, bits: Int
    ) -> Int:
        """Set a matrix of packed panels, which stay the caller's."""

    @_fails_with(0)
    def hsd_model_unturned(self, model: ModelHandle, layer: Int) -> Int:
        """Have a layer not turn its queries and keys."""

    @_fails_with(0)
    def hsd_model_head_tokens(self, model: ModelHandle, tokens: Integers, n: Int) -> Int:
        """Set the tokens of a reduced head."""

    def hsd_model_bytes(self, model: ConstModel) -> Int64:
        """Return the bytes of weights that a forward pass reads."""

    def hsd_model_cache_bytes(self, model: ConstModel) -> Int64:
        """Return the bytes of a session's cache per token."""

    def hsd_model_free(self, model: ModelHandle) -> Nothing:
        """Free a model that has no session."""

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
        """Feed n tokens after the cached ones, for the logits [rows][vocab] after the last ones."""

    @_fails_with(0)
    def hsd_session_together(
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
        """Feed the next token of each of n other sessions of the same model, all with the angles of
        the same table.
        """

    @_quick
    def hsd_session_keep(
        self, session: SessionHandle, base: Int, places: Integers, n: Int
    ) -> Nothing:
        """Move what is cached at these places to the n places after ``base``."""

    @_quick
    @_fails_with(0)
    def hsd_session_watch(self, session: SessionHandle, layer: Int) -> Int:
        """Keep what this layer reads, from the next forward pass on."""

    @_quick
    def hsd_session_states(self, session: ConstSession, n: Int, numbers: Bytes8Out) -> Nothing:
        """Write the states [n][width] of the first n tokens that were fed last."""

    def hsd_session_free(self, session: SessionHandle) -> Nothing:
        """Free a session."""

    @_quick
    @_fails_with(None)
    def hsd_drafter_new(self, settings: DrafterSettingsAt) -> DrafterHandle:
        """Make a drafter without databases."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_add(
        self, drafter: DrafterHandle, file: IndexAt, priors: Doubles, discount: Double
    ) -> Int:
        """Add the next database to ask: an index file, or without one the text's own. ``priors``
        has a rate for each key length.
        """

    @_quick
    @_fails_with(0)
    def hsd_drafter_add_semantic(
        self, drafter: DrafterHandle, settings: SemanticAt, priors: Doubles, discount: Double
    ) -> Int:
        """Add the semantic database. ``priors`` has a rate for each band of cosines."""

    @_quick
    def hsd_drafter_watch(self, drafter: DrafterHandle, layer: Int) -> Nothing:
        """Set the layer of the target whose states a decode passes to the drafter."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_states(
        self, drafter: DrafterHandle, numbers: Bytes8, n: Int, width: Int
    ) -> Int:
        """Pass the states [n][width] of the next n places of the text."""

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
        """Set the cost and the least slope of 0 to n - 1 nodes, and the least score of a node."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_ends(self, drafter: DrafterHandle, tokens: Integers, n: Int) -> Int:
        """Set the tokens that end a text."""

    @_quick
    @_fails_with(0)
    def hsd_drafter_extend(self, drafter: DrafterHandle, tokens: Integers, n: Int) -> Int:
        """Learn from n emitted tokens and remember them."""

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
        """Write the nodes of the tree after a text of ``length`` tokens that ends in the n tokens
        ``text``. Return their number, without any 0 (no match) or -1 (not worth it).
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
        """Begin a decode by n levels, the target last, ``wide`` in float64, over a drafter of its
        own, if any. Sessions and drafter must outlive it and are its own meanwhile.
        """

    @_fails_with(-1)
    def hsd_decode_run(self, decode: DecodeHandle, ns: Int64, now: Int64) -> Int:
        """Decode for ``ns`` or a little longer, from the time ``now`` of the decode on. Return 1
        where there is more to do, 0 at the end.
        """

    @_quick
    def hsd_decode_rows(self, decode: ConstDecode, table: Int, numbers: DoublesAt) -> Int:
        """Return how many numbers the rows have that the last run added to a table, and set where
        they are until the next run.
        """

    @_quick
    def hsd_decode_inside(self, decode: ConstDecode) -> Int64:
        """Return the time of all runs in forward passes, and in sampling and verification by their
        logits.
        """

    def hsd_decode_free(self, decode: DecodeHandle) -> Nothing:
        """Free a decode."""


@dataclass(frozen=True, slots=True)
class Function:
    """A declared function.

    Attributes:
        name: in the library.
        meaning: what it does.
        result: its type.
        arguments: their types by name.
        can_fail: whether it can.
        failure: what it then returns.
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
