"""Make small random models of the ladder's form and of other Llama-shaped families."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    SmolLM3Config,
)

from hsd_viz.models.config import form_of
from hsd_viz.native.build import Build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import ArrayTensors, Weights
from hsd_viz.torch_models.eager import HFModel

VOCAB = 150
_SMALL: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 40,
    "intermediate_size": 88,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 24,
    "max_position_embeddings": 1024,
    "initializer_range": 0.15,
    "tie_word_embeddings": True,
}


_WITHOUT_HEAD_DIM = dict(_SMALL)
del _WITHOUT_HEAD_DIM["head_dim"]


def small(kind: type[PreTrainedConfig], **changes: Any) -> PreTrainedConfig:
    """Return a configuration of a small model of this kind, with changes."""
    return kind.from_dict(_SMALL | changes)


#: No width, head or vocabulary here is a multiple of a vector or a panel, but where a line says so.
CONFIGS: dict[str, PreTrainedConfig] = {
    "odd": small(Qwen3Config),
    "long heads": small(Qwen3Config, head_dim=72, num_key_value_heads=4, intermediate_size=90),
    "whole panels": small(Qwen3Config, hidden_size=128, intermediate_size=256, vocab_size=256),
}


_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
_LINEAR = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 4.0}
#: Other families: grouped heads, a head of its own, biases, rotary scalings, layers without rotary
#: positions.
FAMILIES: dict[str, PreTrainedConfig] = {
    "llama": small(
        LlamaConfig, num_attention_heads=8, tie_word_embeddings=False, rope_parameters=_LLAMA3
    ),
    "mistral": small(MistralConfig, sliding_window=None, rope_parameters=_LINEAR),
    "qwen2": Qwen2Config.from_dict(_WITHOUT_HEAD_DIM | {"hidden_size": 64}),
    "smollm3": small(
        SmolLM3Config, no_rope_layer_interval=2, pad_token_id=None, use_sliding_window=False
    ),
}
FORMS = CONFIGS | FAMILIES
#: The form "llama" with a reduced head, and the tokens that it has.
REDUCED = "reduced"
HEAD_TOKENS = np.sort(np.random.default_rng(5).permutation(VOCAB)[:61])
#: The arithmetic of a model in int8, by what stands for a type.
INTEGERS = {"int8": "rows", "int8 groups": "groups"}


@functools.cache
def eager(name: str, dtype: torch.dtype = torch.float32) -> HFModel:
    """Return the model in transformers, with random norms."""
    torch.manual_seed(0)
    module = AutoModelForCausalLM.from_config(FORMS[name]).double()
    with torch.no_grad():
        for part in module.parameters():
            if part.dim() == 1:
                part += 0.1 * torch.randn_like(part)
    return HFModel(name, module.to(dtype))


def weights_of(
    module: torch.nn.Module,
    dtype: str,
    tokens: int | None = None,
    arithmetic: str | None = None,
    reduced: bool = False,
) -> Weights:
    """Return the weights of a module, with the first ``tokens`` rows of its head or those of
    HEAD_TOKENS.
    """
    wide = torch.float64 if dtype == "float64" else torch.float32
    tensors = {}
    for name, tensor in module.state_dict().items():
        tensors[name] = tensor.to(wide).numpy(force=True)
    config = module.config.to_dict()
    if reduced:
        tensors["lm_head.weight"] = tensors["lm_head.weight"][HEAD_TOKENS]
        tensors["d2t"] = HEAD_TOKENS - np.arange(len(HEAD_TOKENS))
        config["draft_vocab_size"] = len(HEAD_TOKENS)
    form = form_of("random", config)
    return Weights("random", form, ArrayTensors(tensors), dtype, tokens, arithmetic)


@functools.cache
def native(
    name: str, dtype: torch.dtype | str = torch.float32, build: Build | None = None
) -> NativeModel:
    reduced = name == REDUCED
    form = "llama" if reduced else name
    if dtype in INTEGERS:
        module = eager(form).module
        weights = weights_of(module, "int8", arithmetic=INTEGERS[dtype], reduced=reduced)
    else:
        module = eager(form, dtype).module
        weights = weights_of(module, str(dtype).removeprefix("torch."), reduced=reduced)
    return NativeModel(weights, build)


def ids(n: int, seed: int = 0, vocab: int = VOCAB) -> list[int]:
    return torch.randint(0, vocab, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def random_tree(n: int, seed: int) -> list[int]:
    """Return the parents of ``n`` nodes of a bushy or deep tree; -1 for children of the last cached
    token.
    """
    random = torch.Generator().manual_seed(seed)
    deep = float(torch.rand((), generator=random))
    parents = []
    for i in range(n):
        near = float(torch.rand((), generator=random)) < deep
        if near or i == 0:
            parents.append(i - 1)
        else:
            parents.append(int(torch.randint(-1, i, (), generator=random)))
    return parents


def path_to(parents: list[int], node: int) -> list[int]:
    """Return the nodes from the first one after the cache to ``node``."""
    path = [node]
    while parents[path[0]] >= 0:
        path.insert(0, parents[path[0]])
    return path
