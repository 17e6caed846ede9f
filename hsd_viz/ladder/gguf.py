"""Write a Llama or Qwen3 checkpoint as a GGUF file, the format of llama.cpp. Imports no torch.

A GGUF file (version 3) is a header, key-value pairs, the list of tensors, and their aligned data, little-endian. See
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. In a Llama, llama.cpp rotates neighbouring rows of a head's
queries and keys, transformers the two halves of a head, so these rows are stored in another order.
"""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.disk import replacing
from hsd_viz.ladder.load import NAMES, model_path

#: ``general.file_type`` of the data types; vectors are always float32.
DTYPES = {"float32": 0, "float16": 1, "bfloat16": 32}
#: GGML's numbers of the stored types. numpy has no bfloat16: it is stored as uint16.
_KINDS = {"float32": 0, "float16": 1, "uint16": 30}
_ALIGNMENT = 32
_LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_NORMAL, _CONTROL = 1, 3


def write_gguf(model: str | Path, path: Path, dtype: str = "float16") -> Path:
    """Write a shipped model, or a checkpoint folder, to ``path`` and return it. Raises: ValueError: if it is not a
    Llama or Qwen3 with a byte-level BPE tokenizer, or for another data type.
    """
    if dtype not in DTYPES:
        raise ValueError(f"unknown data type '{dtype}': use {' or '.join(DTYPES)}")
    folder = model_path(str(model)) if str(model) in NAMES else Path(model)
    config = _json(folder / "config.json")
    values = _hyperparameters(config, dtype, folder.name) | _vocabulary(folder, config)
    tensors = _tensors(folder, config, dtype)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(values)))
        for key, value in values.items():
            file.write(_text(key) + _value(value))
        offset = 0
        for name, tensor in tensors.items():
            kind = _KINDS[str(tensor.dtype)]
            shape = struct.pack(f"<I{tensor.ndim}Q", tensor.ndim, *tensor.shape[::-1])
            file.write(_text(name) + shape + struct.pack("<IQ", kind, offset))
            offset += _padded(tensor.nbytes)
        file.write(b"\0" * (_padded(file.tell()) - file.tell()))
        for tensor in tensors.values():
            file.write(tensor.tobytes() + b"\0" * (_padded(tensor.nbytes) - tensor.nbytes))
    return path


def _hyperparameters(config: dict[str, Any], dtype: str, name: str) -> dict[str, Any]:
    rope = config.get("rope_parameters") or {}
    family = config.get("model_type")
    if (
        family not in ("llama", "qwen3")
        or rope.get("rope_type", "default") != "default"
        or config.get("rope_scaling")
        or config.get("use_sliding_window")
        or config.get("attention_bias")
        or config.get("mlp_bias")
    ):
        raise ValueError(
            f"'{name}' is not a plain Llama or Qwen3 (without biases, windows and scaled rotations): it cannot be exported"
        )
    head = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    general = {"general.architecture": family, "general.name": f"hsd_viz {name}", "general.file_type": DTYPES[dtype]}
    sizes = {
        "block_count": config["num_hidden_layers"],
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": config.get("num_key_value_heads") or config["num_attention_heads"],
        "attention.key_length": head,
        "attention.value_length": head,
        "rope.dimension_count": head,
        "rope.freq_base": float(rope.get("rope_theta") or config.get("rope_theta") or 10_000.0),
        "attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
        "vocab_size": config["vocab_size"],
    }
    return general | {f"{family}.{key}": value for key, value in sizes.items()}


def _vocabulary(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return the tokenizer; its split into words must be GPT-2's, as in :mod:`hsd_viz.ladder.training`."""
    data = _json(folder / "tokenizer.json")
    model, split = data["model"], data.get("pre_tokenizer") or {}
    plain = split.get("type") == "ByteLevel" and split.get("use_regex", True) and not split.get("add_prefix_space")
    if model.get("type") != "BPE" or not plain or data.get("normalizer"):
        raise ValueError(f"the tokenizer of '{folder.name}' is not byte-level BPE with GPT-2's words")
    special = {row["id"]: row["content"] for row in data["added_tokens"]}
    pieces = {number: piece for piece, number in model["vocab"].items()} | special
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": [pieces[k] for k in range(config["vocab_size"])],
        "tokenizer.ggml.token_type": [_CONTROL if k in special else _NORMAL for k in range(config["vocab_size"])],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": config["bos_token_id"],
        "tokenizer.ggml.eos_token_id": config["eos_token_id"],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
    }


def _tensors(folder: Path, config: dict[str, Any], dtype: str) -> dict[str, np.ndarray]:
    """Return the tensors by their names in GGUF."""
    from safetensors.numpy import load_file

    heads = config["num_attention_heads"]
    groups = {"attn_q": heads, "attn_k": config.get("num_key_value_heads") or heads}
    if config["model_type"] == "qwen3":
        groups = {}  # rotated by halves there too
    found = {}
    for shard in sorted(folder.glob("*.safetensors")):
        for name, tensor in load_file(shard).items():
            stem = name.removesuffix(".weight")
            if stem in _WHOLE:
                new = _WHOLE[stem]
            else:
                _, _, layer, part = stem.split(".", 3)
                new = f"blk.{layer}.{_LAYER[part]}"
                if _LAYER[part] in groups:
                    halves = tensor.reshape(groups[_LAYER[part]], 2, -1, tensor.shape[1])
                    tensor = halves.swapaxes(1, 2).reshape(tensor.shape)
            found[f"{new}.weight"] = _stored(tensor, dtype if tensor.ndim > 1 else "float32")
    if config.get("tie_word_embeddings"):
        found.pop("output.weight", None)
    return found


def _stored(tensor: np.ndarray, dtype: str) -> np.ndarray:
    if dtype != "bfloat16":
        return tensor.astype(dtype)
    bits = tensor.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)  # to the nearest, ties to even


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _text(text: str) -> bytes:
    packed = text.encode("utf-8")
    return struct.pack("<Q", len(packed)) + packed


def _value(value: str | bool | int | float | Sequence[str] | Sequence[int]) -> bytes:
    """Return a value with its type: bool, whole number, float32, text, or a list of texts or whole numbers."""
    if isinstance(value, list):
        kind, items = (
            (8, map(_text, value)) if isinstance(value[0], str) else (5, (struct.pack("<i", v) for v in value))
        )
        return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(items)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    kind, form = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}[type(value)]
    return struct.pack(f"<I{form}", kind, value)


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {path}: {error}") from None
