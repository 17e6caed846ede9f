"""Hugging Face causal models with their own forward pass, over a cache that rolls back.

Each layer caches the whole text, so that it can roll back; windows and chunks are masks.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicLayer

from hsd_viz.decoding.session import Session
from hsd_viz.drafting.semantic_database import quantize_states, watched_layer

FULL = "full_attention"
SLIDING = "sliding_attention"
CHUNKED = "chunked_attention"
FIRST_CAPACITY = 512
#: The default for further arguments of a module: none.
_NOTHING: Mapping[str, Any] = MappingProxyType({})
#: The types of rotary tables that change with the longest position, so that cached keys would be
#: inconsistent with later ones.
_CHANGING_ROPE = ("dynamic", "longrope")


def capacity(length: int, places: int = FIRST_CAPACITY) -> int:
    """Return the places of a cache for ``length`` tokens: ``places`` times a power of two."""
    while places < length:
        places *= 2
    return places


class _RollingLayer(DynamicLayer):
    """A growing cache layer of transformers in larger buffers, so that a forward pass copies only
    new entries.
    """

    _buffers: list[Tensor]

    def update(
        self, key_states: Tensor, value_states: Tensor, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        start = self.get_seq_length()
        end = start + key_states.shape[2]
        if not start or end > self._buffers[0].shape[2]:
            self._grow(key_states, value_states, start, end)
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, start:end] = states
        self.keys = self._buffers[0][:, :, :end]
        self.values = self._buffers[1][:, :, :end]
        return self.keys, self.values

    def _grow(self, key_states: Tensor, value_states: Tensor, start: int, end: int) -> None:
        """Allocate buffers for ``end`` tokens, and copy the first ``start`` of them."""
        grown = []
        for states in (key_states, value_states):
            batch, heads, _, size = states.shape
            grown.append(states.new_empty((batch, heads, capacity(end), size)))
        if start:
            grown[0][:, :, :start] = self.keys
            grown[1][:, :, :start] = self.values
        self._buffers = grown
        self.is_initialized = True


def move(layers: Sequence[CacheLayerMixin], base: int, places: list[int]) -> None:
    """Move the entries at ascending ``places``, the accepted path of a tree, to ``base`` onward."""
    if all(place == base + k for k, place in enumerate(places)):
        return
    index = torch.tensor(places, device=layers[0].keys.device)
    for layer in layers:
        if layer.is_initialized:  # else it uses another layer's keys
            for buffer in (layer.keys, layer.values):
                buffer[:, :, base : base + len(places)] = buffer[:, :, index]


def lineage(n: int, cached: int, parents: Sequence[int] | None = None) -> Tensor:
    """Return whether each fed token continues each cached or fed token.

    A token continues itself, too. Its position in the text is the number of tokens that it
    continues, minus one.

    Args:
        n: the number of fed tokens.
        cached: the number of cached tokens.
        parents: the parents of the fed tokens, as in ``Session.forward``.

    Returns:
        Booleans ``[n, cached + n]`` on the host.
    """
    if parents is None:
        return torch.ones(n, cached + n, dtype=torch.bool).tril(cached)
    seen = torch.zeros(n, cached + n, dtype=torch.bool)
    seen[:, :cached] = True
    for i, parent in enumerate(parents):
        if parent >= 0:
            seen[i] = seen[parent]
        seen[i, cached + i] = True
    return seen


def layer_kinds(config: PreTrainedConfig) -> frozenset[str]:
    """Return the kinds of layers of a decoder, by their names in transformers.

    They are listed in the config. Otherwise there is a single kind, which a window or a chunk size
    determines as in transformers (``create_masks_for_generate``).
    """
    if types := getattr(config, "layer_types", None):
        return frozenset(types)
    if getattr(config, "sliding_window", None) is not None and getattr(
        config, "use_sliding_window", True
    ):
        return frozenset({SLIDING})
    return frozenset({FULL if getattr(config, "attention_chunk_size", None) is None else CHUNKED})


def context(config: PreTrainedConfig) -> int | None:
    """Return the context length of a decoder; ``None`` if its config has no limit.

    Rotary embeddings that change for texts beyond the original context are used only up to it.
    Beyond it, a row would depend on the number of tokens that are fed with it.
    """
    positions = getattr(config, "max_position_embeddings", None)
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") in _CHANGING_ROPE:
        original = rope.get("original_max_position_embeddings") or getattr(
            config, "original_max_position_embeddings", None
        )
        return (
            min(p for p in (positions, original) if p is not None)
            if positions or original
            else None
        )
    return positions


class Masks:
    """The attention masks of a model.

    They depend on *positions in the text* (for a tree node, its depth), not on places in the cache.
    Masks are booleans; for the ``eager`` attention of transformers, they are numbers in ``dtype``
    that are added to the scores.

    Attributes:
        kinds: the kinds of layers.
    """

    def __init__(self, config: PreTrainedConfig, device: torch.device, dtype: torch.dtype) -> None:
        self.kinds = layer_kinds(config)
        self._device = device
        self._additive = dtype if getattr(config, "_attn_implementation", None) == "eager" else None
        reaches = {
            SLIDING: getattr(config, "sliding_window", None),
            CHUNKED: getattr(config, "attention_chunk_size", None),
        }
        #: The window or chunk size by kind of layer, for kinds with limited attention.
        self._reach: dict[str, int] = {}
        for kind, reach in reaches.items():
            if kind in self.kinds and reach is not None:
                self._reach[kind] = reach

    def make(self, lines: Tensor) -> Tensor | dict[str, Tensor] | None:
        """Return the masks for tokens with this :func:`lineage` in the model's form; ``None`` if a
        single token attends to all positions.
        """
        n, places = lines.shape
        limited = any(places > reach for reach in self._reach.values())
        if n == 1 and not limited:
            return None
        lines = lines.to(self._device)
        positions = lines.sum(1) - 1
        cached = torch.arange(places - n, device=self._device)
        return self.on_device(lines, positions, torch.cat([cached, positions]))

    def on_device(
        self, lines: Tensor, positions: Tensor, key_positions: Tensor
    ) -> Tensor | dict[str, Tensor]:
        """Return the masks of tokens, computed on the device.

        Args:
            lines: whether each token continues the token at each place, ``[n, places]``.
            positions: the positions of the tokens in the text ``[n]``.
            key_positions: the positions of the cached tokens ``[places]``.

        Returns:
            Masks ``[1, 1, n, places]`` by kind of layer; a single mask if there is one kind.
        """
        masks = {}
        for kind in self.kinds:
            seen = lines & self._within_reach(kind, positions[:, None], key_positions[None, :])
            masks[kind] = self._as_taken(seen)[None, None]
        if len(masks) == 1:
            return next(iter(masks.values()))
        return masks

    def _within_reach(self, kind: str, query: Tensor, key: Tensor) -> Tensor:
        """Return whether layers of a kind attend from each query position to each key position."""
        reach = self._reach.get(kind)
        if reach is None:
            return torch.ones_like(query, dtype=torch.bool)
        if kind == SLIDING:
            return query - key < reach
        return query // reach == key // reach

    def _as_taken(self, seen: Tensor) -> Tensor:
        """Return a mask in the form that the model's attention needs."""
        if self._additive is None:
            return seen
        lowest = torch.finfo(self._additive).min
        return torch.zeros_like(seen, dtype=self._additive).masked_fill(~seen, lowest)


def settle_arithmetic(device: torch.device) -> None:
    """Configure the arithmetic of a CUDA device, for the whole process.

    cuDNN's attention is disabled: torch 2.11 prefers it on Hopper, but it takes tens of
    milliseconds to plan for each length of text. Partial sums of matrix products stay in float32.
    """
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


class HFModel:
    """A Hugging Face causal language model as a :class:`~hsd_viz.decoding.session.Model`.

    The model is in evaluation mode, and its batch size is 1.

    Args:
        name: the name of the model.
        module: the module of transformers.
        tokens: the number of token ids in its tokenizer. Logits beyond it, from padded embeddings,
            are cut off, so that every drawn id is a token.
    """

    runtime = "eager"

    def __init__(self, name: str, module: torch.nn.Module, tokens: int | None = None) -> None:
        config = module.config.get_text_config(decoder=True)
        self.name = name
        self.module = module.eval()
        self.device = module.device
        self.layers: int = config.num_hidden_layers
        self.vocab_size: int = min(config.vocab_size, tokens or config.vocab_size)
        self.positions: int | None = context(config)
        self.dtype = str(module.dtype).removeprefix("torch.")
        #: The number of parameters, in which shared parameters count once.
        self.parameters = sum(p.numel() for p in module.parameters())
        self.masks = Masks(config, self.device, module.dtype)
        accepted = inspect.signature(module.forward).parameters
        #: The name of the module's cache argument, which changed in transformers 5.24.
        self.cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._rows_only = "logits_to_keep" in accepted
        self._placed = "position_ids" in accepted

    def session(self, room: int | None = None) -> Session:
        """Open an empty sequence."""
        return HFSession(self)

    def logits(
        self,
        ids: Sequence[int],
        places: Sequence[int],
        rows: int,
        watched: WatchedLayer | None = None,
        options: Mapping[str, Any] = _NOTHING,
    ) -> torch.Tensor:
        """Run the forward pass of the module.

        Args:
            ids: the token ids.
            places: the positions of the tokens in the text.
            rows: the number of last rows to return.
            watched: the watched layer, which receives its states.
            options: further arguments of the module.

        Returns:
            The last ``rows`` of the logits ``[rows, V]``, on the model's device.
        """
        arguments = dict(options)
        if watched is not None:
            arguments["output_hidden_states"] = True
        if self._placed:
            arguments["position_ids"] = torch.tensor([list(places)], device=self.device)
        if self._rows_only:
            arguments["logits_to_keep"] = rows
        output = self.module(input_ids=torch.tensor([list(ids)], device=self.device), **arguments)
        if watched is not None:
            watched.take(output.hidden_states)
        return output.logits[0, -rows:, : self.vocab_size]


class WatchedLayer:
    """The input states of a layer of a module in the last forward pass.

    A state is normalized by the layer's ``input_layernorm``, if it has one.
    """

    def __init__(self, module: torch.nn.Module, layer: int) -> None:
        self._layer = layer
        blocks = getattr(module.get_decoder(), "layers", None)
        self._norm = None if blocks is None else getattr(blocks[layer], "input_layernorm", None)
        self.states: torch.Tensor | None = None

    def take(self, hidden_states: Sequence[torch.Tensor]) -> None:
        """Store the states of a forward pass, given the inputs ``[1, n, width]`` of each layer."""
        layer_input = hidden_states[self._layer]
        self.states = layer_input[0] if self._norm is None else self._norm(layer_input)[0]


def to_numpy(values: torch.Tensor) -> np.ndarray:
    """Return values on the host: shared if numpy has their number type, else in float32."""
    return (values.float() if values.dtype.itemsize <= 2 else values).cpu().numpy()


class HFSession(Session):
    """A sequence of an :class:`HFModel`."""

    def __init__(self, model: HFModel) -> None:
        self._model = model
        self._cache = Cache(layer_class_to_replicate=_RollingLayer)
        self._watched: WatchedLayer | None = None
        self.length = 0

    def watch(self, depth: float) -> None:
        layer = watched_layer(depth, self._model.layers)
        self._watched = WatchedLayer(self._model.module, layer)

    def states(self, places: Sequence[int]) -> np.ndarray:
        assert self._watched is not None and self._watched.states is not None
        return quantize_states(to_numpy(self._watched.states[[*places]]))

    @torch.inference_mode()
    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        model = self._model
        cached = self.length
        n = len(tokens)
        stale = self._cache.get_seq_length() - cached
        if stale > 0:
            self._cache.crop(-stale)
        lines = lineage(n, cached, parents)
        options = {
            "attention_mask": model.masks.make(lines),
            model.cache_name: self._cache,
            "use_cache": True,
        }
        positions = (lines.sum(1) - 1).tolist()
        logits = model.logits(tokens, positions, rows, self._watched, options)
        self.length = cached + n
        return to_numpy(logits)

    @torch.inference_mode()
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        move(self._cache.layers, base, [base + node for node in nodes])
        self.length = base + len(nodes)
