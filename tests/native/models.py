"""Small random models of every family that has a native forward."""

from __future__ import annotations

import functools

import torch
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

from hsd_viz.native.build import Build
from hsd_viz.native.model import NativeModel
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.native import native_model

VOCAB = 150
_SMALL = {
    "vocab_size": VOCAB,
    "hidden_size": 40,
    "intermediate_size": 88,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "initializer_range": 0.15,
}
#: No width, head or vocabulary here is a multiple of a vector or a panel, but where a line says so.
CONFIGS: dict[str, PreTrainedConfig] = {
    "llama": LlamaConfig(**_SMALL),
    "llama, tied, one head each": LlamaConfig(**{**_SMALL, "num_key_value_heads": 4, "tie_word_embeddings": True}),
    "llama, biases, long heads": LlamaConfig(**_SMALL, attention_bias=True, mlp_bias=True, head_dim=72),
    "llama, whole panels": LlamaConfig(**{**_SMALL, "hidden_size": 128, "intermediate_size": 256, "vocab_size": 256}),
    "llama, llama3 angles": LlamaConfig(
        **_SMALL,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    ),
    "llama, yarn angles": LlamaConfig(
        **_SMALL,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 256,
        },
    ),
    "mistral, window of 7": MistralConfig(**_SMALL, sliding_window=7, head_dim=16),
    "mistral": MistralConfig(**_SMALL, sliding_window=None, head_dim=16),
    "qwen2": Qwen2Config(**_SMALL),
    "qwen2, window of 5 in the last two layers": Qwen2Config(
        **_SMALL, use_sliding_window=True, sliding_window=5, max_window_layers=1
    ),
    "qwen3": Qwen3Config(**_SMALL, head_dim=24),
}


@functools.cache
def eager(name: str, dtype: torch.dtype = torch.float32) -> HFModel:
    """The model in transformers; its biases and norms are random too."""
    torch.manual_seed(0)
    module = AutoModelForCausalLM.from_config(CONFIGS[name]).double()
    with torch.no_grad():
        for part in module.parameters():
            if part.dim() == 1:
                part += 0.1 * torch.randn_like(part)
    return HFModel(name, module.to(dtype))


@functools.cache
def native(name: str, dtype: torch.dtype = torch.float32, build: Build | None = None) -> NativeModel:
    return native_model(eager(name, dtype), build)


def ids(n: int, seed: int = 0, vocab: int = VOCAB) -> list[int]:
    return torch.randint(0, vocab, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def random_tree(n: int, seed: int) -> list[int]:
    """Parents of ``n`` nodes: bushy and deep trees alike, -1 for children of the last cached token."""
    random = torch.Generator().manual_seed(seed)
    deep = float(torch.rand((), generator=random))
    parents = []
    for i in range(n):
        near = float(torch.rand((), generator=random)) < deep
        parents.append(i - 1 if near else int(torch.randint(-1, i, (), generator=random)) if i else -1)
    return parents


def path_to(parents: list[int], node: int) -> list[int]:
    """The nodes from the first one behind the cache to ``node``."""
    path = [node]
    while parents[path[0]] >= 0:
        path.insert(0, parents[path[0]])
    return path
