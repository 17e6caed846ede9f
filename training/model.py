"""The models as transformers' own ``Qwen3ForCausalLM``: configuration, initial weights, losses,
export.
"""

import shutil
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, Qwen3Config, Qwen3ForCausalLM

from training.data import EOS_ID
from training.recipe import HEAD_DIM, TrainingProfile

ATTENTION = "causal_blocks"


def causal_attention(q: Tensor, k: Tensor, v: Tensor, block: int = 256) -> Tensor:
    """Return softmax(q kᵀ / √dimension) v with a causal mask. Shapes: [batch, heads, length,
    dimension]. On the CPU, query blocks that compute only the scores they need take half the time
    of PyTorch's flash attention, forward and backward together, once compiled.
    """
    if q.device.type != "cpu":
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    length, dimension = q.shape[2:]
    mask = torch.full((length, length), -1e4, device=q.device).triu(1)
    parts = []
    for start in range(0, length, block):
        end = min(start + block, length)
        scores = (q[:, :, start:end] * dimension**-0.5) @ k[:, :, :end].transpose(-1, -2)
        weights = torch.softmax(scores.float() + mask[start:end, :end], dim=-1).to(q.dtype)
        parts.append(weights @ v[:, :, :end])
    return torch.cat(parts, dim=2)


def _attend(
    module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Any, **options: Any
) -> tuple[Tensor, None]:
    # Rotated queries and keys are float32 under autocast; the products are cheaper in the values'
    # type.
    return causal_attention(q.to(v.dtype), k.to(v.dtype), v).transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, _attend)


def build(
    name: str, profile: TrainingProfile, generator: torch.Generator | None = None
) -> Qwen3ForCausalLM:
    """Return a model of the profile in float32 with initial weights drawn from ``generator``."""
    size = profile.sizes[name]
    config = Qwen3Config(
        vocab_size=profile.vocabulary,
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=HEAD_DIM,
        max_position_embeddings=profile.context,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        use_cache=False,
        bos_token_id=EOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=EOS_ID,
        attn_implementation=ATTENTION,
    )
    model = Qwen3ForCausalLM(config)
    for key, parameter in model.named_parameters():
        if parameter.dim() == 2:
            # Residual outputs start small, so that depth does not change the scale of the first
            # logits.
            shrink = (2 * size.layers) ** -0.5 if "o_proj" in key or "down_proj" in key else 1.0
            std = 0.02 if "embed" in key else parameter.shape[1] ** -0.5 * 0.6
            nn.init.normal_(parameter, std=std * shrink, generator=generator)
    return model


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean loss in nats. Shapes: [batch, length, vocabulary], [batch, length]."""
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def distillation_loss(logits: Tensor, teacher: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Return ``weight`` · KL(teacher ‖ student) + (1 − ``weight``) · cross-entropy in nats. Logits
    have shape [batch, length, vocabulary].
    """
    log_q = F.log_softmax(logits.flatten(0, 1).float(), dim=-1)
    log_p = F.log_softmax(teacher.flatten(0, 1).float(), dim=-1)
    divergence = (log_p.exp() * (log_p - log_q)).sum(-1).mean()
    return weight * divergence + (1 - weight) * F.nll_loss(log_q, targets.flatten())


def export(model: Qwen3ForCausalLM, tokenizer_dir: Path, out: Path) -> None:
    """Write a complete Hugging Face checkpoint into ``out``, in float16 files of at most 14 MB."""
    fresh = out.with_name(out.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    copy = Qwen3ForCausalLM(model.config)
    copy.load_state_dict(model.state_dict())
    copy.config.use_cache = True
    copy.to(torch.float16).save_pretrained(str(fresh), max_shard_size="14MB")
    for f in tokenizer_dir.iterdir():
        shutil.copy(f, fresh / f.name)
    shutil.rmtree(out, ignore_errors=True)
    for f in fresh.iterdir():
        # safetensors creates files readable by their owner only; shipped files must be readable by
        # all.
        f.chmod(0o644)
    fresh.rename(out)
