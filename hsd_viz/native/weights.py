"""The weights of the ladder's models, Qwen3 with tied embeddings, read with numpy and packed for the native runtime.

A shipped model has int8 matrices ``NAME.weight`` ``[out, in]`` with float32 ``NAME.scale`` ``[out]``; the floats that
training writes are rounded by the same rule where int8 is asked for (``docs/reference/arithmetic.md``). Rotary angles
come from float64 additions and multiplications alone, in the order that is stated there: a C library's sine may differ
from another's in the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from math import factorial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.errors import UserError

#: The types of weights, with the number the library has for each.
STORAGE = {"float32": 0, "float64": 1, "bfloat16": 2, "int8": 3}
#: What the ``config.json`` of such a model says.
_FORM = {
    "model_type": "qwen3",
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "attention_bias": False,
    "use_sliding_window": False,
    "quantization_config": None,
}
_SIZES = (
    *(
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "max_position_embeddings",
    ),
    *("num_attention_heads", "num_key_value_heads", "head_dim"),
)
_FILE_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "<i1"}
#: Of a layer's slots in the library the tensor and its shape, see :meth:`Weights.items`.
_LAYER = {
    "q": ("self_attn.q_proj", "queries", "width"),
    "k": ("self_attn.k_proj", "keys", "width"),
    "v": ("self_attn.v_proj", "keys", "width"),
    "o": ("self_attn.o_proj", "width", "queries"),
    "gate": ("mlp.gate_proj", "inner", "width"),
    "up": ("mlp.up_proj", "inner", "width"),
    "down": ("mlp.down_proj", "width", "inner"),
    "input_norm": ("input_layernorm", "width"),
    "post_norm": ("post_attention_layernorm", "width"),
    "q_norm": ("self_attn.q_norm", "head_dim"),
    "k_norm": ("self_attn.k_norm", "head_dim"),
}
#: What a matrix or vector of a model is; the order is that of ``Slot`` in ``src/model.hpp``.
SLOTS = (*_LAYER, "embedding", "final_norm", "head")


class Bytes(NamedTuple):
    """A matrix of 8-bit numbers ``[out, in]`` with a float32 scale for each row ``[out]``."""

    numbers: np.ndarray
    scales: np.ndarray

    def widened(self) -> np.ndarray:
        """Return the matrix in float32."""
        return self.numbers * self.scales[:, None]


def rounded(matrix: np.ndarray) -> Bytes:
    """Round the rows of a matrix ``[out, in]`` to 8 bits: s = max |w| / 127, q = w / s rounded to the nearest, ties to
    even.
    """
    matrix = matrix.astype(np.float32, copy=False)
    scales = np.abs(matrix).max(1) / np.float32(127)
    numbers = np.rint(matrix / np.where(scales > 0, scales, np.float32(1))[:, None])
    return Bytes(numbers.clip(-127, 127).astype(np.int8), scales)


def read_config(folder: str | Path) -> dict[str, Any] | None:
    """Return the ``config.json`` of a folder with a model in the form of the ladder's; ``None`` of any other."""
    try:
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        rope = config["rope_parameters"]
        fits = (
            all(config.get(key) == value for key, value in _FORM.items())
            and all(type(config[key]) is int and 0 < config[key] < 10**7 for key in _SIZES)
            and config["num_attention_heads"] % config["num_key_value_heads"]
            == 0
            == config["head_dim"] % 2
            and 0 < config["rms_norm_eps"] < 1
            and rope["rope_type"] == "default"
            and 1 <= rope["rope_theta"] < 10**9
        )
        return config if fits else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def read_tensors(folder: str | Path) -> dict[str, np.ndarray]:
    """Return the tensors of a folder's safetensors files, memory-mapped; bfloat16 ones are widened to float32. Raises:
    ValueError: if there is no such file, or one is not valid.
    """
    tensors: dict[str, np.ndarray] = {}
    for path in sorted(Path(folder).glob("*.safetensors")):
        try:
            mapped = np.asarray(np.memmap(path, np.uint8, "r"))
            begin = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
            header = json.loads(mapped[8:begin].tobytes())
            header.pop("__metadata__", None)
            for name, entry in header.items():
                first, end = entry["data_offsets"]
                tensor = mapped[begin + first : begin + end].view(_FILE_TYPES[entry["dtype"]])
                if entry["dtype"] == "BF16":
                    tensor = (tensor.astype(np.uint32) << 16).view(np.float32)
                tensors[name] = tensor.reshape(entry["shape"])
        except KeyError as error:
            raise UserError(
                f"{path} holds a type of numbers that cannot be read: {error}"
            ) from None
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(f"{path} is not a valid safetensors file: {error}") from None
    if not tensors:
        raise UserError(f"{folder} contains no safetensors file")
    return tensors


def parameter_count(tensors: Mapping[str, np.ndarray]) -> int:
    """Return the number of parameters; the head is the embedding."""
    return sum(
        t.size for name, t in tensors.items() if not name.endswith(("scale", "lm_head.weight"))
    )


def widened(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return tensors without 8-bit numbers: each such matrix times its scales, in float32."""
    found = {name: tensor for name, tensor in tensors.items() if not name.endswith(".scale")}
    for name, tensor in found.items():
        if tensor.dtype == np.int8:
            found[name] = Bytes(tensor, tensors[f"{name.removesuffix('weight')}scale"]).widened()
    return found


def load(
    folder: str | Path, dtype: str = "int8", vocab_size: int | None = None, name: str | None = None
) -> Weights:
    """Read a model's folder, by default the model's ``name``. ``vocab_size`` is the number of its tokenizer's tokens,
    if lower than that of its head. Raises: ValueError: if it is not a model in the form of the ladder's, or a tensor is
    missing.
    """
    if (config := read_config(folder)) is None:
        raise UserError(
            f"{folder} is not a model for the native runtime: a Qwen3 with tied embeddings"
        )
    return Weights(name or Path(folder).name, config, read_tensors(folder), dtype, vocab_size)


class Weights:
    """The weights of a model in one of the types of :data:`STORAGE`, by the names of transformers. ``config`` is its
    ``config.json``, ``tensors`` are numpy arrays, matrices of floats or of 8-bit numbers with their scales. In ``int8``
    every matrix is int8 and the rest float32; in the others int8 matrices are widened: the same weights. ``compute`` is
    the type of logits and of the cache, ``rotary`` are the arguments of :func:`turn`.
    """

    def __init__(
        self,
        name: str,
        config: Mapping[str, Any],
        tensors: Mapping[str, np.ndarray],
        dtype: str = "int8",
        vocab_size: int | None = None,
    ) -> None:
        self.name, self.dtype, self._tensors, self.parameters = (
            name,
            dtype,
            tensors,
            parameter_count(tensors),
        )
        self.width, self.inner = config["hidden_size"], config["intermediate_size"]
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.kv_heads, self.head_dim = config["num_key_value_heads"], config["head_dim"]
        self.epsilon, self.scale = config["rms_norm_eps"], self.head_dim**-0.5
        self.rows, self.positions = config["vocab_size"], config["max_position_embeddings"]
        self.vocab_size = min(self.rows, vocab_size or self.rows)
        self.compute = np.dtype(np.float64 if dtype == "float64" else np.float32)
        self.rotary = float(config["rope_parameters"]["rope_theta"]), self.head_dim

    @property
    def shape(self) -> dict[str, Any]:
        """The measures of the library's ``Shape``."""
        names = ("layers", "width", "heads", "kv_heads", "head_dim", "inner", "epsilon", "scale")
        return {
            "type": STORAGE[self.dtype],
            "vocab": self.vocab_size,
            **{name: getattr(self, name) for name in names},
        }

    def items(self) -> Iterator[tuple[int, str, np.ndarray | Bytes]]:
        """Iterate over (layer, slot of the library, tensor); the layer is -1 for what belongs to none. Vectors are
        float32 in int8.
        """
        sizes = {"width": self.width, "inner": self.inner, "head_dim": self.head_dim}
        sizes |= {"queries": self.heads * self.head_dim, "keys": self.kv_heads * self.head_dim}
        for i in range(self.layers):
            for slot, (part, *axes) in _LAYER.items():
                yield (
                    i,
                    slot,
                    self._tensor(f"model.layers.{i}.{part}", *map(sizes.__getitem__, axes)),
                )
        yield -1, "final_norm", self._tensor("model.norm", self.width)
        embedding = self._tensor("model.embed_tokens", self.rows, self.width)
        yield from ((-1, slot, embedding) for slot in ("embedding", "head"))

    def _tensor(self, name: str, *shape: int) -> np.ndarray | Bytes:
        """Return a vector or matrix in the type of these weights."""
        found = self._get(f"{name}.weight", *shape)
        stored: np.ndarray | Bytes = found
        if found.dtype == np.int8:
            # A stranger's file may have them in another type, or at any address.
            stored = Bytes(
                found, np.require(self._get(f"{name}.scale", shape[0]), np.float32, "CA")
            )
        if self.dtype == "int8" and len(shape) == 2:
            return stored if isinstance(stored, Bytes) else rounded(stored)
        values = stored.widened() if isinstance(stored, Bytes) else stored
        wide = np.require(values, np.float64 if self.dtype == "float64" else np.float32, "CA")
        if self.dtype != "bfloat16":
            return wide
        # Round to nearest, ties to even.
        bits = wide.view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    def _get(self, name: str, *shape: int) -> np.ndarray:
        if name not in self._tensors or self._tensors[name].shape != shape:
            raise UserError(
                f"{self.name}: its files have no tensor {name} of the shape {list(shape)}"
            )
        return self._tensors[name]


def turn(theta: float, head_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines of rotary angles ``[head_dim / 2]`` from one place to the next, by Taylor's series
    to the power of 23.
    """
    # Rounding to float32 leaves no trace of how a C library rounds powers.
    turns = np.array(
        [theta ** (-2 * i / head_dim) for i in range(head_dim // 2)], np.float32
    ).astype(np.float64)
    square, cos, sin = turns * turns, np.zeros_like(turns), np.zeros_like(turns)
    for k in range(11, -1, -1):
        cos = (-1) ** k / factorial(2 * k) + cos * square
        sin = (-1) ** k / factorial(2 * k + 1) + sin * square
    return cos, sin * turns


def angles(
    theta: float, head_dim: int, places: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines of rotary angles ``[n, head_dim / 2]`` of at least so many places."""
    return _doubled(theta, head_dim, max(8, (places - 1).bit_length()), dtype)


@cache
def _doubled(
    theta: float, head_dim: int, times: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return those of ``2 ** times`` places: all are turned by as many places as there are, and the turn is doubled."""
    c, s = turn(theta, head_dim)
    cos, sin = np.ones((1, len(c))), np.zeros((1, len(c)))
    for _ in range(times):
        cos, sin = (
            np.concatenate([cos, cos * c - sin * s]),
            np.concatenate([sin, sin * c + cos * s]),
        )
        c, s = c * c - s * s, 2.0 * (s * c)
    return cos.astype(dtype), sin.astype(dtype)
