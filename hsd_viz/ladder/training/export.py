"""Write Hugging Face checkpoints from trained networks: float16 safetensors, configuration, tokenizer."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from ..tokenizer import EOS_ID
from .network import NORM_EPS, ROPE_BASE, Network
from .recipe import HEAD_DIM, Profile, Size


def model_config(size: Size, profile: Profile):
    """Return the transformers configuration that corresponds to ``network.Network``."""
    from transformers import LlamaConfig, Qwen3Config

    return (Qwen3Config if profile.block == "qwen3" else LlamaConfig)(
        vocab_size=profile.vocabulary,
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=HEAD_DIM,
        max_position_embeddings=profile.context,
        rms_norm_eps=NORM_EPS,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_BASE},
        tie_word_embeddings=True,
        bos_token_id=EOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=EOS_ID,
    )


def to_transformers(network: Network, profile: Profile):
    """Return the network as a ``LlamaForCausalLM`` or ``Qwen3ForCausalLM`` in float32."""
    from transformers import LlamaForCausalLM, Qwen3ForCausalLM

    kind = Qwen3ForCausalLM if profile.block == "qwen3" else LlamaForCausalLM
    model = kind(model_config(network.size, profile))
    missing, unexpected = model.load_state_dict(network.state_dict(), strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise ValueError(f"the checkpoint does not fit a {kind.__name__}: missing {missing}, unexpected {unexpected}")
    model.tie_weights()
    return model.eval()


def export(network: Network, profile: Profile, tokenizer_dir: Path, out: Path) -> None:
    """Write a complete Hugging Face checkpoint into ``out``, in float16 files of at most 14 MB.

    Raises:
        ValueError: if the network does not have the profile's architecture.
    """
    fresh = out.with_name(out.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    to_transformers(network, profile).to(torch.float16).save_pretrained(str(fresh), max_shard_size="14MB")
    for f in tokenizer_dir.iterdir():
        shutil.copy(f, fresh / f.name)
    shutil.rmtree(out, ignore_errors=True)
    for f in fresh.iterdir():
        # safetensors creates files readable by their owner only; shipped files must be readable by all.
        f.chmod(0o644)
    fresh.rename(out)
