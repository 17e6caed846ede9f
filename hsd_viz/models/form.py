"""The form of a Llama-shaped model: its configuration, independent of the file format.

Such a model is a stack of layers of grouped-query attention with rotary positions and a gated SiLU
network, each after an RMS normalization. Llama, Mistral, Qwen2, Qwen3 and SmolLM3 differ only in
the options that :class:`LlamaForm` lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rotary:
    """The parameters of rotary position embeddings.

    Attributes:
        theta: the base of the frequencies.
        kind: the scaling: ``default`` for none, ``linear`` for the same factor for all frequencies,
            or ``llama3`` for that of Llama 3.1.
        factor: the factor by which (long) wavelengths are stretched.
        low_frequency_factor: for ``llama3``, the divisor of ``original_positions`` that gives the
            wavelength above which the factor applies in full.
        high_frequency_factor: for ``llama3``, the divisor of ``original_positions`` that gives the
            wavelength below which frequencies are kept.
        original_positions: for ``llama3``, the context length before scaling.
    """

    theta: float
    kind: Literal["default", "linear", "llama3"] = "default"
    factor: float = 1.0
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    original_positions: int = 8192


@dataclass(frozen=True, slots=True)
class LlamaForm:
    """The sizes and the options of a Llama-shaped model.

    Attributes:
        layers: the number of layers.
        width: the size of the residual stream.
        inner: the size of the gated network.
        heads: the number of query heads.
        kv_heads: the number of key-value heads, a divisor of ``heads``.
        head_dim: the size of a head, an even number.
        vocabulary: the number of rows in the embedding.
        positions: the context length in tokens.
        epsilon: the number added to the mean square in each normalization.
        rotary: the parameters of rotary positions.
        tied_head: whether the head shares the weights of the embedding.
        head_rows: the number of rows in a reduced head, which covers only a part of the vocabulary;
            other tokens have the probability 0. ``None`` for a full head.
        query_key_norm: whether queries and keys are normalized per head (Qwen3).
        query_key_value_bias: whether queries, keys and values have biases (Qwen2).
        layers_without_rotary: the indices of layers without rotary positions (SmolLM3).
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
