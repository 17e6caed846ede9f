"""Modules that the native and the lean forward pass can run: Llama and its relatives as transformers has them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM

from hsd_viz.native.weights import Weights
from hsd_viz.torch_models.eager import HFModel

FAMILIES = (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM)
#: Rotary angles that do not depend on the length of the text.
_ROTARY = ("default", "linear", "llama3", "yarn")


def unsupported(module: nn.Module) -> str | None:
    """Return why the native and the lean forward pass cannot run a causal model; ``None`` if they can."""
    if type(module) not in FAMILIES:
        return f"{type(module).__name__} is not one of {', '.join(family.__name__ for family in FAMILIES)}"
    config, rotary = module.config, module.model.rotary_emb
    if config.hidden_act not in ("silu", "swish"):
        return f"the activation {config.hidden_act} is not supported"
    if rotary.rope_type not in _ROTARY:
        return f"rotary angles of type {rotary.rope_type} depend on the text's length"
    if 2 * len(rotary.inv_freq) != module.model.layers[0].self_attn.head_dim:
        return "rotary angles for a part of the head are not supported"
    for name, part in module.named_modules():
        own = any(True for _ in part.parameters(recurse=False))
        if own and type(part) not in (nn.Linear, nn.Embedding) and not type(part).__name__.endswith("RMSNorm"):
            return f"{name} is a {type(part).__name__}, which is not supported"
    if any(p.dtype != module.dtype for p in module.parameters()):
        return "its weights are of several types"
    return None


@torch.inference_mode()
def weights_of(model: HFModel, dtype: str | None = None) -> Weights:
    """Return the weights of a model's module, by default in its own type; 16-bit ones are widened, which is exact."""

    def numbers(tensor: Tensor) -> np.ndarray:
        return (tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()).numpy(force=True)

    module, rotary = model.module, model.module.model.rotary_emb
    turns = numbers(rotary.inv_freq).astype(np.float64), float(rotary.attention_scaling)
    tensors = {name: numbers(tensor) for name, tensor in module.state_dict().items()}
    kind = dtype or str(module.dtype).removeprefix("torch.")
    return Weights(model.name, module.config.to_dict(), tensors, kind, model.vocab_size, turns)
