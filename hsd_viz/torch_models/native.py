"""Modules of transformers in the native runtime: Llama and its relatives."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM

from hsd_viz.native.build import Build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import Weights
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.suitable import check_forward

FAMILIES = (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM)
#: Rotary angles that do not depend on the length of the text.
_ROTARY = ("default", "linear", "llama3", "yarn")
#: The types of a module that have a native forward pass, with the largest error of a row
#: (:func:`~hsd_viz.torch_models.suitable.row_error`). The module rounds its norms to float32 even in float64, and all
#: its activations to bfloat16 in bfloat16.
TOLERANCE = {"float32": 1e-3, "float64": 1e-4, "bfloat16": 0.15}


def native_model(model: HFModel, build: Build | None = None) -> NativeModel:
    """Return a model as it is now in the native runtime.

    Raises:
        ValueError: if there is no native runtime here, the model has no native forward pass, or the packed model does
            not give the module's logits on a probe.
    """
    if why := unsupported(model.module):
        raise ValueError(f"{model.name}: {why}")
    native = NativeModel(weights_of(model), build)
    check_forward(model, native.session(), TOLERANCE[model.dtype])
    return native


def unsupported(module: nn.Module) -> str | None:
    """Return why a Hugging Face causal model has no native forward pass, in a few words; ``None`` if it has one."""
    if devices := {p.device.type for p in module.parameters()} - {"cpu"}:
        return f"the native forward pass is for the CPU, and weights are on {', '.join(sorted(devices))}"
    kind = str(module.dtype).removeprefix("torch.")
    if kind not in TOLERANCE:
        return f"{kind} has no native forward pass"
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
    return "its weights are of several types" if any(p.dtype != module.dtype for p in module.parameters()) else None


@torch.inference_mode()
def weights_of(model: HFModel, dtype: str | None = None) -> Weights:
    """Return the weights of a model's module, by default in its own type; 16-bit ones are widened, which is exact."""

    def numbers(tensor: Tensor) -> np.ndarray:
        return (tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()).numpy(force=True)

    module, rotary = model.module, model.module.model.rotary_emb
    turns = numbers(rotary.inv_freq).astype(np.float64), float(rotary.attention_scaling)
    tensors = {name: numbers(tensor) for name, tensor in module.state_dict().items()}
    return Weights(model.name, module.config.to_dict(), tensors, dtype or model.dtype, model.vocab_size, turns)
