"""The tensors in a model's files, by their names in transformers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from hsd_viz.errors import BadFile
from hsd_viz.models.form import LlamaForm
from hsd_viz.models.matrix import GroupedMatrix

Tensor = np.ndarray | GroupedMatrix
#: The tensor of a reduced head's tokens, as in EAGLE-3's checkpoints: row k is token k + d2t[k].
HEAD_OFFSETS = "d2t"
EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"


class TensorSource(Protocol):
    """The interface of tensors that are read on demand.

    Names are those of transformers, such as ``model.layers.0.self_attn.q_proj.weight``. Matrices
    are ``[out, in]``, with the rows of queries and keys in the order of transformers.

    Attributes:
        files: the files that contain the tensors.
        borrowed: the names of tensors that belong to another model.
    """

    files: tuple[Path, ...]
    borrowed: frozenset[str]

    def names(self) -> Collection[str]:
        """Return the names of all tensors."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading it."""

    def read(self, name: str) -> Tensor:
        """Read a tensor: floats, which are memory-mapped if their type allows it, or a quantized
        matrix.

        Raises:
            BadFile: if the tensor is damaged.
        """


class BorrowingTensors:
    """The tensors of a draft model that uses the embedding of its target.

    The embedding would be the largest part of a small model with a large vocabulary.
    """

    borrowed = frozenset([EMBEDDING])

    def __init__(self, tensors: TensorSource, lender: TensorSource) -> None:
        self.files = (*tensors.files, *lender.files)
        self._tensors = tensors
        self._lender = lender

    def names(self) -> Collection[str]:
        return {*self._tensors.names(), EMBEDDING}

    def shape(self, name: str) -> tuple[int, ...]:
        return self._source_of(name).shape(name)

    def read(self, name: str) -> Tensor:
        return self._source_of(name).read(name)

    def _source_of(self, name: str) -> TensorSource:
        return self._lender if name in self.borrowed else self._tensors


def layer_shapes(form: LlamaForm) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a layer's tensors, by their names within the layer."""
    queries = form.heads * form.head_dim
    keys = form.kv_heads * form.head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (form.width,),
        "post_attention_layernorm.weight": (form.width,),
        "self_attn.q_proj.weight": (queries, form.width),
        "self_attn.k_proj.weight": (keys, form.width),
        "self_attn.v_proj.weight": (keys, form.width),
        "self_attn.o_proj.weight": (form.width, queries),
        "mlp.gate_proj.weight": (form.inner, form.width),
        "mlp.up_proj.weight": (form.inner, form.width),
        "mlp.down_proj.weight": (form.width, form.inner),
    }
    if form.query_key_norm:
        shapes["self_attn.q_norm.weight"] = (form.head_dim,)
        shapes["self_attn.k_norm.weight"] = (form.head_dim,)
    if form.query_key_value_bias:
        shapes["self_attn.q_proj.bias"] = (queries,)
        shapes["self_attn.k_proj.bias"] = (keys,)
        shapes["self_attn.v_proj.bias"] = (keys,)
    return shapes


def expected_shapes(form: LlamaForm) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and shape of each tensor that a model of this form has."""
    yield EMBEDDING, (form.vocabulary, form.width)
    for layer in range(form.layers):
        for name, shape in layer_shapes(form).items():
            yield f"model.layers.{layer}.{name}", shape
    yield "model.norm.weight", (form.width,)
    if not form.tied_head:
        yield HEAD, (form.head_rows or form.vocabulary, form.width)
    if form.head_rows is not None:
        yield HEAD_OFFSETS, (form.head_rows,)


def check_shapes(name: str, form: LlamaForm, source: TensorSource) -> None:
    """Check the tensors of a model against its form, before memory is allocated.

    Tensors of biased or normalized attention that the form does not have are an error, too.

    Args:
        name: the name of the model, for error messages.
        form: the form of the model.
        source: the tensors.

    Raises:
        BadFile: if a tensor is missing or has another shape.
    """
    present = set(source.names())
    for tensor, shape in expected_shapes(form):
        if tensor not in present:
            raise BadFile(f"{name}: its files have no tensor {tensor}; expected shape {[*shape]}")
        if (actual := source.shape(tensor)) != shape:
            raise BadFile(
                f"{name}: the tensor {tensor} has the shape {[*actual]}, its form has {[*shape]}"
            )
    for option in ("self_attn.q_proj.bias", "self_attn.q_norm.weight"):
        if f"model.layers.0.{option}" in present and option not in layer_shapes(form):
            raise BadFile(f"{name}: its files have tensors {option}, its form has none")


def head_tokens(name: str, form: LlamaForm, source: TensorSource) -> np.ndarray | None:
    """Return the ascending tokens of a reduced head ``[head_rows]``; ``None`` for a full head.

    Args:
        name: the name of the model, for error messages.
        form: the form of the model.
        source: the tensors.

    Raises:
        BadFile: if the tokens are not ascending, or if a token is not in the vocabulary.
    """
    if form.head_rows is None:
        return None
    offsets = source.read(HEAD_OFFSETS)
    if not isinstance(offsets, np.ndarray) or offsets.dtype.kind != "i":
        raise BadFile(f"{name}: the tensor {HEAD_OFFSETS} has no whole numbers")
    tokens = np.arange(form.head_rows) + offsets
    if tokens[0] < 0 or tokens[-1] >= form.vocabulary or (np.diff(tokens) <= 0).any():
        raise BadFile(
            f"{name}: the tokens of its head (tensor {HEAD_OFFSETS}) do not rise "
            f"from 0 to {form.vocabulary - 1} at the most"
        )
    return tokens.astype(np.int32)


def parameter_count(form: LlamaForm, source: TensorSource) -> int:
    """Return the number of a model's own parameters.

    A head that shares the weights of the embedding counts once. A borrowed embedding does not
    count.
    """
    uncounted = {HEAD_OFFSETS, *source.borrowed}
    return sum(math.prod(shape) for name, shape in expected_shapes(form) if name not in uncounted)
