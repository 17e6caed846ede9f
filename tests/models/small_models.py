"""Make tiny random checkpoints of Llama-shaped models with transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import (
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
    SmolLM3Config,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from tests.engine.checkpoints import TEMPLATE, TOKENS, save_tokenizer

SIZES = {
    "vocab_size": TOKENS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "tie_word_embeddings": False,
    "initializer_range": 0.2,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "pad_token_id": None,
}
LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}


def small(kind: type[PreTrainedConfig], **changes: Any) -> PreTrainedConfig:
    """Return a configuration of a small model of this kind, with changes."""
    return kind.from_dict(SIZES | changes)


#: Name of a form -> its configuration.
FORMS = {
    "llama": small(LlamaConfig),
    "llama-tied": small(LlamaConfig, tie_word_embeddings=True, num_key_value_heads=4),
    "llama-linear": small(LlamaConfig, rope_parameters=LINEAR),
    "llama-llama3": small(LlamaConfig, rope_parameters=LLAMA_3, head_dim=32),
    "mistral": small(MistralConfig, sliding_window=None, rms_norm_eps=1e-5),
    "qwen2": small(Qwen2Config),
    "qwen3": small(Qwen3Config, head_dim=32),
    "smollm3": small(SmolLM3Config, num_hidden_layers=4, no_rope_layer_interval=2),
}


def make_model(form: str, seed: int = 0) -> PreTrainedModel:
    """Return a random model of a form; norms and biases are random, too."""
    config = FORMS[form]
    torch.manual_seed(seed)
    module = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)](config).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                parameter.normal_()
            if "norm" in name:
                parameter.uniform_(0.5, 2)
    return module


def save_form(
    folder: Path, form: str, dtype: str = "float32", max_shard_size: str = "50GB"
) -> PreTrainedModel:
    """Save a random model of a form with a tokenizer; return the model as it is stored."""
    module = make_model(form).to(getattr(torch, dtype))
    module.save_pretrained(folder, max_shard_size=max_shard_size)
    save_tokenizer(folder, TEMPLATE)
    return module.float()
