"""Write a trained draft model as a checkpoint: ``python -m training.smollm2 export RUN.pt``.

Matrices are 8-bit integers with a scale per row. The embedding is that of the target and not in the
files; ``d2t`` has the tokens of the head, as in EAGLE-3's checkpoints.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from hsd_viz import disk
from hsd_viz.models.config import ROW_SCALES
from hsd_viz.models.files import LENDER, open_model
from hsd_viz.models.form import LlamaForm
from hsd_viz.models.tensors import HEAD_OFFSETS
from hsd_viz.native.rounding import rounded_rows
from training.smollm2.student import MATRICES

FAMILY = "smollm2"


def config_of(form: LlamaForm, layers: int, head_rows: int) -> dict:
    """Return the ``config.json`` of a draft model for a target of a form."""
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": layers,
        "hidden_size": form.width,
        "intermediate_size": form.inner,
        "num_attention_heads": form.heads,
        "num_key_value_heads": form.kv_heads,
        "head_dim": form.head_dim,
        "vocab_size": form.vocabulary,
        "draft_vocab_size": head_rows,
        "max_position_embeddings": form.positions,
        "rms_norm_eps": form.epsilon,
        "rope_theta": form.rotary.theta,
        "tie_word_embeddings": False,
        "hidden_act": "silu",
        "quantization_config": ROW_SCALES,
        LENDER: FAMILY,
    }


def tensors_of(state: dict[str, torch.Tensor], head_tokens: torch.Tensor) -> dict[str, np.ndarray]:
    """Return the tensors of a checkpoint for the parameters of a student."""
    tensors: dict[str, np.ndarray] = {}

    def put_matrix(name: str, values: torch.Tensor) -> None:
        matrix = rounded_rows(values.float().numpy())
        tensors[f"{name}.weight"] = matrix.numbers
        tensors[f"{name}.scale"] = matrix.scales[:, 0]

    def put_vector(name: str, values: torch.Tensor) -> None:
        tensors[f"{name}.weight"] = values.float().numpy()

    for layer in range(count_layers(state)):
        for place, name in enumerate(MATRICES):
            put_matrix(f"model.layers.{layer}.{name}", state[f"blocks.{layer}.matrices.{place}"])
        put_vector(f"model.layers.{layer}.input_layernorm", state[f"blocks.{layer}.input_norm"])
        put_vector(
            f"model.layers.{layer}.post_attention_layernorm", state[f"blocks.{layer}.post_norm"]
        )
    put_vector("model.norm", state["norm"])
    put_matrix("lm_head", state["head"])
    tensors[HEAD_OFFSETS] = (head_tokens - torch.arange(len(head_tokens))).int().numpy()
    return tensors


def count_layers(state: dict[str, torch.Tensor]) -> int:
    """Return the number of layers in the parameters of a student."""
    return len({name.split(".")[1] for name in state if name.startswith("blocks.")})


def write(
    folder: Path, form: LlamaForm, state: dict[str, torch.Tensor], head_tokens: torch.Tensor
) -> None:
    """Write the parameters of a student for a target of a form as a checkpoint."""
    config = config_of(form, count_layers(state), len(head_tokens))
    folder.mkdir(parents=True, exist_ok=True)
    disk.write_whole(folder / "config.json", json.dumps(config, indent=1) + "\n")
    temporary = folder / ".model.safetensors"
    save_file(tensors_of(state, head_tokens), temporary)
    temporary.chmod(0o644)
    temporary.replace(folder / "model.safetensors")


def export_run(run: Path, model: Path, out: Path) -> str:
    """Write the checkpoint of a training for a target, and return a line with its size."""
    trained = torch.load(run)
    write(out, open_model(model).form, trained["student"], trained["head_tokens"])
    return f"{out}: {sum(file.stat().st_size for file in out.iterdir())} bytes"
