"""Models for the identity tests: tiny random ones in memory, and the shipped ladder."""

from __future__ import annotations

import functools

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from hsd_viz.engine import load_engine
from hsd_viz.models.config import form_of
from hsd_viz.native.build import default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import ArrayTensors, Weights
from hsd_viz.prompts.suites import load_suite
from hsd_viz.torch_models.eager import HFModel
from tests.rows import column

NEAR_TIE = 1e-3


needs_native = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)


@functools.cache
def random_model(
    seed: int,
    noise: float = 0.0,
    device: str = "cpu",
    dtype: torch.dtype = torch.float64,
    runtime: str = "eager",
) -> HFModel | NativeModel:
    """A random Qwen3 over 64 tokens; ``noise`` (relative) makes a relative of it, whose drafts
    are accepted now and then.
    """
    module = random_module(seed, noise, dtype, vocab_size=64, max_position_embeddings=256)
    return (
        native_of(module) if runtime == "native" else HFModel(f"random {seed}", module.to(device))
    )


def random_module(
    seed: int,
    noise: float,
    dtype: torch.dtype,
    *,
    vocab_size: int,
    max_position_embeddings: int,
    width: int = 32,
    layers: int = 2,
):
    """A random Qwen3; ``noise`` is added in units of each weight's deviation."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocab_size,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=layers,
        head_dim=width // 2,
        max_position_embeddings=max_position_embeddings,
        tie_word_embeddings=True,
        initializer_range=0.6,
    )
    module = Qwen3ForCausalLM(config).to(dtype)
    with torch.no_grad():
        for weight in module.parameters():
            weight += noise * weight.std(correction=0) * torch.randn(weight.shape, dtype=dtype)
    return module


def native_of(module: Qwen3ForCausalLM, dtype: str | None = None) -> NativeModel:
    """A module in the native runtime, by default in its own type."""
    tensors = {name: tensor.numpy(force=True) for name, tensor in module.state_dict().items()}
    form = form_of("random", module.config.to_dict())
    return NativeModel(
        Weights("random", form, ArrayTensors(tensors), dtype or str(module.dtype)[6:])
    )


@functools.cache
def ladder_engine(dtype: str, device: str = "cpu"):
    return load_engine(device=device, dtype=dtype)


def bundled_prompts(n: int) -> list[str]:
    """``n`` prompts of the ``heldout`` suite, spread over its categories."""
    return column(load_suite("heldout").limited(n).prompts, "text")


def top_gap(ids: list[int]) -> float:
    """The gap between the two best logits of the float64 target after ``ids``."""
    with torch.inference_mode():
        row = ladder_engine("float64").module("target")(torch.tensor([ids])).logits[0, -1]
    best = row.topk(2).values
    return float(best[0] - best[1])
