"""A minimal Llama or Qwen3 for training, with the arithmetic and the parameter names of transformers.

transformers loads the state dict unchanged; a test compares the logits.
"""

import shutil
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .data import EOS_ID
from .recipe import HEAD_DIM, Profile, Size

ROPE_BASE = 10_000.0
NORM_EPS = 1e-5


def rope_table(length: int, device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """Return cosines and sines of the rotary embedding. Shapes: [length, 64] each."""
    frequency = ROPE_BASE ** -(torch.arange(0, HEAD_DIM, 2, device=device, dtype=torch.float32) / HEAD_DIM)
    angle = torch.arange(length, device=device, dtype=torch.float32)[:, None] * frequency
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos(), angle.sin()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-right, left], dim=-1) * sin


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, NORM_EPS)


def causal_attention(q: Tensor, k: Tensor, v: Tensor, block: int = 256) -> Tensor:
    """Return softmax(q kᵀ / √dimension) v with a causal mask. Shapes: [batch, heads, length, dimension]. On the CPU,
    query blocks that compute only the scores they need take half the time of PyTorch's flash attention, forward and
    backward together, once compiled.
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


class Attention(nn.Module):
    """Causal self-attention; with ``normalize`` queries and keys pass an RMS norm per head, as in Qwen3."""

    def __init__(self, size: Size, normalize: bool) -> None:
        super().__init__()
        self.heads, self.normalize = size.heads, normalize
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(size.width, size.width, bias=False))
        if normalize:
            self.q_norm, self.k_norm = Norm(HEAD_DIM), Norm(HEAD_DIM)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = lambda t: t.view(batch, length, self.heads, HEAD_DIM).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        if self.normalize:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = _rotate(q, cos, sin).to(v.dtype), _rotate(k, cos, sin).to(v.dtype)
        y = causal_attention(q, k, v)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size.width, size.inner, bias=False)
        self.up_proj = nn.Linear(size.width, size.inner, bias=False)
        self.down_proj = nn.Linear(size.inner, size.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, size: Size, normalize: bool) -> None:
        super().__init__()
        self.self_attn = Attention(size, normalize)
        self.mlp = FeedForward(size)
        self.input_layernorm = Norm(size.width)
        self.post_attention_layernorm = Norm(size.width)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Body(nn.Module):
    def __init__(self, size: Size, vocabulary: int, normalize: bool) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, size.width)
        self.layers = nn.ModuleList(Layer(size, normalize) for _ in range(size.layers))
        self.norm = Norm(size.width)


class Network(nn.Module):
    """Map token ids [batch, length] to logits [batch, length, vocabulary]. ``block``: ``llama`` or ``qwen3``."""

    def __init__(
        self, size: Size, vocabulary: int, generator: torch.Generator | None = None, block: str = "llama"
    ) -> None:
        super().__init__()
        self.size, self.vocabulary, self.block = size, vocabulary, block
        self.model = Body(size, vocabulary, normalize=block == "qwen3")
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                # Residual outputs start small, so that depth does not change the scale of the first logits.
                shrink = (2 * size.layers) ** -0.5 if "o_proj" in name or "down_proj" in name else 1.0
                std = 0.02 if "embed" in name else parameter.shape[1] ** -0.5 * 0.6
                nn.init.normal_(parameter, std=std * shrink, generator=generator)

    def forward(self, ids: Tensor) -> Tensor:
        cos, sin = rope_table(ids.shape[1], ids.device)
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, cos, sin)
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean loss in nats. Shapes: [batch, length, vocabulary], [batch, length]."""
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def distillation_loss(logits: Tensor, teacher: Tensor, targets: Tensor, weight: float) -> Tensor:
    """Return ``weight`` · KL(teacher ‖ student) + (1 − ``weight``) · cross-entropy in nats. Logits have shape [batch,
    length, vocabulary].
    """
    log_q = F.log_softmax(logits.flatten(0, 1).float(), dim=-1)
    log_p = F.log_softmax(teacher.flatten(0, 1).float(), dim=-1)
    divergence = (log_p.exp() * (log_p - log_q)).sum(-1).mean()
    return weight * divergence + (1 - weight) * F.nll_loss(log_q, targets.flatten())


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
    """Write a complete Hugging Face checkpoint into ``out``, in float16 files of at most 14 MB. Raises: ValueError: if
    the network does not have the profile's architecture.
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
