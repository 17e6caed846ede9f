"""SmolLM2 as a plain PyTorch forward pass that decodes many texts at once.

A pass reads the weights once for all texts, so texts that are written together take less time
than one after the other. Weights and the cache are bfloat16.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from hsd_viz.models.form import LlamaForm
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.rotary import frequencies
from hsd_viz.models.tensors import TensorSource


def as_tensor(source: TensorSource, name: str, dtype: torch.dtype) -> Tensor:
    """Return a tensor of a model's files as floats."""
    stored = source.read(name)
    values = stored.widened() if isinstance(stored, GroupedMatrix) else stored
    return torch.from_numpy(np.array(values, np.float32)).to(dtype)


class BatchDecoder:
    """A Llama with tied embeddings that reads one token of each of several texts per step.

    Every text begins at place 0 of its row of the cache, whatever the length of the others.

    Attributes:
        lengths: Tokens of each text in the cache ``[texts]``.
    """

    def __init__(
        self, form: LlamaForm, source: TensorSource, dtype: torch.dtype = torch.bfloat16
    ) -> None:
        assert form.tied_head and not form.query_key_norm and not form.query_key_value_bias
        self.form = form
        self.dtype = dtype
        self.embedding = as_tensor(source, "model.embed_tokens.weight", dtype)
        self.final_norm = as_tensor(source, "model.norm.weight", torch.float32)
        self.layers = []
        for index in range(form.layers):
            self.layers.append(self._read_layer(source, f"model.layers.{index}."))
        turns = torch.from_numpy(np.asarray(frequencies(form.rotary, form.head_dim)))
        angles = torch.arange(form.positions)[:, None] * turns[None].double()
        self._cos = angles.cos().float()
        self._sin = angles.sin().float()
        self.lengths = torch.zeros(0, dtype=torch.long)
        self._keys: Tensor
        self._values: Tensor

    def _read_layer(self, source: TensorSource, prefix: str) -> dict[str, Tensor]:
        def joined(*names: str) -> Tensor:
            parts = [as_tensor(source, f"{prefix}{name}.weight", self.dtype) for name in names]
            return torch.cat(parts)

        def norm(name: str) -> Tensor:
            return as_tensor(source, f"{prefix}{name}.weight", torch.float32)

        return {
            "qkv": joined("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            "o": joined("self_attn.o_proj"),
            "gate_up": joined("mlp.gate_proj", "mlp.up_proj"),
            "down": joined("mlp.down_proj"),
            "input_norm": norm("input_layernorm"),
            "post_norm": norm("post_attention_layernorm"),
        }

    def start(self, texts: int, places: int) -> None:
        """Begin with this many empty texts, each of up to ``places`` tokens."""
        form = self.form
        shape = (form.layers, texts, form.kv_heads, places, form.head_dim)
        self._keys = torch.zeros(shape, dtype=self.dtype)
        self._values = torch.zeros(shape, dtype=self.dtype)
        self.lengths = torch.zeros(texts, dtype=torch.long)

    def select(self, rows: Sequence[int]) -> None:
        """Keep only these texts."""
        places = torch.tensor(rows, dtype=torch.long)
        self._keys = self._keys[:, places]
        self._values = self._values[:, places]
        self.lengths = self.lengths[places]

    @torch.inference_mode()
    def prefill(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Feed a prompt to each text; return the logits ``[texts, vocabulary]`` after them."""
        rows = []
        for text, prompt in enumerate(prompts):
            hidden = self._feed_one(text, torch.tensor(prompt, dtype=torch.long))
            rows.append(hidden)
        self.lengths = torch.tensor([len(prompt) for prompt in prompts])
        return self._logits(torch.stack(rows))

    @torch.inference_mode()
    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token to each text; return the logits ``[texts, vocabulary]`` after it."""
        places = self.lengths
        visible = int(places.max()) + 1
        texts = torch.arange(len(tokens))
        hidden = F.embedding(tokens, self.embedding).float()
        cos = self._cos[places][:, None]
        sin = self._sin[places][:, None]
        hides = torch.arange(visible)[None] > places[:, None]
        for index, layer in enumerate(self.layers):
            queries, keys, values = self._project(hidden, layer, cos, sin)
            self._keys[index, texts, :, places] = keys
            self._values[index, texts, :, places] = values
            seen_keys = self._keys[index, :, :, :visible]
            seen_values = self._values[index, :, :, :visible]
            grouped = queries.unflatten(1, (self.form.kv_heads, -1))
            scores = (grouped @ seen_keys.transpose(-1, -2)).float() * self.form.head_dim**-0.5
            scores = scores.masked_fill(hides[:, None, None], -torch.inf)
            weights = scores.softmax(-1).to(self.dtype)
            hidden = self._finish(hidden, layer, (weights @ seen_values).flatten(1))
        self.lengths = places + 1
        return self._logits(hidden)

    def _feed_one(self, text: int, prompt: Tensor) -> Tensor:
        """Feed the prompt of one text; return its last hidden state."""
        length = len(prompt)
        hidden = F.embedding(prompt, self.embedding).float()
        cos = self._cos[:length][:, None]
        sin = self._sin[:length][:, None]
        for index, layer in enumerate(self.layers):
            queries, keys, values = self._project(hidden, layer, cos, sin)
            self._keys[index, text, :, :length] = keys.transpose(0, 1)
            self._values[index, text, :, :length] = values.transpose(0, 1)
            attended = F.scaled_dot_product_attention(
                queries.transpose(0, 1)[None],
                keys.transpose(0, 1)[None],
                values.transpose(0, 1)[None],
                is_causal=True,
                enable_gqa=True,
            )
            hidden = self._finish(hidden, layer, attended[0].transpose(0, 1).flatten(1))
        return hidden[-1]

    def _project(
        self, hidden: Tensor, layer: dict[str, Tensor], cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries ``[n, heads, dim]``, keys and values ``[n, kv_heads, dim]``."""
        form = self.form
        normed = F.rms_norm(hidden, (form.width,), layer["input_norm"], form.epsilon)
        heads = F.linear(normed.to(self.dtype), layer["qkv"]).unflatten(-1, (-1, form.head_dim))
        queries, keys, values = heads.split([form.heads, form.kv_heads, form.kv_heads], dim=1)
        queries = self._turn(queries, cos, sin)
        return queries, self._turn(keys, cos, sin), values

    def _turn(self, heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = heads.float().chunk(2, dim=-1)
        turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
        return turned.to(self.dtype)

    def _finish(self, hidden: Tensor, layer: dict[str, Tensor], attended: Tensor) -> Tensor:
        """Return the hidden states after the output projection and the gated network."""
        form = self.form
        hidden = hidden + F.linear(attended, layer["o"]).float()
        normed = F.rms_norm(hidden, (form.width,), layer["post_norm"], form.epsilon)
        gate, up = F.linear(normed.to(self.dtype), layer["gate_up"]).chunk(2, dim=-1)
        return hidden + F.linear(F.silu(gate) * up, layer["down"]).float()

    def _logits(self, hidden: Tensor) -> Tensor:
        normed = F.rms_norm(hidden, (self.form.width,), self.final_norm, self.form.epsilon)
        return F.linear(normed.to(self.dtype), self.embedding).float()
