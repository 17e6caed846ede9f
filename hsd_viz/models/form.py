"""The form of a Llama-shaped model: what its configuration says, independent of the file format.

Such a model is a stack of layers of grouped-query attention with rotary positions and a gated SiLU
network, each after an RMS normalization. Llama, Mistral, Qwen2, Qwen3 and SmolLM3 differ only in
the options that :class:`LlamaForm` lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rotary:
    """How rotary angles grow with the position.

    Attributes:
        theta: the base of the frequencies.
        kind: the scaling: none, the same factor for all frequencies, or that of Llama 3.1.
        factor: the factor by which long wavelengths are stretched.
        low_frequency_factor: ``llama3`` only: wavelengths above ``original_positions`` over this
            factor are stretched in full.
        high_frequency_factor: ``llama3`` only: wavelengths below ``original_positions`` over this
            factor are kept.
        original_positions: ``llama3`` only: the context length before the scaling.
    """

    theta: float
    kind: Literal["default", "linear", "llama3"] = "default"
    factor: float = 1.0
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    original_positions: int = 8192


@dataclass(frozen=True, slots=True)
class LlamaForm:
    """The shape and the options of a Llama-shaped model.

    Attributes:
        layers: number of layers.
        width: size of the residual stream.
        inner: size of the gated network.
        heads: number of query heads.
        kv_heads: number of key-value heads; divides ``heads``.
        head_dim: size of a head; even.
        vocabulary: rows of the embedding and of the head.
        positions: the longest context.
        epsilon: added to the mean square in every normalization.
        rotary: how rotary angles grow.
        tied_head: whether the head is the embedding.
        head_rows: rows of a reduced head, which has some tokens of the vocabulary only: the
            probability of all others is 0. ``None``: the head has the whole vocabulary.
        query_key_norm: whether queries and keys are normalized per head (Qwen3).
        query_key_value_bias: whether queries, keys and values have biases (Qwen2).
        layers_without_rotary: the layers whose queries and keys are not turned (SmolLM3).
    """

    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    positions: int
    epsilon: float
    rotary: Rotary
    tied_head: bool = True
    head_rows: int | None = None
    query_key_norm: bool = False
    query_key_value_bias: bool = False
    layers_without_rotary: frozenset[int] = field(default_factory=frozenset)
