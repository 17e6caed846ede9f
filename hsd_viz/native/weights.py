"""The weights of a Llama-shaped model in the number types of the native runtime.

Besides floats there are two integer arithmetics, both specified in
``docs/reference/arithmetic.md``. ``rows`` is for the shipped models: 8-bit weights with a scale per
row, and 8-bit activations. ``groups`` is for all other models: weights with a scale per group of 32
along the depth, which are the 4- or 8-bit weights of a file or floats rounded to 8 bits, and 16-bit
activations.

Rotary angles are computed only by float64 additions and multiplications in the order specified
there, because the sines of different C libraries may differ in the last bit.
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

#: The number types of weights, with their numbers in the library.
STORAGE = {"float32": 0, "float64": 1, "bfloat16": 2, "int8": 3}
#: The number in the library of int8 with a scale per group.
GROUPS_STORAGE = 4
#: The two arithmetics of int8.
ARITHMETICS = ("rows", "groups")
#: The name of the tensor and the names of its sizes, by slot of a layer in the library.
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
#: All slots, in the order of their numbers in the library.
SLOTS = (*_LAYER, "embedding", "final_norm", "head")


class ArrayTensors:
    """Tensors in memory as a :class:`~hsd_viz.models.tensors.TensorSource`.

    An 8-bit matrix ``NAME.weight`` and its scales ``NAME.scale`` ``[out]`` are one tensor.
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
    """Open the weights in a model's folder or GGUF file.

    Args:
        path: the folder or the GGUF file.
        dtype: the number type, a key of :data:`STORAGE`.
        vocab_size: the number of tokens in the tokenizer, if it is lower than that of the head.
        name: the name of the model; by default that of the folder or file.

    Raises:
        Unsupported: if the model is not Llama-shaped.
        BadFile: if a file is not valid.
    """
    files = open_model(path, name or Path(path).name)
    return Weights(files.name, files.form, files.tensors, dtype, vocab_size)


class Weights:
    """The weights of a model in a number type, which are read during iteration.

    Args:
        name: the name of the model.
        form: the form of the model.
        source: the tensors in the model's files.
        dtype: the number type, a key of :data:`STORAGE`.
        vocab_size: the number of tokens in the tokenizer, if it is lower than that of the head.
        arithmetic: the arithmetic of int8; by default ``rows`` for files with a scale per row, else
            ``groups``.

    Attributes:
        name: the name of the model.
        form: the form of the model.
        dtype: the number type, a key of :data:`STORAGE`.
        arithmetic: the arithmetic of int8, one of :data:`ARITHMETICS`.
        vocab_size: the number of rows of the head that are computed.
        parameters: the number of parameters; a head that shares the weights of the embedding counts
            once.
        compute: the number type of logits and of the cache.
        head_tokens: the ascending tokens of a reduced head ``[head_rows]``; ``None`` for a full
            head.
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
        """The context length in tokens."""
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
        """The shape of the model as a structure of the library."""
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
        """Yield the layer, the slot in the library, and the tensor of each weight.

        The layer is -1 for tensors outside the layers. A tied head is not yielded. In int8,
        matrices are :class:`GroupedMatrix` and vectors are float32.
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
        """Return a vector or matrix in the number type of these weights."""
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
    """Return whether all values of a tensor are finite.

    Otherwise the integers of quantized activations would be undefined.
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


def rotation_step(rotary: Rotary, head_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines ``[head_dim / 2]`` of the rotation from a position to the next.

    They are computed by Taylor series up to the power of 23.
    """
    # Rounding to float32 removes the differences between C libraries in rounding powers.
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
    """Return the cosines and sines ``[n, head_dim / 2]`` of rotary angles, for n positions, at
    least ``places``.
    """
    return _doubled(rotary, head_dim, max(8, (places - 1).bit_length()), dtype)


@cache
def _doubled(
    rotary: Rotary, head_dim: int, times: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines of ``2 ** times`` positions.

    In each step, all positions so far are rotated by their number, which doubles them.
    """
    step_cos, step_sin = rotation_step(rotary, head_dim)
    cos = np.ones((1, len(step_cos)))
    sin = np.zeros((1, len(step_cos)))
    for _ in range(times):
        rotated_cos = cos * step_cos - sin * step_sin
        rotated_sin = sin * step_cos + cos * step_sin
        cos = np.concatenate([cos, rotated_cos])
        sin = np.concatenate([sin, rotated_sin])
        double_cos = step_cos * step_cos - step_sin * step_sin
        double_sin = 2.0 * (step_sin * step_cos)
        step_cos = double_cos
        step_sin = double_sin
    return cos.astype(dtype), sin.astype(dtype)
