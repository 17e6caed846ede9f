"""The weights of a Llama-shaped model in the types that the native runtime computes with.

Integers come in two arithmetics, ``docs/reference/arithmetic.md`` states both. ``rows`` is that of
the shipped ladder: 8-bit weights with a scale per row, 8-bit activations. ``groups`` is for all
other models: the 4- or 8-bit weights of a file as they are, or floats rounded to 8 bits, with a
scale per group of 32 along the depth, and 16-bit activations. The other types are floats.

Rotary angles come from float64 additions and multiplications alone, in the order that is stated
there: a C library's sine may differ from another's in the last bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from math import factorial
from pathlib import Path

import numpy as np

from hsd_viz.errors import BadFile
from hsd_viz.models.files import open_model
from hsd_viz.models.form import LlamaForm, Rotary
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.rotary import frequencies
from hsd_viz.models.tensors import (
    HEAD,
    Tensor,
    TensorSource,
    head_tokens,
    parameter_count,
)
from hsd_viz.native.panels import grouped
from hsd_viz.native.rounding import rounded_rows
from hsd_viz.native.structures import ModelShape

#: The types of weights, with the number the library has for each.
STORAGE = {"float32": 0, "float64": 1, "bfloat16": 2, "int8": 3}
#: The library's number for int8 in groups.
GROUPS_STORAGE = 4
#: The two arithmetics of int8.
ARITHMETICS = ("rows", "groups")
#: The slots of a layer in the library -> the name of the tensor, and the names of its sizes.
_LAYER = {
    "q": ("self_attn.q_proj.weight", "queries", "width"),
    "k": ("self_attn.k_proj.weight", "keys", "width"),
    "v": ("self_attn.v_proj.weight", "keys", "width"),
    "o": ("self_attn.o_proj.weight", "width", "queries"),
    "gate": ("mlp.gate_proj.weight", "inner", "width"),
    "up": ("mlp.up_proj.weight", "inner", "width"),
    "down": ("mlp.down_proj.weight", "width", "inner"),
    "input_norm": ("input_layernorm.weight", "width"),
    "post_norm": ("post_attention_layernorm.weight", "width"),
    "q_norm": ("self_attn.q_norm.weight", "head_dim"),
    "k_norm": ("self_attn.k_norm.weight", "head_dim"),
    "q_bias": ("self_attn.q_proj.bias", "queries"),
    "k_bias": ("self_attn.k_proj.bias", "keys"),
    "v_bias": ("self_attn.v_proj.bias", "keys"),
}
_NORM_SLOTS = ("q_norm", "k_norm")
_BIAS_SLOTS = ("q_bias", "k_bias", "v_bias")
#: All slots, by the library's numbers of them.
SLOTS = (*_LAYER, "embedding", "final_norm", "head")


class ArrayTensors:
    """Tensors in memory as a :class:`~hsd_viz.models.tensors.TensorSource`.

    8-bit matrices ``NAME.weight`` with ``NAME.scale`` ``[out]`` are one tensor each.
    """

    files: tuple[Path, ...] = ()
    borrowed: frozenset[str] = frozenset()

    def __init__(self, arrays: Mapping[str, np.ndarray | GroupedMatrix]) -> None:
        self._arrays = arrays

    def names(self) -> Collection[str]:
        return [name for name in self._arrays if not name.endswith(".scale")]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._arrays[name].shape)

    def read(self, name: str) -> Tensor:
        tensor = self._arrays[name]
        if isinstance(tensor, GroupedMatrix) or tensor.dtype != np.int8:
            return tensor
        scale = f"{name.removesuffix('weight')}scale"
        scales = self._arrays.get(scale)
        if not isinstance(scales, np.ndarray) or scales.shape != tensor.shape[:1]:
            raise BadFile(f"the matrix {name} has no tensor {scale} with a scale per row")
        return GroupedMatrix(tensor, np.require(scales, np.float32)[:, None])


def load(
    path: str | Path, dtype: str = "int8", vocab_size: int | None = None, name: str | None = None
) -> Weights:
    """Return the weights in a model's folder or GGUF file, by default the model's ``name``.

    ``vocab_size`` is the number of its tokenizer's tokens, if lower than that of its head.

    Raises:
        Unsupported: if it is not Llama-shaped.
        BadFile: if a file is not valid.
    """
    files = open_model(path, name or Path(path).name)
    return Weights(files.name, files.form, files.tensors, dtype, vocab_size)


class Weights:
    """The weights of a model in one of the types of :data:`STORAGE`, read when they are iterated.

    Attributes:
        name: the model's name.
        form: its shape and options.
        dtype: the type of the weights, a key of :data:`STORAGE`.
        arithmetic: that of int8, one of :data:`ARITHMETICS`.
        vocab_size: the rows of the head that are computed.
        parameters: the number of parameters; a head that is the embedding counts once.
        compute: the type of logits and of the cache.
        head_tokens: the tokens of a reduced head ``[head_rows]``, rising; ``None``: of a whole one.
    """

    def __init__(
        self,
        name: str,
        form: LlamaForm,
        source: TensorSource,
        dtype: str = "int8",
        vocab_size: int | None = None,
        arithmetic: str | None = None,
    ) -> None:
        """``vocab_size`` is the number of the tokenizer's tokens, if lower than the head's rows.

        By default the arithmetic is ``rows`` for matrices that are stored with a scale per row.
        """
        self.name = name
        self.form = form
        self.source = source
        self.dtype = dtype
        self.arithmetic = arithmetic or _arithmetic_of(source)
        self.vocab_size = min(form.vocabulary, vocab_size or form.vocabulary)
        self.head_tokens = head_tokens(name, form, source)
        if self.head_tokens is not None and self.head_tokens[-1] >= self.vocab_size:
            raise BadFile(
                f"{name}: its head has the token {self.head_tokens[-1]}, "
                f"its tokenizer {self.vocab_size} tokens"
            )
        self.parameters = parameter_count(form, source)
        self.compute = np.dtype(np.float64 if dtype == "float64" else np.float32)

    @property
    def positions(self) -> int:
        """The longest context."""
        return self.form.positions

    @property
    def layers(self) -> int:
        """The number of layers."""
        return self.form.layers

    @property
    def in_groups(self) -> bool:
        """Whether the matrices are integers with a scale per group."""
        return self.dtype == "int8" and self.arithmetic == "groups"

    @property
    def scale(self) -> float:
        """The factor of attention scores."""
        return self.form.head_dim**-0.5

    @property
    def shape(self) -> ModelShape:
        """The shape of the model, as the library takes it."""
        form = self.form
        return ModelShape(
            type=GROUPS_STORAGE if self.in_groups else STORAGE[self.dtype],
            layers=form.layers,
            width=form.width,
            heads=form.heads,
            kv_heads=form.kv_heads,
            head_dim=form.head_dim,
            inner=form.inner,
            vocab=self.vocab_size,
            head_rows=form.head_rows or self.vocab_size,
            epsilon=form.epsilon,
            scale=self.scale,
        )

    def items(self) -> Iterator[tuple[int, str, Tensor]]:
        """Iterate over (layer, slot of the library, tensor).

        The layer is -1 for what belongs to none. Without a head, the head is the embedding. In
        int8 matrices are :class:`GroupedMatrix` and vectors float32.
        """
        for layer in range(self.form.layers):
            for slot in self._layer_slots():
                name, *axes = _LAYER[slot]
                yield layer, slot, self._tensor(f"model.layers.{layer}.{name}", *axes)
        yield -1, "final_norm", self._tensor("model.norm.weight", "width")
        yield -1, "embedding", self._tensor("model.embed_tokens.weight", "rows", "width")
        if not self.form.tied_head:
            yield -1, "head", self._tensor(HEAD, "head_rows", "width")

    def _layer_slots(self) -> list[str]:
        """Return the slots of a layer that this model has."""
        absent: tuple[str, ...] = ()
        if not self.form.query_key_norm:
            absent += _NORM_SLOTS
        if not self.form.query_key_value_bias:
            absent += _BIAS_SLOTS
        return [slot for slot in _LAYER if slot not in absent]

    def _tensor(self, name: str, *axes: str) -> Tensor:
        """Return a vector or matrix in the type of these weights."""
        stored = self._read(name, *axes)
        if self.dtype == "int8" and len(axes) == 2:
            if self.arithmetic == "groups":
                return grouped(stored)
            if isinstance(stored, GroupedMatrix):
                return stored
            return rounded_rows(stored)
        values = stored.widened() if isinstance(stored, GroupedMatrix) else stored
        wide_type = np.float64 if self.dtype == "float64" else np.float32
        wide = np.require(values, wide_type, ["C", "A"])
        if self.dtype != "bfloat16":
            return wide
        # Round to nearest, ties to even.
        bits = wide.view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    def _read(self, name: str, *axes: str) -> Tensor:
        form = self.form
        sizes = {
            "width": form.width,
            "inner": form.inner,
            "head_dim": form.head_dim,
            "queries": form.heads * form.head_dim,
            "keys": form.kv_heads * form.head_dim,
            "rows": form.vocabulary,
            "head_rows": form.head_rows or form.vocabulary,
        }
        shape = tuple(sizes[axis] for axis in axes)
        if name not in self.source.names() or self.source.shape(name) != shape:
            raise BadFile(f"{self.name}: its files have no tensor {name} of the shape {[*shape]}")
        tensor = self.source.read(name)
        if not is_finite(tensor):
            raise BadFile(f"{self.name}: its tensor {name} has a value that is not finite")
        return tensor


def is_finite(tensor: Tensor) -> bool:
    """Return whether a tensor has numbers only. The integers of an activation that is none are
    undefined.
    """
    if not isinstance(tensor, GroupedMatrix):
        return tensor.dtype.kind != "f" or bool(np.isfinite(tensor).all())
    minima = tensor.minima
    finite = np.isfinite(tensor.scales).all()
    return bool(finite and (minima is None or np.isfinite(minima).all()))


def _arithmetic_of(source: TensorSource) -> str:
    """Return the arithmetic of int8 for a model: ``rows`` if its file has a scale per row."""
    matrix = source.read("model.embed_tokens.weight")
    if isinstance(matrix, GroupedMatrix) and matrix.scales.shape[1] == 1 and matrix.bits == 8:
        return "rows"
    return "groups"


def turn(rotary: Rotary, head_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines of rotary angles ``[head_dim / 2]`` from one place to the next.

    They are Taylor's series to the power of 23.
    """
    # Rounding to float32 leaves no trace of how a C library rounds powers.
    turns = frequencies(rotary, head_dim).astype(np.float32).astype(np.float64)
    square = turns * turns
    cos = np.zeros_like(turns)
    sin = np.zeros_like(turns)
    for k in range(11, -1, -1):
        cos = (-1) ** k / factorial(2 * k) + cos * square
        sin = (-1) ** k / factorial(2 * k + 1) + sin * square
    return cos, sin * turns


def angles(
    rotary: Rotary, head_dim: int, places: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines of rotary angles ``[n, head_dim / 2]`` of at least so many
    places.
    """
    return _doubled(rotary, head_dim, max(8, (places - 1).bit_length()), dtype)


@cache
def _doubled(
    rotary: Rotary, head_dim: int, times: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return those of ``2 ** times`` places.

    All are turned by as many places as there are, and the turn is doubled.
    """
    turn_cos, turn_sin = turn(rotary, head_dim)
    cos = np.ones((1, len(turn_cos)))
    sin = np.zeros((1, len(turn_cos)))
    for _ in range(times):
        turned_cos = cos * turn_cos - sin * turn_sin
        turned_sin = sin * turn_cos + cos * turn_sin
        cos = np.concatenate([cos, turned_cos])
        sin = np.concatenate([sin, turned_sin])
        double_cos = turn_cos * turn_cos - turn_sin * turn_sin
        double_sin = 2.0 * (turn_sin * turn_cos)
        turn_cos = double_cos
        turn_sin = double_sin
    return cos.astype(dtype), sin.astype(dtype)
