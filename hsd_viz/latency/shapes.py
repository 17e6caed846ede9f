"""The shapes of decoders, which determine what a forward pass reads and multiplies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hsd_viz.latency.known import PUBLISHED_FIGURES
from hsd_viz.settings.declare import from_data

#: The bytes per weight by format, including the scales of groups (32 weights of int4, 16 of fp4).
WEIGHTS = {
    "fp32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5625,
    "int4": 0.5625,
}
#: The bytes per element of the KV cache by format.
CACHES = {"fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0}


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a Llama-like decoder or of a draft head.

    Attributes:
        name: the name of the model.
        layers: the number of layers.
        hidden: the hidden size.
        heads: the number of attention heads.
        kv_heads: the number of key-value heads.
        intermediate: the width of the MLP, or of an expert.
        vocabulary: the number of rows in the embedding.
        head_dim: the width of an attention head; 0 means hidden / heads.
        tied: whether embedding and head share weights.
        experts: the number of experts per layer; 0 for dense layers.
        used: the number of experts that each token uses.
        shared: the width of the expert that every token uses.
        dense_layers: the number of layers with a dense MLP in a model with experts.
        dense_intermediate: the width of that MLP.
        window: the length of the sliding window in tokens; 0 for none.
        windowed_layers: the number of layers with a sliding window.
        output: the number of rows in the head; 0 means as in the embedding. A draft head may have
            a smaller vocabulary.
        is_head: whether this is a draft head, which needs its target.
        lookahead: the number of draft tokens for which a draft head was made; 0 if not stated.
        method: the kind of draft head, as engines name it; "" if not stated.
        stored: the format of the stored weights; "" if not stated or not known.
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
        """The width of an attention head."""
        return self.head_dim or self.hidden // self.heads

    @property
    def attention(self) -> int:
        """The number of attention parameters in a layer."""
        return self.hidden * self.width * (2 * self.heads + 2 * self.kv_heads)

    def _mlps(self, experts: float) -> float:
        """Return the number of parameters in all MLPs, with ``experts`` experts per layer."""
        dense = 3 * self.hidden * self.dense_intermediate
        sparse = 3 * self.hidden * (self.intermediate * experts + self.shared)
        return self.dense_layers * dense + (self.layers - self.dense_layers) * sparse

    @property
    def parameters(self) -> int:
        """The number of parameters. For a draft head it includes an embedding, as in engines."""
        embedding = self.vocabulary * self.hidden
        output = 0 if self.tied else (self.output or self.vocabulary) * self.hidden
        mlps = self._mlps(max(1, self.experts))
        return round(self.layers * self.attention + mlps + embedding + output)

    def touched(self, tokens: float) -> float:
        """Return the number of parameters that a forward pass over ``tokens`` tokens uses, without
        the embedding.
        """
        experts_read = 1.0
        if self.experts:
            experts_read = self.experts * (1 - (1 - self.used / self.experts) ** tokens)
        output = (self.output or self.vocabulary) * self.hidden
        return self.layers * self.attention + self._mlps(experts_read) + output

    @property
    def cache(self) -> int:
        """The number of KV cache elements per token, over all layers."""
        return 2 * self.layers * self.kv_heads * self.width

    def cached(self, context: float) -> float:
        """Return the number of KV cache elements of a sequence with ``context`` tokens.

        A layer with a sliding window caches at most the window.
        """
        per_layer = 2 * self.kv_heads * self.width
        full = (self.layers - self.windowed_layers) * context
        windowed = self.windowed_layers * min(context, self.window or context)
        return per_layer * (full + windowed)

    def head(self, name: str = "head") -> Shape:
        """Return a draft head of one dense layer for this model, as in EAGLE-3 and MTP."""
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
        """Return a draft head with the target's vocabulary, unless it has one of its own."""
        if self.is_head and not self.output:
            return replace(self, vocabulary=target.vocabulary)
        return self


def _shape(name: str, sizes: dict[str, Any]) -> Shape:
    """Return a shape from its entry in ``hardware.json``, whose keys are the names of fields."""
    return from_data(Shape, {"name": name, **sizes})


MODELS = {name: _shape(name, sizes) for name, sizes in PUBLISHED_FIGURES["models"].items()}
