"""The C interface of the native runtime: its structures and functions, declared once.

From these declarations come the types of :mod:`ctypes` (:mod:`hsd_viz.native.build`), the structures
of a browser tab (:mod:`hsd_viz.engine.tab`), what ``hsd-viz.wasm`` exports, and the header
``src/interface.hpp`` (``python -m tools.reference``). The C++ compiler compares that header with
what the C++ defines, and refuses a function of other types.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import (
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from typing import Annotated, Any, Protocol, TypeVar, get_args, get_type_hints


@dataclass(frozen=True, slots=True)
class CType:
    """A type of the interface.

    Attributes:
        spelling: in C++; "" for a structure of this module, which has its own name.
        ctype: in :mod:`ctypes`; ``None``: nothing is returned.
    """

    spelling: str
    ctype: Any


Int = Annotated[int, CType("int", c_int)]
Int32 = Annotated[int, CType("int32_t", c_int32)]
Int64 = Annotated[int, CType("int64_t", c_int64)]
Unsigned64 = Annotated[int, CType("uint64_t", c_uint64)]
Double = Annotated[float, CType("double", c_double)]
Text = Annotated[bytes, CType("const char*", c_char_p)]
Nothing = Annotated[None, CType("void", None)]
#: Addresses, by what is there. The library reads through those that are ``const``.
Bytes = Annotated[Any, CType("const void*", c_void_p)]
BytesOut = Annotated[Any, CType("void*", c_void_p)]
Bytes8 = Annotated[Any, CType("const int8_t*", c_void_p)]
Bytes8Out = Annotated[Any, CType("int8_t*", c_void_p)]
Integers = Annotated[Any, CType("const int32_t*", c_void_p)]
Unsigned = Annotated[Any, CType("const uint32_t*", c_void_p)]
Floats = Annotated[Any, CType("const float*", c_void_p)]
Doubles = Annotated[Any, CType("const double*", c_void_p)]
DoublesAt = Annotated[Any, CType("const double**", c_void_p)]
#: Objects of the library.
ModelHandle = Annotated[Any, CType("Model*", c_void_p)]
ConstModel = Annotated[Any, CType("const Model*", c_void_p)]
SessionHandle = Annotated[Any, CType("Session*", c_void_p)]
ConstSession = Annotated[Any, CType("const Session*", c_void_p)]
Sessions = Annotated[Any, CType("Session* const*", c_void_p)]
DrafterHandle = Annotated[Any, CType("Drafter*", c_void_p)]
DecodeHandle = Annotated[Any, CType("Decode*", c_void_p)]
ConstDecode = Annotated[Any, CType("const Decode*", c_void_p)]

# --- structures -----------------------------------------------------------------------------------

_Kind = TypeVar("_Kind", bound=type[Structure])
#: All structures in the order of their declaration.
STRUCTURES: list[type[Structure]] = []


def _structure(kind: _Kind) -> _Kind:
    """Give a structure its fields by its annotations."""
    fields = [(name, field.ctype) for name, field in fields_of(kind).items()]
    kind._fields_ = fields
    STRUCTURES.append(kind)
    return kind


def fields_of(kind: type[Structure]) -> dict[str, CType]:
    """Return the types of a structure's fields."""
    return {name: _c_type(hint) for name, hint in _hints(kind).items()}


def _hints(declaration: object) -> dict[str, Any]:
    hints = get_type_hints(declaration, include_extras=True)
    # Those of the base class are not fields.
    return {name: hint for name, hint in hints.items() if not name.startswith("_")}


def _c_type(hint: Any) -> CType:
    """Return the type that an annotation has.

    Raises:
        TypeError: if it is not one of this module.
    """
    if isinstance(hint, type) and issubclass(hint, Structure):
        return CType(hint.__name__, hint)
    for argument in get_args(hint)[1:]:
        if isinstance(argument, CType):
            return argument
    raise TypeError(f"{hint!r} is not a type of the C interface")


@_structure
class ModelShape(Structure):
    """A model's measures.

    Attributes:
        type: of its weights: a number of :data:`~hsd_viz.native.weights.STORAGE`.
        layers: their number.
        width: of a state.
        heads: of queries.
        kv_heads: of keys and values.
        head_dim: the width of a head.
        inner: the width inside the feed-forward part.
        vocab: the tokens of its vocabulary.
        head_rows: those of a reduced head, else ``vocab``.
        epsilon: of the norms.
        scale: multiplies the attention scores.
    """

    type: Int32
    layers: Int32
    width: Int32
    heads: Int32
    kv_heads: Int32
    head_dim: Int32
    inner: Int32
    vocab: Int32
    head_rows: Int32
    epsilon: Double
    scale: Double


@_structure
class SamplingSettings(Structure):
    """How tokens are drawn.

    Attributes:
        temperature: 0: greedy decoding.
        top_p: the probability of the nucleus; 1: all tokens.
        min_p: the least share of the largest probability; 0: all tokens.
        top_k: so many of the likeliest tokens; 0: all.
    """

    temperature: Double
    top_p: Double
    min_p: Double
    top_k: Int32


@_structure
class LevelSettings(Structure):
    """A level of a decode that is a model.

    Attributes:
        session: its empty sequence.
        cos: cosines of the angles of all places.
        sin: their sines.
        bytes: of its weights.
        confidence: the probability of its tokens below which its draft ends; 0: never.
        lookahead: what it proposes at least; 0 at the target.
        rule: by which it verifies sampled chains: a RoundRow::Rule.
        threads: the most of a forward pass.
        positions: the tokens of text that a draft model can read; 0: any number.
    """

    session: SessionHandle
    cos: Bytes
    sin: Bytes
    bytes: Int64
    confidence: Double
    lookahead: Int32
    rule: Int32
    threads: Int32
    positions: Int32


@_structure
class DecodeSettings(Structure):
    """The settings of a decode.

    Attributes:
        sampling: how tokens are drawn.
        seed: of the random numbers.
        vocab: the tokens of the vocabulary.
        limit: the most tokens of the text, prompt included.
        budget: the most nodes of a database's draft.
        details: how many likeliest tokens are recorded of each emitted row; 0: no row is described.
    """

    sampling: SamplingSettings
    seed: Unsigned64
    vocab: Int32
    limit: Int32
    budget: Int32
    details: Int32


@_structure
class IndexArrays(Structure):
    """The arrays of an open index file (:mod:`hsd_viz.drafting.index.format`), and how they are
    read.

    Attributes:
        starts: of the buckets.
        marks: of the keys.
        places: where the values of a key are.
        values: continuations and counts.
        n_starts: elements of ``starts``.
        n_marks: elements of ``marks``.
        n_places: elements of ``places``.
        n_values: elements of ``values``.
        limit: tokens from here on are not given; -1: all are.
        value_bytes: of an element of ``values``: 2 or 4.
        wide: whether counts are stored as they are.
        shift: of a mark to its bucket.
        longest: the tokens of a key, at most.
        most_in_bucket: keys looked at in one bucket; 0: all.
    """

    starts: Unsigned
    marks: Unsigned
    places: Unsigned
    values: Bytes
    n_starts: Int64
    n_marks: Int64
    n_places: Int64
    n_values: Int64
    limit: Int64
    value_bytes: Int32
    wide: Int32
    shift: Int32
    longest: Int32
    most_in_bucket: Int32


@_structure
class SemanticSettings(Structure):
    """The numbers of :class:`~hsd_viz.drafting.semantic.SemanticDatabase`.

    Attributes:
        least_cosine: of a copy.
        band_width: of the cosines that are trusted alike.
        most: copies that are continued.
        scanned: occurrences that are compared, at most.
        bands: of cosines.
    """

    least_cosine: Double
    band_width: Double
    most: Int32
    scanned: Int32
    bands: Int32


@_structure
class DrafterSettings(Structure):
    """The numbers of :class:`~hsd_viz.drafting.db.DatabaseDrafter`.

    Attributes:
        surest: the largest share of the probability that a database gets.
        prior_weight: of the acceptance rates that are expected, in answers.
        most_rate: the largest acceptance rate.
        longest: the tokens of a key, at most.
        recent: places of a key in the text that are looked at.
        most: continuations of a key in the text.
        longest_bucket: the longest key with an acceptance rate of its own.
    """

    surest: Double
    prior_weight: Double
    most_rate: Double
    longest: Int32
    recent: Int32
    most: Int32
    longest_bucket: Int32


@_structure
class DraftedNode(Structure):
    """A node of a draft tree.

    Attributes:
        score: the estimated probability that the verifier accepts it.
        cosine: by which the semantic database found it; NaN: it did not.
        count: how often the token was seen there.
        token: its id.
        parent: the node before it; -1: the text.
        database: the place of the database that proposed it first.
        key_length: the tokens that were matched; -1: there is no key.
        position: the place in the text that it was copied from; -1: there is none.
        depth: 1 for those that follow the text.
    """

    score: Double
    cosine: Double
    count: Int64
    token: Int32
    parent: Int32
    database: Int32
    key_length: Int32
    position: Int32
    depth: Int32


#: Addresses of structures.
ShapeAt = Annotated[Any, CType("const ModelShape*", c_void_p)]
LevelsAt = Annotated[Any, CType("const LevelSettings*", c_void_p)]
DecodeSettingsAt = Annotated[Any, CType("const DecodeSettings*", c_void_p)]
IndexAt = Annotated[Any, CType("const IndexArrays*", c_void_p)]
SemanticAt = Annotated[Any, CType("const SemanticSettings*", c_void_p)]
DrafterSettingsAt = Annotated[Any, CType("const DrafterSettings*", c_void_p)]
NodesOut = Annotated[Any, CType("DraftedNode*", c_void_p)]

# --- functions ------------------------------------------------------------------------------------

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
        types = {argument: _c_type(hint) for argument, hint in _hints(method).items()}
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
