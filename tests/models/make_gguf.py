"""Write GGUF files of small models with the package ``gguf``."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Kind

_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
#: Architectures whose rotary pairs are neighbours.
INTERLEAVED = ("llama", "smollm3")


def gguf_name(name: str) -> str:
    """Return llama.cpp's name for a tensor of transformers."""
    if name in _NAMES:
        return _NAMES[name]
    _, _, layer, part = name.split(".", 3)
    part, _, kind = part.rpartition(".")
    return f"blk.{layer}.{_LAYER_NAMES[part]}.{kind}"


def interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """Return the rows of queries or keys as llama.cpp's converter writes them."""
    return rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def random_blocks(kind: Kind, rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Return random bytes that are valid blocks, with small float16 scales."""
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    draws = np.random.default_rng(seed)
    blocks = draws.integers(0, 256, (rows, columns // numbers, size), dtype=np.uint8)
    places = {Kind.Q4_K: (0, 2), Kind.Q5_K: (0, 2), Kind.Q6_K: (208,)}[kind]
    for at in places:
        scales = draws.uniform(1e-4, 2e-3, blocks.shape[:2]).astype(np.float16)
        blocks[:, :, at : at + 2] = scales[:, :, None].view(np.uint8)
    return blocks.reshape(rows, -1)


def encode(matrix: np.ndarray, kind: Kind) -> np.ndarray:
    """Return a matrix in a number format; the K formats get random blocks of its shape."""
    if kind in (Kind.Q4_K, Kind.Q5_K, Kind.Q6_K):
        return random_blocks(kind, *matrix.shape)
    return gguf.quants.quantize(np.ascontiguousarray(matrix), kind)


def write_gguf(
    path: Path,
    module: torch.nn.Module,
    architecture: str = "llama",
    kind: Kind = Kind.F32,
    extra: dict | None = None,
    factors: np.ndarray | None = None,
) -> Path:
    """Write a model of transformers to a GGUF file; matrices have the number format ``kind``.

    ``extra`` are metadata besides those of the form: texts, numbers and lists by key; ``factors``
    divide the rotary frequencies.
    """
    config = module.config
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    head_dim = getattr(config, "head_dim", None)
    if head_dim is not None:
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    for key, value in (extra or {}).items():
        _add(writer, key, value)
    if factors is not None:
        writer.add_tensor("rope_freqs.weight", factors.astype(np.float32))
    for name, parameter in module.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        tensor = parameter.detach().float().numpy()
        for part, count in heads.items():
            if architecture in INTERLEAVED and f".{part}." in name:
                tensor = interleaved(tensor, count)
        stored = kind if tensor.ndim == 2 else Kind.F32
        writer.add_tensor(gguf_name(name), encode(tensor, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    if isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_array(key, value)
