"""Hugging Face causal models by their own forward pass, over a cache that rolls back.

Every layer keeps all of the text, so that it can roll back; a window or a chunk is a mask.
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
from hsd_viz.drafting.semantic_database import quantise_states, watched_layer

FULL = "full_attention"
SLIDING = "sliding_attention"
CHUNKED = "chunked_attention"
FIRST_CAPACITY = 512
#: No further arguments of a module.
_NOTHING: Mapping[str, Any] = MappingProxyType({})
#: Rotary tables that change with the longest position fed: cached keys would no longer fit later
#: ones.
_CHANGING_ROPE = ("dynamic", "longrope")


def capacity(length: int, places: int = FIRST_CAPACITY) -> int:
    """Return the places of a cache for ``length`` tokens: ``places``, doubled when it is full."""
    while places < length:
        places *= 2
    return places


class _RollingLayer(DynamicLayer):
    """transformers' growing layer in buffers with room for more: a forward pass copies only what
    it adds.
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
        """Make buffers with room for ``end`` tokens, the first ``start`` of them as they are
        now.
        """
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
    """Move the entries at ``places`` (ascending) to ``base``, ``base + 1``, ...: the accepted
    path of a tree.
    """
    if all(place == base + k for k, place in enumerate(places)):
        return
    index = torch.tensor(places, device=layers[0].keys.device)
    for layer in layers:
        if layer.is_initialized:  # else it uses another layer's keys
            for buffer in (layer.keys, layer.values):
                buffer[:, :, base : base + len(places)] = buffer[:, :, index]


def lineage(n: int, cached: int, parents: Sequence[int] | None = None) -> Tensor:
    """Return which places of the cache each of ``n`` fed tokens continues, its own included:
    booleans ``[n, cached + n]`` on the host; ``parents`` as in ``Session.forward``. One less than
    their number is the position in the text.
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
    """Return the kinds of layers of a decoder, by transformers' names: from its config's list,
    else, as transformers reads it (``create_masks_for_generate``), of one kind by a window or a
    chunk size.
    """
    if types := getattr(config, "layer_types", None):
        return frozenset(types)
    if getattr(config, "sliding_window", None) is not None and getattr(
        config, "use_sliding_window", True
    ):
        return frozenset({SLIDING})
    return frozenset({FULL if getattr(config, "attention_chunk_size", None) is None else CHUNKED})


def context(config: PreTrainedConfig) -> int | None:
    """Return the longest text a decoder can read here, ``None`` where its config has no limit.
    Rotary embeddings that are stretched when a text is longer than the original context are used up
    to that context: beyond it a row would depend on how many tokens are fed with it.
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
    """The attention masks of one model, over *positions in the text* (a tree node's is its depth),
    not over places in the cache. They are booleans, and numbers to add to the scores, in ``dtype``,
    for transformers' ``eager`` attention.

    Attributes:
        kinds: the kinds of its layers.
    """

    def __init__(self, config: PreTrainedConfig, device: torch.device, dtype: torch.dtype) -> None:
        self.kinds = layer_kinds(config)
        self._device = device
        self._additive = dtype if getattr(config, "_attn_implementation", None) == "eager" else None
        reaches = {
            SLIDING: getattr(config, "sliding_window", None),
            CHUNKED: getattr(config, "attention_chunk_size", None),
        }
        #: By kind of layer how many positions it reaches over, where not over all.
        self._reach: dict[str, int] = {}
        for kind, reach in reaches.items():
            if kind in self.kinds and reach is not None:
                self._reach[kind] = reach

    def make(self, lines: Tensor) -> Tensor | dict[str, Tensor] | None:
        """Return what tokens with this :func:`lineage` may attend to as the model takes it,
        ``None`` where a single token sees all.
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
        """Return the masks of tokens at ``positions`` ``[n]`` which continue the tokens ``lines``
        ``[n, places]``, at ``key_positions`` ``[places]``: ``[1, 1, n, places]`` by kind of layer,
        one where all layers are of one kind.
        """
        masks = {}
        for kind in self.kinds:
            seen = lines & self._within_reach(kind, positions[:, None], key_positions[None, :])
            masks[kind] = self._as_taken(seen)[None, None]
        if len(masks) == 1:
            return next(iter(masks.values()))
        return masks

    def _within_reach(self, kind: str, query: Tensor, key: Tensor) -> Tensor:
        """Return which pairs of positions a layer of this kind may connect."""
        reach = self._reach.get(kind)
        if reach is None:
            return torch.ones_like(query, dtype=torch.bool)
        if kind == SLIDING:
            return query - key < reach
        return query // reach == key // reach

    def _as_taken(self, seen: Tensor) -> Tensor:
        """Return a mask in the form that the model's attention takes."""
        if self._additive is None:
            return seen
        lowest = torch.finfo(self._additive).min
        return torch.zeros_like(seen, dtype=self._additive).masked_fill(~seen, lowest)


def settle_arithmetic(device: torch.device) -> None:
    """Choose, for the whole process, how a CUDA device computes. cuDNN's attention, first choice of
    torch 2.11 on Hopper, plans again for every length of text, which takes tens of milliseconds
    each. Sums of products stay in float32 between the parts of a split.
    """
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


class HFModel:
    """The weights of a Hugging Face causal language model, shared by all decodes (batch size 1,
    evaluation mode): a :class:`~hsd_viz.decoding.session.Model`. ``tokens`` is how many token ids
    its tokenizer has: rows that a checkpoint has beyond them (padded embeddings) are cut off, so
    that every id that is drawn is a token.
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
        #: Shared parameters are counted once.
        self.parameters = sum(p.numel() for p in module.parameters())
        self.masks = Masks(config, self.device, module.dtype)
        accepted = inspect.signature(module.forward).parameters
        #: What the module calls its cache: another name since transformers 5.24.
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
        """Run the module's forward pass for token ``ids`` at ``places`` in the text.

        Args:
            ids: the tokens.
            places: their places in the text.
            rows: how many of the last rows are returned.
            watched: receives the states of its layer.
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
    """The states of one layer of a module, of the tokens fed last.

    A state is what the layer reads after its normalization, where it has an ``input_layernorm``;
    else what it is given.
    """

    def __init__(self, module: torch.nn.Module, layer: int) -> None:
        self._layer = layer
        blocks = getattr(module.get_decoder(), "layers", None)
        self._norm = None if blocks is None else getattr(blocks[layer], "input_layernorm", None)
        self.states: torch.Tensor | None = None

    def take(self, hidden_states: Sequence[torch.Tensor]) -> None:
        """Keep the states of a forward pass: of each layer ``[1, n, width]``, its input."""
        given = hidden_states[self._layer]
        self.states = given[0] if self._norm is None else self._norm(given)[0]


def to_numpy(values: torch.Tensor) -> np.ndarray:
    """Return values on the host, shared where numpy has their type, else in float32."""
    return (values.float() if values.dtype.itemsize <= 2 else values).cpu().numpy()


class HFSession(Session):
    """One sequence in an :class:`HFModel`."""

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
        return quantise_states(to_numpy(self._watched.states[[*places]]))

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
