"""A draft model for SmolLM2 in training: some of the target's layers, and a head of few tokens.

A draft model reads the target's own embedding, which costs nothing: a row is looked up. Its head
has the tokens that the target writes most often; the probability of all others is 0. A layer is one
of the target's at the start, since a layer from scratch needs far more text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hsd_viz.models.form import LlamaForm
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.rotary import frequencies
from hsd_viz.models.tensors import TensorSource

#: The share of the target's last norm that a draft model begins with.
FIRST_SHARE = 0.3
#: The matrices of a layer, by the names of the checkpoint.
MATRICES = (
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
)


def tensor(source: TensorSource, name: str) -> Tensor:
    """Return a tensor of a model's files in float32."""
    stored = source.read(name)
    values = stored.widened() if isinstance(stored, GroupedMatrix) else stored
    return torch.from_numpy(np.array(values, np.float32))


class Block(nn.Module):
    """One layer: attention with rotary positions, then the gated network."""

    def __init__(self, form: LlamaForm) -> None:
        super().__init__()
        self.form = form
        self.input_norm = nn.Parameter(torch.ones(form.width))
        self.post_norm = nn.Parameter(torch.ones(form.width))
        queries = form.heads * form.head_dim
        keys = form.kv_heads * form.head_dim
        shapes = [
            (queries, form.width),
            (keys, form.width),
            (keys, form.width),
            (form.width, queries),
            (form.inner, form.width),
            (form.inner, form.width),
            (form.width, form.inner),
        ]
        self.matrices = nn.ParameterList(
            [nn.Parameter(torch.randn(shape) * form.width**-0.5) for shape in shapes]
        )

    def take(self, source: TensorSource, layer: int) -> None:
        """Have the weights of a layer of the target."""
        prefix = f"model.layers.{layer}."
        with torch.no_grad():
            for name, matrix in zip(MATRICES, self.matrices, strict=True):
                matrix.copy_(tensor(source, f"{prefix}{name}.weight"))
            self.input_norm.copy_(tensor(source, f"{prefix}input_layernorm.weight"))
            self.post_norm.copy_(tensor(source, f"{prefix}post_attention_layernorm.weight"))

    def forward(self, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Return hidden states ``[texts, places, width]`` after the layer."""
        form = self.form
        q, k, v, o, gate, up, down = self.matrices
        normed = F.rms_norm(hidden, (form.width,), self.input_norm, form.epsilon)

        def heads(matrix: Tensor) -> Tensor:
            return F.linear(normed, matrix).unflatten(-1, (-1, form.head_dim)).transpose(1, 2)

        attended = F.scaled_dot_product_attention(
            rotated(heads(q), cos, sin),
            rotated(heads(k), cos, sin),
            heads(v),
            is_causal=True,
            enable_gqa=True,
        )
        hidden = hidden + F.linear(attended.transpose(1, 2).flatten(-2), o)
        normed = F.rms_norm(hidden, (form.width,), self.post_norm, form.epsilon)
        return hidden + F.linear(F.silu(F.linear(normed, gate)) * F.linear(normed, up), down)


def rotated(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pairs (i, i + half) of heads ``[..., places, dim]`` by the angles of their
    places.
    """
    first, second = heads.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class Student(nn.Module):
    """A draft model.

    Attributes:
        form: The target's form.
        head_tokens: The tokens of the head ``[rows]``, rising.
        blocks: The layers.
        norm: The last normalization ``[width]``.
        head: The head ``[rows, width]``.
    """

    def __init__(
        self, form: LlamaForm, source: TensorSource, layers: Sequence[int], head_tokens: Tensor
    ) -> None:
        """``layers`` are those of the target to begin with; -1 is one from scratch."""
        super().__init__()
        self.form = form
        self.head_tokens = head_tokens
        embedding = tensor(source, "model.embed_tokens.weight")
        self.embedding = embedding.to(torch.bfloat16)
        self.blocks = nn.ModuleList([Block(form) for _ in layers])
        for block, layer in zip(self.blocks, layers, strict=True):
            if layer >= 0:
                block.take(source, layer)
        # The target's own norm makes rows that are as sure as the target's, which few layers are
        # not.
        self.norm = nn.Parameter(tensor(source, "model.norm.weight") * FIRST_SHARE)
        self.head = nn.Parameter(embedding[head_tokens].clone())
        turns = torch.from_numpy(np.asarray(frequencies(form.rotary, form.head_dim)))
        angles = torch.arange(2048)[:, None] * turns[None].double()
        self._cos = angles.cos().float()
        self._sin = angles.sin().float()

    def hidden(self, tokens: Tensor) -> Tensor:
        """Return the last hidden states ``[texts, places, width]`` for tokens ``[texts,
        places]``.
        """
        places = tokens.shape[1]
        hidden = F.embedding(tokens, self.embedding).float()
        for block in self.blocks:
            hidden = block(hidden, self._cos[:places], self._sin[:places])
        return F.rms_norm(hidden, (self.form.width,), self.norm, self.form.epsilon)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits ``[n, rows of the head]`` for hidden states ``[n, width]``."""
        return F.linear(hidden, self.head)
