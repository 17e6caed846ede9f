"""Tiny random checkpoints of Llama-shaped models, made with transformers."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import (
    LlamaConfig,
    MistralConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
    SmolLM3Config,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

sys.path.append(str(Path(__file__).parent.parent / "engine"))
from checkpoints import TEMPLATE, TOKENS, save_tokenizer

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
#: Name of a form -> its configuration.
FORMS = {
    "llama": LlamaConfig(**SIZES),
    "llama-tied": LlamaConfig(**SIZES | {"tie_word_embeddings": True, "num_key_value_heads": 4}),
    "llama-linear": LlamaConfig(**SIZES, rope_parameters=LINEAR),
    "llama-llama3": LlamaConfig(**SIZES, rope_parameters=LLAMA_3, head_dim=32),
    "mistral": MistralConfig(**SIZES, sliding_window=None, rms_norm_eps=1e-5),
    "qwen2": Qwen2Config(**SIZES),
    "qwen3": Qwen3Config(**SIZES, head_dim=32),
    "smollm3": SmolLM3Config(**SIZES | {"num_hidden_layers": 4}, no_rope_layer_interval=2),
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


def save_form(folder: Path, form: str, dtype: str = "float32", **saving) -> PreTrainedModel:
    """Save a random model of a form with a tokenizer; return the model as it is stored."""
    module = make_model(form).to(getattr(torch, dtype))
    module.save_pretrained(folder, **saving)
    save_tokenizer(folder, TEMPLATE)
    return module.float()
