"""The weights of a model, packed for the native forward pass."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM, MistralForCausalLM

from hsd_viz.backends.native.library import SLOTS, Shape, failure
from hsd_viz.decoding.cache import capacity
from hsd_viz.ladder.variants import rounded_rows

#: How weights can be stored, with the number the library has for each.
STORAGE = {torch.float32: 0, torch.float64: 1, torch.bfloat16: 2, torch.float16: 3, torch.int8: 4}
_MATRICES = ("q", "k", "v", "o", "gate", "up", "down", "head")


class PackedWeights:
    """The weights of ``module`` in ``library``, with the first ``vocab_size`` rows of its head. Freed with this object.

    ``compute`` is the type of logits and of the cache, ``storage`` that in which the weights are stored, ``bytes``
    their size (padding included): what one forward pass reads, except the embedding's rows.
    """

    def __init__(self, module: nn.Module, vocab_size: int, library: ctypes.CDLL) -> None:
        self.module, self.vocab_size, self.library = module, vocab_size, library
        self.compute = torch.float64 if module.dtype == torch.float64 else torch.float32
        self.storage = _storage([(slot, tensor) for _, slot, tensor in self._tensors()])
        self._lock = threading.Lock()
        self._angles: tuple[Tensor, Tensor] | None = None
        self.handle = self._pack()
        weakref.finalize(self, library.hsd_model_free, self.handle).atexit = False
        self.bytes: int = library.hsd_model_bytes(self.handle)

    @torch.inference_mode()
    def angles(self, places: int) -> tuple[Tensor, Tensor]:
        """Return cosines and sines ``[at least places, head_dim / 2]`` of the module's own rotary embedding."""
        known = self._angles
        if known is not None and len(known[0]) >= places:
            return known
        with self._lock:
            rotary = self.module.model.rotary_emb
            pair = rotary(torch.empty(0, dtype=self.compute), torch.arange(capacity(places))[None])
            self._angles = tuple(part[0, :, : part.shape[-1] // 2].contiguous() for part in pair)
            return self._angles

    # --- inside ----------------------------------------------------------------------------------------------------

    def _pack(self) -> int:
        body, config = self.module.model, self.module.config
        attention = body.layers[0].self_attn
        shape = Shape(
            type=STORAGE[self.storage],
            layers=len(body.layers),
            width=config.hidden_size,
            heads=config.num_attention_heads,
            kv_heads=config.num_key_value_heads,
            head_dim=attention.head_dim,
            inner=config.intermediate_size,
            vocab=self.vocab_size,
            epsilon=body.norm.variance_epsilon,
            scale=attention.scaling,
        )
        handle = self.library.hsd_model_new(ctypes.byref(shape))
        if not handle:
            raise failure(self.library)
        for layer, slot, tensor in self._tensors():
            scales = None
            if self.storage != torch.int8:
                held = tensor.detach().to(self.storage).contiguous()
            elif slot in _MATRICES:
                held, scales = rounded_rows(tensor.detach())
            else:
                held = tensor.detach().float().contiguous()
            if slot == "embedding":
                self._embedding = held
            at = scales.data_ptr() if scales is not None else None
            if not self.library.hsd_model_set(handle, layer, SLOTS.index(slot), held.data_ptr(), at):
                raise failure(self.library)
        for layer, window in enumerate(self._windows()):
            self.library.hsd_model_window(handle, layer, window)
        return handle

    def _tensors(self) -> Iterator[tuple[int, str, Tensor]]:
        body = self.module.model
        for i, layer in enumerate(body.layers):
            attention, mlp = layer.self_attn, layer.mlp
            linear = [(slot, getattr(attention, f"{slot}_proj")) for slot in "qkvo"]
            linear += [(slot, getattr(mlp, f"{slot}_proj")) for slot in ("gate", "up", "down")]
            for slot, part in linear:
                yield i, slot, part.weight
                if part.bias is not None:
                    yield i, f"{slot}_bias", part.bias
            yield i, "input_norm", layer.input_layernorm.weight
            yield i, "post_norm", layer.post_attention_layernorm.weight
            for slot in ("q_norm", "k_norm"):
                if hasattr(attention, slot):
                    yield i, slot, getattr(attention, slot).weight
        yield -1, "embedding", body.embed_tokens.weight
        yield -1, "final_norm", body.norm.weight
        yield -1, "head", self.module.lm_head.weight
        if self.module.lm_head.bias is not None:
            yield -1, "head_bias", self.module.lm_head.bias

    def _windows(self) -> list[int]:
        """Return how many places a token of each layer attends to, itself included; 0 for all."""
        config = self.module.config
        size = getattr(config, "sliding_window", None) or 0
        if isinstance(self.module, LlamaForCausalLM):
            return [0] * len(self.module.model.layers)
        if isinstance(self.module, MistralForCausalLM):
            return [size] * len(self.module.model.layers)
        return [size if kind == "sliding_attention" else 0 for kind in config.layer_types]


@torch.inference_mode()
def _storage(tensors: list[tuple[str, Tensor]]) -> torch.dtype:
    """Return the smallest type that holds all ``tensors``, named by slot, exactly: of float32 ones perhaps float16,
    bfloat16 or, in the matrices, 8 bits with a scale per row.
    """
    dtype = tensors[0][1].dtype
    if dtype == torch.float64:
        return dtype
    if all(_is_rounded(tensor) for slot, tensor in tensors if slot in _MATRICES):
        return torch.int8
    for half in (torch.float16, torch.bfloat16) if dtype == torch.float32 else ():
        if all(torch.equal(tensor.to(half).to(dtype), tensor) for _, tensor in tensors):
            return half
    return dtype


def _is_rounded(weight: Tensor) -> bool:
    numbers, scales = rounded_rows(weight)
    return torch.equal(numbers * scales[:, None], weight.float())
