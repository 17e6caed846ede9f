"""Make tiny random models of every supported family in float64, with short windows, caps, and
learned positions.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    Phi3Config,
    PhiConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

VOCABULARY = 50
#: No end tokens: a text goes on to its limit, here and in transformers' own generate.
_ENDLESS = {
    "vocab_size": VOCABULARY,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
    "tie_word_embeddings": False,
}
_GROUPED = _ENDLESS | {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
    "initializer_range": 0.4,
}
_PLAIN = {key: value for key, value in _GROUPED.items() if key != "num_key_value_heads"}
_OPT = {
    key: value
    for key, value in _PLAIN.items()
    if key not in ("intermediate_size", "initializer_range")
}
_OPT |= {"word_embed_proj_dim": 32, "ffn_dim": 48, "init_std": 0.4}
_GPT2 = _ENDLESS | {
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 1024,
    "initializer_range": 0.4,
}
_PARTLY_ROTARY = {
    "rope_type": "default",
    "rope_theta": 10_000.0,
    "partial_rotary_factor": 0.5,
}
_MIXED = ["sliding_attention", "full_attention"]


def grouped(kind: type[PreTrainedConfig], **more: Any) -> PreTrainedConfig:
    """Return a configuration with grouped heads."""
    return kind.from_dict(_GROUPED | more)


CONFIGS = {
    "llama": grouped(LlamaConfig),
    "qwen2": grouped(Qwen2Config, use_sliding_window=False),
    "qwen2, one windowed layer": grouped(
        Qwen2Config, use_sliding_window=True, sliding_window=5, max_window_layers=1
    ),
    "qwen3": grouped(Qwen3Config, head_dim=8),
    "mistral, window of 5": grouped(MistralConfig, sliding_window=5),
    "gemma": grouped(GemmaConfig, head_dim=8),
    "gemma2, windows and caps": grouped(
        Gemma2Config,
        head_dim=8,
        sliding_window=5,
        layer_types=_MIXED,
        attn_logit_softcapping=5.0,
        final_logit_softcapping=3.0,
        query_pre_attn_scalar=8,
    ),
    "gemma3, windows": grouped(
        Gemma3TextConfig,
        head_dim=8,
        sliding_window=5,
        layer_types=_MIXED,
        query_pre_attn_scalar=8,
    ),
    "gpt2": GPT2Config.from_dict(_GPT2),
    "gpt-neox": GPTNeoXConfig.from_dict(_PLAIN | {"rope_parameters": _PARTLY_ROTARY}),
    "opt": OPTConfig.from_dict(_OPT),
    "phi": grouped(PhiConfig),
    "phi3, window of 5": grouped(Phi3Config, sliding_window=5),
}


@functools.cache
def module(family: str, noise: float = 0.0) -> torch.nn.Module:
    """A random model of this family; ``noise`` (relative) makes a relative of it, whose drafts
    are accepted now and then.
    """
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(CONFIGS[family]).double().eval()
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if (
                weight.dim() == 1
            ):  # biases and norms start as constants, which would hide that one is left out
                weight += 0.1 * torch.randn_like(weight)
            if "embed_positions" in name or "wpe" in name:  # and learned positions almost do
                weight.copy_(torch.randn_like(weight))
            weight += noise * weight.std(correction=0) * torch.randn_like(weight)
    return made


def text_of(n: int, seed: int = 0) -> list[int]:
    return torch.randint(
        0, VOCABULARY, (n,), generator=torch.Generator().manual_seed(seed)
    ).tolist()
