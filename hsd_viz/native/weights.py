"""The weights of Llama-shaped models, read with numpy from a checkpoint's folder, and packed for the native runtime.

A shipped model has int8 matrices ``NAME.weight`` ``[out, in]`` with float32 ``NAME.scale`` ``[out]``; any other
checkpoint is rounded by the same rule where int8 is asked for (``docs/reference/arithmetic.md``). Rotary angles come
from float64 additions and multiplications alone, in the order that is stated there: a C library's sine may differ from
another's in the last bit.
"""

from __future__ import annotations

import json
import mmap
import threading
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import factorial, pi
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: The types of weights, with the number the library has for each.
STORAGE = {"float32": 0, "float64": 1, "bfloat16": 2, "int8": 3}
#: The model types of transformers that are such models.
FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
_FILE_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "<i1"}
_LINEAR = {
    **{slot: f"self_attn.{slot}_proj" for slot in "qkvo"},
    **{slot: f"mlp.{slot}_proj" for slot in ("gate", "up", "down")},
}
_NORMS = {
    "input_norm": "input_layernorm",
    "post_norm": "post_attention_layernorm",
    "q_norm": "self_attn.q_norm",
    "k_norm": "self_attn.k_norm",
}


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


def unsupported(config: Mapping[str, Any]) -> str | None:
    """Return why the native runtime cannot run a model of this ``config.json``; ``None`` if it can."""
    kind = config.get("model_type")
    if kind not in FAMILIES:
        return f"models of type {kind} are not among {', '.join(FAMILIES)}"
    if config.get("hidden_act", "silu") not in ("silu", "swish"):
        return f"the activation {config['hidden_act']} is not supported"
    if config.get("quantization_config"):
        return "its weights are quantised by another method"
    rope = _rope(config)
    if _rope_kind(rope) not in ("default", "linear", "llama3"):
        return f"rotary angles of type {_rope_kind(rope)} are not supported"
    if rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0)) != 1.0:
        return "rotary angles for a part of the head are not supported"
    return None


def read_tensors(folder: str | Path) -> dict[str, np.ndarray]:
    """Return the tensors of a folder's safetensors files, memory-mapped; bfloat16 ones are widened to float32.

    Raises:
        ValueError: if there is no such file, or one is not valid.
    """
    tensors: dict[str, np.ndarray] = {}
    for path in sorted(Path(folder).glob("*.safetensors")):
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            length = int.from_bytes(mapped[:8], "little")
            header = json.loads(mapped[8 : 8 + length])
            for name, entry in header.items():
                if name == "__metadata__":
                    continue
                start, end = entry["data_offsets"]
                kind = np.dtype(_FILE_TYPES[entry["dtype"]])
                flat = np.frombuffer(mapped, kind, (end - start) // kind.itemsize, 8 + length + start)
                if entry["dtype"] == "BF16":
                    flat = (flat.astype(np.uint32) << 16).view(np.float32)
                tensors[name] = flat.reshape(entry["shape"])
        except KeyError as error:
            raise ValueError(f"{path} holds a type of numbers that cannot be read: {error}") from None
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is not a valid safetensors file: {error}") from None
    if not tensors:
        raise ValueError(f"{folder} contains no safetensors file")
    return tensors


def widened(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return tensors without 8-bit numbers: each such matrix times its scales, in float32."""
    return {
        name: Bytes(tensor, tensors[f"{name.removesuffix('weight')}scale"]).widened()
        if tensor.dtype == np.int8
        else tensor
        for name, tensor in tensors.items()
        if not name.endswith(".scale")
    }


def load(folder: str | Path, dtype: str = "int8", vocab_size: int | None = None) -> Weights:
    """Read a checkpoint's folder. ``vocab_size`` is the number of its tokenizer's tokens, if lower than that of its
    head.

    Raises:
        ValueError: if it is not such a model, or a tensor is missing.
    """
    folder = Path(folder)
    try:
        config = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError):
        raise ValueError(f"{folder} is not a model: it has no valid config.json") from None
    if why := unsupported(config):
        raise ValueError(f"{folder.name}: {why}")
    return Weights(folder.name, config, read_tensors(folder), dtype, vocab_size)


class Weights:
    """The weights of a model in one of the types of :data:`STORAGE`, by the names of transformers.

    ``config`` is its ``config.json``, ``tensors`` are numpy arrays, matrices of floats or of 8-bit numbers with their
    scales. In ``int8`` every matrix is int8 and the rest float32; in the others int8 matrices are widened: the same
    weights. ``angle_frequencies`` are those of the rotary angles, by default those of the config.
    """

    def __init__(
        self,
        name: str,
        config: Mapping[str, Any],
        tensors: Mapping[str, np.ndarray],
        dtype: str = "int8",
        vocab_size: int | None = None,
        angle_frequencies: tuple[np.ndarray, float] | None = None,
    ) -> None:
        if dtype not in STORAGE:
            raise ValueError(f"unknown dtype {dtype!r}: the native runtime has {', '.join(STORAGE)}")
        self.name, self.config, self.dtype = name, config, dtype
        self._tensors = tensors
        self.width, self.inner = config["hidden_size"], config["intermediate_size"]
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.kv_heads = config.get("num_key_value_heads") or self.heads
        self.head_dim = config.get("head_dim") or self.width // self.heads
        self.epsilon, self.scale = config["rms_norm_eps"], self.head_dim**-0.5
        self.vocab_size = min(config["vocab_size"], vocab_size or config["vocab_size"])
        self.positions = config.get("max_position_embeddings")
        #: The type of logits and of the cache.
        self.compute = np.dtype(np.float64 if dtype == "float64" else np.float32)
        self.angles = Angles(*(angle_frequencies or (frequencies(config, self.head_dim), 1.0)), self.compute)

    @property
    def parameters(self) -> int:
        """Number of parameters, shared ones counted once."""
        tied = "lm_head.weight" if self.config.get("tie_word_embeddings") else None
        return sum(
            tensor.size for name, tensor in self._tensors.items() if name != tied and not name.endswith(".scale")
        )

    def windows(self) -> list[int]:
        """Return how many places a token of each layer attends to, itself included; 0 for all."""
        config, size = self.config, self.config.get("sliding_window") or 0
        if config["model_type"] == "mistral":
            return [size] * self.layers
        if config["model_type"] == "llama" or not config.get("use_sliding_window"):
            return [0] * self.layers
        kinds = config.get("layer_types") or [
            "sliding_attention" if i >= config["max_window_layers"] else "" for i in range(self.layers)
        ]
        return [size if kind == "sliding_attention" else 0 for kind in kinds]

    def matrix(self, name: str) -> np.ndarray | Bytes:
        """Return the matrix ``NAME.weight`` in the type of these weights."""
        found = self._get(f"{name}.weight")
        stored = Bytes(found, self._get(f"{name}.scale")) if found.dtype == np.int8 else found
        if self.dtype == "int8":
            return stored if isinstance(stored, Bytes) else rounded(stored)
        return self._float(stored.widened() if isinstance(stored, Bytes) else stored)

    def vector(self, name: str) -> np.ndarray | None:
        """Return a vector in the type of these weights (float32 in int8), ``None`` where there is none."""
        return self._float(self._tensors[name]) if name in self._tensors else None

    def items(self) -> Iterator[tuple[int, str, np.ndarray | Bytes]]:
        """Iterate over (layer, slot of the library, tensor); the layer is -1 for what belongs to none."""
        for i in range(self.layers):
            for slot, part in _LINEAR.items():
                name = f"model.layers.{i}.{part}"
                yield i, slot, self.matrix(name)
                if (bias := self.vector(f"{name}.bias")) is not None:
                    yield i, f"{slot}_bias", bias
            for slot, part in _NORMS.items():
                if (norm := self.vector(f"model.layers.{i}.{part}.weight")) is not None:
                    yield i, slot, norm
        embedding = self.embedding
        yield -1, "embedding", embedding
        norm = self.vector("model.norm.weight")
        assert norm is not None, "every such model has it"
        yield -1, "final_norm", norm
        yield -1, "head", embedding if self._tied else self.matrix("lm_head")
        if (bias := self.vector("lm_head.bias")) is not None:
            yield -1, "head_bias", bias

    @cached_property
    def embedding(self) -> np.ndarray | Bytes:
        """The embedding ``[vocabulary, width]``: the library reads it where it is."""
        return self.matrix("model.embed_tokens")

    @property
    def _tied(self) -> bool:
        return bool(self.config.get("tie_word_embeddings")) or "lm_head.weight" not in self._tensors

    def _get(self, name: str) -> np.ndarray:
        if name not in self._tensors:
            raise ValueError(f"{self.name}: its files have no tensor {name}")
        return self._tensors[name]

    def _float(self, tensor: np.ndarray) -> np.ndarray:
        wide = np.ascontiguousarray(tensor, np.float64 if self.dtype == "float64" else np.float32)
        if self.dtype != "bfloat16":
            return wide
        # Round to nearest, ties to even.
        bits = wide.view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def frequencies(config: Mapping[str, Any], head_dim: int) -> np.ndarray:
    """Return the frequencies of rotary angles ``[head_dim / 2]``, float64 with the values of float32."""
    rope = _rope(config)
    theta = float(rope.get("rope_theta", config.get("rope_theta", 10000.0)))
    # Rounding to float32 leaves no trace of how a C library rounds powers.
    turns = np.array([theta ** (-2 * i / head_dim) for i in range(head_dim // 2)], np.float32)
    if _rope_kind(rope) == "linear":
        turns = turns / np.float32(rope["factor"])
    elif _rope_kind(rope) == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        whole = rope["original_max_position_embeddings"] * turns.astype(np.float64) / (2 * pi)
        smooth = np.clip((whole - low) / (high - low), 0, 1)
        turns = ((1 - smooth) * turns / rope["factor"] + smooth * turns).astype(np.float32)
    return turns.astype(np.float64)


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def _rope_kind(rope: Mapping[str, Any]) -> str:
    return rope.get("rope_type", rope.get("type", "default"))


class Angles:
    """Tables of cosines and sines ``[places, n]`` of ``frequencies`` ``[n]`` (at most 1 each), times ``factor``, as
    ``dtype``.
    """

    def __init__(self, turns: np.ndarray, factor: float, dtype: np.dtype) -> None:
        self.factor, self._dtype = factor, dtype
        square = turns * turns
        #: The turn from one place to the next, by Taylor's series to the power of 23.
        self._cos, self._sin = np.zeros_like(turns), np.zeros_like(turns)
        for k in range(11, -1, -1):
            self._cos = (-1) ** k / factorial(2 * k) + self._cos * square
            self._sin = (-1) ** k / factorial(2 * k + 1) + self._sin * square
        self._sin = self._sin * turns
        #: The cosines and sines of one place.
        self.turn = self._cos, self._sin
        self._lock = threading.Lock()
        self._wide = np.ones((1, len(turns))), np.zeros((1, len(turns)))
        self._table = self._rounded()

    def __call__(self, places: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the tables of at least so many places."""
        if len(self._table[0]) < places:
            with self._lock:
                while len(self._wide[0]) < max(places, 256):
                    self._double()
                self._table = self._rounded()
        return self._table

    def _double(self) -> None:
        """Turn all places by as many places as there are; then square the turn."""
        (cos, sin), c, s = self._wide, self._cos, self._sin
        self._wide = np.concatenate([cos, cos * c - sin * s]), np.concatenate([sin, sin * c + cos * s])
        self._cos, self._sin = c * c - s * s, 2.0 * (s * c)

    def _rounded(self) -> tuple[np.ndarray, np.ndarray]:
        cos, sin = ((part * self.factor).astype(self._dtype) for part in self._wide)
        return cos, sin
