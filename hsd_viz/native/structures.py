"""The structures of the C interface of the native runtime, declared once: they are those of
:mod:`ctypes`, of a browser tab, and of the header ``src/interface.hpp``.
"""

from __future__ import annotations

from ctypes import Structure, c_void_p
from typing import Annotated, Any, TypeVar

from hsd_viz.native.c_types import (
    Bytes,
    CType,
    Double,
    Int32,
    Int64,
    SessionHandle,
    Unsigned,
    Unsigned64,
    c_type_of,
    hints_of,
)

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
    return {name: c_type_of(hint) for name, hint in hints_of(kind).items()}


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
    """The numbers of :class:`~hsd_viz.drafting.semantic_database.SemanticDatabase`.

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
