"""Read Llama-shaped models from GGUF files: forms, and tensors by their names in transformers."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.models.form import LlamaForm, Rotary
from hsd_viz.models.gguf import GGUFFile
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.rotary import llama3_factors
from hsd_viz.models.sizes import check_form
from hsd_viz.models.tensors import Tensor


@dataclass(frozen=True, slots=True)
class Architecture:
    """An architecture of llama.cpp that is Llama-shaped.

    Attributes:
        interleaved: whether rotary pairs are adjacent rows of queries and keys; transformers pairs
            the two halves of a head.
        query_key_norm: whether queries and keys are normalized per head.
        rotary_gap: n if each n-th layer has no rotary positions; 0 if all layers have them.
    """

    interleaved: bool = False
    query_key_norm: bool = False
    rotary_gap: int = 0


ARCHITECTURES = {
    "llama": Architecture(interleaved=True),
    "smollm3": Architecture(interleaved=True, rotary_gap=4),
    "qwen2": Architecture(),
    "qwen3": Architecture(query_key_norm=True),
}

#: The allowed values of each key (without the architecture), and the meaning of other values.
_ALLOWED: dict[str, tuple[tuple[Any, ...], str]] = {
    "expert_count": ((0,), "a mixture of experts"),
    "attention.sliding_window": ((0,), "a sliding window"),
    "rope.scaling.type": (("none", "linear"), "another rotary scaling"),
    "attention.causal": ((True,), "attention to later tokens"),
    "use_parallel_residual": ((False,), "a parallel residual stream"),
    "logit_scale": ((0.0, 1.0), "scaled logits"),
    "embedding_scale": ((0.0, 1.0), "scaled embeddings"),
    "residual_scale": ((0.0, 1.0), "scaled residuals"),
    "attention.scale": ((0.0,), "another scale of attention scores"),
    "attention.clamp_kqv": ((0.0,), "clamped queries and keys"),
}

_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LAYER_TENSOR = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
#: The tensor of factors of rotary frequencies, in files with the scaling of Llama 3.1.
ROTARY_FACTORS = "rope_freqs.weight"


def transformers_name(name: str) -> str | None:
    """Return the name in transformers of a tensor in a GGUF file; ``None`` if there is none."""
    if name in _NAMES:
        return _NAMES[name]
    match = _LAYER_TENSOR.fullmatch(name)
    if match is None or match[2] not in _LAYER_NAMES:
        return None
    return f"model.layers.{int(match[1])}.{_LAYER_NAMES[match[2]]}.{match[3]}"


def read_form(file: GGUFFile) -> LlamaForm:
    """Return the form of the model in a file.

    Raises:
        Unsupported: if the model is not Llama-shaped.
        BadFile: if a value is missing or out of range.
    """
    keys = _Keys(file)
    architecture = ARCHITECTURES.get(keys.architecture)
    if architecture is None:
        readable = ", ".join(ARCHITECTURES)
        raise Unsupported(
            f"{file.path} has the architecture {keys.architecture!r}: these are read: {readable}"
        )
    for key, (allowed, reason) in _ALLOWED.items():
        value = keys.get(key, allowed[0])
        if value not in allowed:
            raise Unsupported(f"{file.path} has {reason} ({keys.architecture}.{key} is {value!r})")
    for name in file.tensors:
        if name != ROTARY_FACTORS and transformers_name(name) is None:
            raise Unsupported(f"{file.path} has a tensor of no Llama-shaped model: {name}")
    form = _form(file, keys, architecture)
    check_form(str(file.path), form)
    if keys.get("rope.dimension_count", form.head_dim) != form.head_dim:
        raise Unsupported(f"{file.path} turns only a part of each head")
    return replace(form, rotary=_rotary(file, keys, form))


def _form(file: GGUFFile, keys: _Keys, architecture: Architecture) -> LlamaForm:
    """Return the form that the metadata describes, without checking its sizes."""
    layers = keys.integer("block_count")
    width = keys.integer("embedding_length")
    heads = keys.integer("attention.head_count")
    if heads < 1:
        raise BadFile(f"{file.path}: attention.head_count is {heads}")
    gap = architecture.rotary_gap
    without_rotary = range(gap - 1, layers, gap) if gap else range(0)
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise BadFile(f"{file.path} has no matrix token_embd.weight")
    # The number of layers is checked first, because each layer has tensors in the file.
    if layers > len(file.tensors):
        raise BadFile(f"{file.path} has {len(file.tensors)} tensors for {layers} layers")
    return LlamaForm(
        layers=layers,
        width=width,
        inner=keys.integer("feed_forward_length"),
        heads=heads,
        kv_heads=keys.integer("attention.head_count_kv", heads),
        head_dim=keys.integer("attention.key_length", width // heads),
        vocabulary=embedding.shape[0],
        positions=keys.integer("context_length"),
        epsilon=keys.number("attention.layer_norm_rms_epsilon"),
        rotary=Rotary(theta=keys.number("rope.freq_base", 10000.0)),
        tied_head="output.weight" not in file.tensors,
        query_key_norm=architecture.query_key_norm,
        query_key_value_bias="blk.0.attn_q.bias" in file.tensors,
        layers_without_rotary=frozenset(without_rotary),
    )


def _rotary(file: GGUFFile, keys: _Keys, form: LlamaForm) -> Rotary:
    """Return the rotary parameters of a model."""
    theta = form.rotary.theta
    if keys.get("rope.scaling.type", "none") == "linear":
        return Rotary(theta, "linear", factor=keys.number("rope.scaling.factor"))
    if ROTARY_FACTORS not in file.tensors:
        return form.rotary
    # The file has only the factors of the frequencies. Llama 3.1 and 3.2 share all parameters
    # except the largest factor, so it determines the others, which are then checked.
    factors = file.read(ROTARY_FACTORS)
    assert isinstance(factors, np.ndarray)
    rotary = Rotary(theta, "llama3", factor=float(factors.max()))
    expected = llama3_factors(rotary, form.head_dim)
    if factors.shape != expected.shape or not np.allclose(factors, expected, rtol=1e-4):
        raise Unsupported(f"{file.path} has rotary factors that are not those of Llama 3.1")
    return rotary


class _Keys:
    """A reader of the metadata of a model's architecture."""

    def __init__(self, file: GGUFFile) -> None:
        self._file = file
        self.architecture = str(file.metadata.get("general.architecture"))

    def get(self, key: str, default: Any = None) -> Any:
        return self._file.metadata.get(f"{self.architecture}.{key}", default)

    def integer(self, key: str, default: int | None = None) -> int:
        value = self.get(key, default)
        if type(value) is not int:
            raise BadFile(f"{self._file.path}: {key} is {value!r}, expected a whole number")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self.get(key, default)
        if type(value) not in (int, float):
            raise BadFile(f"{self._file.path}: {key} is {value!r}, expected a number")
        # Return the number as it was written: 1e-05, not the closest float32, 9.999999747e-06.
        return float(str(np.float32(value)))


class GGUFTensors:
    """The tensors of a GGUF file as a :class:`~hsd_viz.models.tensors.TensorSource`."""

    borrowed: frozenset[str] = frozenset()

    def __init__(self, file: GGUFFile, form: LlamaForm) -> None:
        self.files: tuple[Path, ...] = (file.path,)
        self._file = file
        self._form = form
        architecture = ARCHITECTURES[str(file.metadata["general.architecture"])]
        self._interleaved = architecture.interleaved
        #: The names in the file, by the names in transformers.
        self._stored: dict[str, str] = {}
        for stored in file.tensors:
            name = transformers_name(stored)
            if name is not None:
                self._stored[name] = stored

    def names(self) -> Collection[str]:
        return self._stored.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        return self._file.tensors[self._stored[name]].shape

    def read(self, name: str) -> Tensor:
        tensor = self._file.read(self._stored[name])
        if not self._interleaved:
            return tensor
        if ".q_proj." in name:
            return _halves(tensor, self._form.heads)
        if ".k_proj." in name:
            return _halves(tensor, self._form.kv_heads)
        return tensor


def _halves(tensor: Tensor, heads: int) -> Tensor:
    """Return the rows of queries or keys, reordered so that the halves of each head are paired."""
    if isinstance(tensor, np.ndarray):
        return _halves_of(tensor, heads)
    minima = tensor.minima
    return GroupedMatrix(
        numbers=_halves_of(tensor.numbers, heads),
        scales=_halves_of(tensor.scales, heads),
        minima=None if minima is None else _halves_of(minima, heads),
        bits=tensor.bits,
    )


def _halves_of(rows: np.ndarray, heads: int) -> np.ndarray:
    pairs = rows.reshape(heads, -1, 2, *rows.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows.shape)
