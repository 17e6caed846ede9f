"""The structures of the native runtime's C interface, declared once for :mod:`ctypes`, a tab of a
browser and the header ``src/interface.hpp``.
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
#: The structures, in the order of their declaration.
STRUCTURES: list[type[Structure]] = []


def _structure(kind: _Kind) -> _Kind:
    """Set the fields of a structure from its annotations."""
    fields = [(name, field.ctype) for name, field in fields_of(kind).items()]
    kind._fields_ = fields
    STRUCTURES.append(kind)
    return kind


def fields_of(kind: type[Structure]) -> dict[str, CType]:
    """Return the types of a structure's fields, by name."""
    return {name: c_type_of(hint) for name, hint in hints_of(kind).items()}


@_structure
class ModelShape(Structure):
    """The shape of a model.

    Attributes:
        type: the type of the weights: a number of :data:`~hsd_viz.native.weights.STORAGE`.
        layers: the number of layers.
        width: the width of a state.
        heads: the number of query heads.
        kv_heads: the number of key-value heads.
        head_dim: the width of a head.
        inner: the inner width of the feed-forward network.
        vocab: the number of tokens in the vocabulary.
        head_rows: the number of rows of a reduced head, else ``vocab``.
        epsilon: the epsilon of the norms.
        scale: the factor of attention scores.
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
    """The settings of how tokens are drawn.

    Attributes:
        temperature: the temperature; 0 for greedy decoding.
        top_p: the total probability of the nucleus; 1 for all tokens.
        min_p: the least probability relative to the largest; 0 for all tokens.
        top_k: the number of likeliest tokens; 0 for all.
    """

    temperature: Double
    top_p: Double
    min_p: Double
    top_k: Int32


@_structure
class LevelSettings(Structure):
    """The settings of a level that is a model.

    Attributes:
        session: an empty sequence of the model.
        cos: the cosines of the rotary angles of all positions.
        sin: the sines of the rotary angles of all positions.
        bytes: the bytes of weights that a forward pass reads.
        confidence: the joint probability below which a draft ends; 0 for never.
        lookahead: the least number of tokens in a proposal; 0 for the target.
        rule: the rule that verifies sampled chains: a RoundRow::Rule.
        threads: the largest number of threads of a forward pass.
        positions: the context length of a draft model in tokens; 0 for unlimited.
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
        sampling: the settings of how tokens are drawn.
        seed: the seed of the random numbers.
        vocab: the number of tokens in the vocabulary.
        limit: the largest number of tokens in the text, including the prompt.
        budget: the largest number of nodes in a draft of the drafter.
        details: the number of likeliest tokens recorded per emitted token; 0 for no details.
    """

    sampling: SamplingSettings
    seed: Unsigned64
    vocab: Int32
    limit: Int32
    budget: Int32
    details: Int32


@_structure
class IndexArrays(Structure):
    """The arrays of an open index file (:mod:`hsd_viz.drafting.index.format`).

    Attributes:
        starts: the first key of each bucket.
        marks: the mark of each key.
        places: the location of each key's values.
        values: the totals, continuations and counts of the keys.
        n_starts: the number of elements in ``starts``.
        n_marks: the number of elements in ``marks``.
        n_places: the number of elements in ``places``.
        n_values: the number of elements in ``values``.
        limit: the upper bound (exclusive) of returned tokens; -1 for none.
        value_bytes: the size of an element of ``values`` in bytes: 2 or 4.
        wide: whether counts are stored without rounding.
        shift: the number of bits by which a mark is shifted right to get its bucket.
        longest: the length of the longest keys in tokens.
        most_in_bucket: the largest number of keys examined in a bucket; 0 for all.
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
    """The settings of :class:`~hsd_viz.drafting.semantic_database.SemanticDatabase`.

    Attributes:
        least_cosine: the least cosine of a copy.
        band_width: the width of a band of cosines.
        most: the largest number of copies.
        scanned: the largest number of occurrences that are compared.
        bands: the number of bands.
    """

    least_cosine: Double
    band_width: Double
    most: Int32
    scanned: Int32
    bands: Int32


@_structure
class DrafterSettings(Structure):
    """The settings of :class:`~hsd_viz.drafting.db.DatabaseDrafter`.

    Attributes:
        surest: the largest share of the remaining probability that a database can distribute.
        prior_weight: the weight of the prior rates, in expected hits.
        most_rate: the largest rate.
        longest: the length of the longest keys in tokens.
        recent: the number of occurrences of a key in the text that are counted.
        most: the largest number of continuations of a key in the text.
        longest_bucket: the longest key length with a rate of its own.
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
        score: the estimated probability that the verifier accepts the node.
        cosine: the similarity by which the semantic database found it; NaN if it did not.
        count: the number of times that the token followed the key.
        token: the id of the token.
        parent: the index of the parent node; -1 for the text.
        database: the index of the database that proposed it first.
        key_length: the number of matched tokens; -1 if the key is a state.
        position: the position in the text from which it was copied; -1 if there is none.
        depth: the depth in the tree, 1 for a node that follows the text.
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
