"""Shapes of decoders: what a forward pass reads and multiplies, by layers, widths and experts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hsd_viz.latency.known import PUBLISHED_FIGURES
from hsd_viz.settings.declare import from_data

#: Bytes per weight, scales of quantized groups included (32 weights of int4, 16 of fp4).
WEIGHTS = {
    "fp32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5625,
    "int4": 0.5625,
}
#: Bytes per element of the KV cache.
CACHES = {"fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0}


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama-shaped decoder, as its ``config.json`` states it.

    Attributes:
        name: its name.
        layers: number of layers.
        hidden: width.
        heads: attention heads.
        kv_heads: heads of the KV cache.
        intermediate: width of the MLP, or of one expert.
        vocabulary: rows of the embedding.
        head_dim: width of an attention head; 0: hidden / heads.
        tied: whether embedding and head share weights.
        experts: experts per layer; 0: dense.
        used: experts per token.
        shared: width of an expert that every token uses.
        dense_layers: layers with a dense MLP beside layers with experts.
        dense_intermediate: width of that MLP.
        window: tokens of a sliding window; 0: none.
        windowed_layers: layers with that window.
        output: rows of the head; 0: as the embedding. A draft head has a smaller vocabulary.
        is_head: whether it is a draft head of a target, not a model of its own.
        lookahead: draft tokens that a draft head was made for; 0: not stated.
        method: the kind of a draft head that its config states, as engines name it; "": none.
        stored: the format of the weights that its config states; "": not stated, or not known.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    head_dim: int = 0
    tied: bool = False
    experts: int = 0
    used: int = 0
    shared: int = 0
    dense_layers: int = 0
    dense_intermediate: int = 0
    window: int = 0
    windowed_layers: int = 0
    output: int = 0
    is_head: bool = False
    lookahead: int = 0
    method: str = ""
    stored: str = ""

    @property
    def width(self) -> int:
        """Width of an attention head."""
        return self.head_dim or self.hidden // self.heads

    @property
    def attention(self) -> int:
        """Parameters of the attention of one layer."""
        return self.hidden * self.width * (2 * self.heads + 2 * self.kv_heads)

    def _mlps(self, experts: float) -> float:
        """Return the parameters of all MLPs with so many experts of a layer."""
        dense = 3 * self.hidden * self.dense_intermediate
        sparse = 3 * self.hidden * (self.intermediate * experts + self.shared)
        return self.dense_layers * dense + (self.layers - self.dense_layers) * sparse

    @property
    def parameters(self) -> int:
        """All parameters; engines give a draft head an embedding of its own."""
        embedding = self.vocabulary * self.hidden
        output = 0 if self.tied else (self.output or self.vocabulary) * self.hidden
        mlps = self._mlps(max(1, self.experts))
        return round(self.layers * self.attention + mlps + embedding + output)

    def touched(self, tokens: float) -> float:
        """Return the parameters that a forward pass over ``tokens`` tokens uses, without the
        embedding.
        """
        experts_read = 1.0
        if self.experts:
            experts_read = self.experts * (1 - (1 - self.used / self.experts) ** tokens)
        output = (self.output or self.vocabulary) * self.hidden
        return self.layers * self.attention + self._mlps(experts_read) + output

    @property
    def cache(self) -> int:
        """Elements of the KV cache per token, of all layers."""
        return 2 * self.layers * self.kv_heads * self.width

    def cached(self, context: float) -> float:
        """Return the elements of the KV cache of a sequence: a window caches no more than
        itself.
        """
        per_layer = 2 * self.kv_heads * self.width
        full = (self.layers - self.windowed_layers) * context
        windowed = self.windowed_layers * min(context, self.window or context)
        return per_layer * (full + windowed)

    def head(self, name: str = "head") -> Shape:
        """Return a draft head of one dense layer, as EAGLE-3 and MTP have it."""
        width = self.intermediate * max(1, self.used) + self.shared
        return replace(
            self,
            name=name,
            layers=1,
            intermediate=width,
            experts=0,
            used=0,
            shared=0,
            dense_layers=0,
            window=0,
            windowed_layers=0,
            is_head=True,
        )

    def with_target(self, target: Shape) -> Shape:
        """Return a draft head with the vocabulary of its target, where it states none."""
        if self.is_head and not self.output:
            return replace(self, vocabulary=target.vocabulary)
        return self


def _shape(name: str, sizes: dict[str, Any]) -> Shape:
    """Return a shape of ``hardware.json``, which states fields by their names."""
    return from_data(Shape, {"name": name, **sizes})


MODELS = {name: _shape(name, sizes) for name, sizes in PUBLISHED_FIGURES["models"].items()}
