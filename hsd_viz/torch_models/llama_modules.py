"""Build Llama-shaped models as modules of transformers, from any format that :mod:`hsd_viz.models`
reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
    SmolLM3Config,
)

from hsd_viz.errors import Unsupported
from hsd_viz.models.files import ModelFiles
from hsd_viz.models.form import LlamaForm, Rotary
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.safetensors import SafetensorsTensors
from hsd_viz.models.tensors import HEAD_OFFSETS, head_tokens


def config_of(form: LlamaForm) -> PreTrainedConfig:
    """Return the transformers configuration of a form.

    Raises:
        Unsupported: if no model type of transformers has its combination of options.
    """
    kind: type[PreTrainedConfig] = LlamaConfig
    options: dict[str, Any] = {
        "vocab_size": form.vocabulary,
        "hidden_size": form.width,
        "intermediate_size": form.inner,
        "num_hidden_layers": form.layers,
        "num_attention_heads": form.heads,
        "num_key_value_heads": form.kv_heads,
        "head_dim": form.head_dim,
        "max_position_embeddings": form.positions,
        "rms_norm_eps": form.epsilon,
        "rope_parameters": _rotary(form.rotary),
        "tie_word_embeddings": form.tied_head,
    }
    chosen = 0
    if form.query_key_norm:
        kind = Qwen3Config
        chosen += 1
    if form.query_key_value_bias:
        kind = Qwen2Config
        chosen += 1
    if form.layers_without_rotary:
        kind = SmolLM3Config
        rotary = [int(layer not in form.layers_without_rotary) for layer in range(form.layers)]
        options["no_rope_layers"] = rotary
        chosen += 1
    if chosen > 1:
        raise Unsupported("transformers has no model type with these options together")
    if kind is SmolLM3Config:
        # The defaults are token ids of SmolLM3's own vocabulary.
        options |= dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"))
    return kind.from_dict(options)


def _rotary(rotary: Rotary) -> dict[str, Any]:
    parameters: dict[str, Any] = {"rope_type": rotary.kind, "rope_theta": rotary.theta}
    if rotary.kind != "default":
        parameters["factor"] = rotary.factor
    if rotary.kind == "llama3":
        parameters["low_freq_factor"] = rotary.low_frequency_factor
        parameters["high_freq_factor"] = rotary.high_frequency_factor
        parameters["original_max_position_embeddings"] = rotary.original_positions
    return parameters


def is_readable(files: ModelFiles) -> bool:
    """Return whether transformers can load these files correctly by itself."""
    tensors = files.tensors
    if files.form.head_rows is not None:
        return False
    return isinstance(tensors, SafetensorsTensors) and not tensors.has_row_scales


def load_module(files: ModelFiles, dtype: torch.dtype, device: str = "cpu") -> PreTrainedModel:
    """Load a model as a module of transformers in evaluation mode, with widened weights."""
    with torch.device("meta"):
        module = AutoModelForCausalLM.from_config(config_of(files.form), dtype=dtype)
    state = {}
    for name in files.tensors.names():
        tensor = files.tensors.read(name)
        if isinstance(tensor, GroupedMatrix):
            tensor = tensor.widened()
        # Copied, because the pages of a file cannot be written to.
        state[name] = torch.from_numpy(np.array(tensor)).to(dtype)
    tokens = head_tokens(files.name, files.form, files.tensors)
    if tokens is not None:
        module.lm_head = ReducedHead(state.pop("lm_head.weight"), tokens, files.form.vocabulary)
        del state[HEAD_OFFSETS]
    module.load_state_dict(state, strict=False, assign=True)
    module.tie_weights()
    _compute_angles(module)
    module.generation_config = GenerationConfig(
        eos_token_id=sorted(files.ends(files.tokenizer())) or None
    )
    return module.to(device).eval()


class ReducedHead(torch.nn.Module):
    """A head for a part of the vocabulary; the logits of all other tokens are -inf.

    Args:
        weight: the weights ``[rows, width]``.
        tokens: the token of each row ``[rows]``.
        vocabulary: the size of the vocabulary.
    """

    def __init__(self, weight: torch.Tensor, tokens: np.ndarray, vocabulary: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight, requires_grad=False)
        self.register_buffer("tokens", torch.from_numpy(tokens).long(), persistent=False)
        self.vocabulary = vocabulary

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        head_logits = torch.nn.functional.linear(hidden, self.weight)
        rows = head_logits.new_full((*head_logits.shape[:-1], self.vocabulary), -torch.inf)
        return rows.index_copy(-1, self.tokens, head_logits)


def _compute_angles(module: PreTrainedModel) -> None:
    """Compute the rotary frequencies, which are not stored in files."""
    angles = module.model.rotary_emb
    module.model.rotary_emb = type(angles)(config=module.config)
