"""A model in the native runtime: which models it can run, their weights packed, and a check of the packed model against the module."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM

from hsd_viz.backends.native.build import Build, default_build
from hsd_viz.backends.native.library import SLOTS, Shape, failure
from hsd_viz.backends.native.session import NativeSession
from hsd_viz.decoding.model import HFModel

FAMILIES = (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM)
#: How weights can be stored, with the number the library has for each.
STORAGE = {torch.float32: 0, torch.float64: 1, torch.bfloat16: 2, torch.float16: 3}
#: The types of a module that have a native forward.
TYPES = (torch.float32, torch.float64, torch.bfloat16)
#: Angles that do not depend on how long the text is.
ROTARY = ("default", "linear", "llama3", "yarn")
#: The largest difference from the module's logits, relative to the largest logit. The module rounds its norms to float32 even in
#: float64, and all its activations to bfloat16 in bfloat16.
TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-4, torch.bfloat16: 0.15}
_PROBE = 24


def unsupported(module: nn.Module) -> str | None:
    """Why a Hugging Face causal model has no native forward, in a few words; ``None`` when it has one."""
    if type(module) not in FAMILIES:
        return f"{type(module).__name__} has no native forward"
    config = module.config
    if elsewhere := {p.device.type for p in module.parameters()} - {"cpu"}:
        return f"the native forward is for the CPU, and weights are on {', '.join(sorted(elsewhere))}"
    if module.dtype not in TYPES:
        return f"{str(module.dtype).removeprefix('torch.')} has no native forward"
    if config.hidden_act not in ("silu", "swish"):
        return f"the activation {config.hidden_act} has no native forward"
    rotary = module.model.rotary_emb
    if rotary.rope_type not in ROTARY:
        return f"rotary angles of type {rotary.rope_type} depend on the text's length"
    if 2 * len(rotary.inv_freq) != module.model.layers[0].self_attn.head_dim:
        return "rotary angles for a part of the head have no native forward"
    for name, part in module.named_modules():
        if any(True for _ in part.children()):
            continue
        known = isinstance(part, nn.Linear | nn.Embedding) and type(part) in (nn.Linear, nn.Embedding)
        if (
            not known
            and any(True for _ in part.parameters(recurse=False))
            and not type(part).__name__.endswith("RMSNorm")
        ):
            return f"{name} is a {type(part).__name__}, which has no native forward"
    if any(p.dtype != module.dtype for p in module.parameters()):
        return "its weights are of several types"
    return None


class NativeModel:
    """The weights of an :class:`~hsd_viz.decoding.model.HFModel`, packed for the native forward, shared by all decodes.

    In float32 and float64 all arithmetic is of that type (norms in float32, as in transformers). With bfloat16 only the weights
    are: activations, sums and the cache are float32. Float32 weights that are exactly representable in 16 bits, as those of a
    float16 or bfloat16 checkpoint are, are stored in 16 bits (``storage``): half the bytes, and the same results to the last bit,
    because widening is exact. Later changes of the module's weights are not seen.

    Raises ``ValueError`` with the reason when there is no native runtime here or the model has no native forward, and when the
    packed model does not give the module's logits on a probe.
    """

    runtime = "native"

    def __init__(self, model: HFModel, build: Build | None = None) -> None:
        if why := unsupported(model.module):
            raise ValueError(f"{model.name}: {why}")
        self.library = (build or default_build()).library
        self.name = model.name
        self.module = model.module
        self.layers, self.vocab_size, self.positions = model.layers, model.vocab_size, model.positions
        self.device, self.dtype = model.device, model.dtype
        self.parameters = model.parameters
        #: The type of logits and of the cache.
        self.compute = torch.float64 if self.dtype == torch.float64 else torch.float32
        #: The type in which the weights are stored.
        self.storage = _storage([tensor for _, _, tensor in self._tensors()])
        self._lock = threading.Lock()
        self._angles: tuple[Tensor, Tensor] | None = None
        self.handle = self._pack()
        weakref.finalize(self, self.library.hsd_model_free, self.handle).atexit = False
        #: Bytes of the packed weights (padding included): what one forward reads, but for the embedding's rows.
        self.weight_bytes: int = self.library.hsd_model_bytes(self.handle)
        self._check(model)

    @property
    def cache_bytes_per_token(self) -> int:
        """Bytes of a session's cache for each token."""
        attention, lanes = (
            self.module.model.layers[0].self_attn,
            self.library.hsd_vector_bytes() // self.compute.itemsize,
        )
        row = -(-attention.head_dim // lanes) * lanes
        return self.layers * self.module.config.num_key_value_heads * (attention.head_dim + row) * self.compute.itemsize

    def session(self) -> NativeSession:
        """A fresh, empty sequence."""
        return NativeSession(self)

    @torch.inference_mode()
    def angles(self, places: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines ``[at least places, head_dim / 2]`` of the module's own rotary embedding."""
        held = self._angles
        if held is not None and len(held[0]) >= places:
            return held
        with self._lock:
            size = 512 if self._angles is None else len(self._angles[0])
            while size < places:
                size *= 2
            rotary = self.module.model.rotary_emb
            pair = rotary(torch.empty(0, dtype=self.compute), torch.arange(size)[None])
            self._angles = tuple(part[0, :, : part.shape[-1] // 2].contiguous() for part in pair)
            return self._angles

    # --- inside ----------------------------------------------------------------------------------------------------

    def _pack(self) -> int:
        body, config = self.module.model, self.module.config
        attention = body.layers[0].self_attn
        shape = Shape(
            type=STORAGE[self.storage],
            layers=self.layers,
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
            held = tensor.detach().to(self.storage).contiguous()
            if slot == "embedding":
                self._embedding = held
            if not self.library.hsd_model_set(handle, layer, SLOTS.index(slot), held.data_ptr()):
                raise failure(self.library)
        for layer, window in enumerate(self._windows()):
            self.library.hsd_model_window(handle, layer, window)
        return handle

    def _tensors(self) -> Iterator[tuple[int, str, Tensor]]:
        body = self.module.model
        for i, layer in enumerate(body.layers):
            attention, mlp = layer.self_attn, layer.mlp
            linear = {
                "q": attention.q_proj,
                "k": attention.k_proj,
                "v": attention.v_proj,
                "o": attention.o_proj,
                "gate": mlp.gate_proj,
                "up": mlp.up_proj,
                "down": mlp.down_proj,
            }
            for slot, part in linear.items():
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
        """How many places a token of each layer sees, itself included; 0 for all."""
        config = self.module.config
        size = getattr(config, "sliding_window", None) or 0
        if isinstance(self.module, LlamaForCausalLM):
            return [0] * self.layers
        if isinstance(self.module, MistralForCausalLM):
            return [size] * self.layers
        return [size if kind == "sliding_attention" else 0 for kind in config.layer_types]

    @torch.inference_mode()
    def _check(self, model: HFModel) -> None:
        """Compare with the module on random tokens, fed as a chain and then as a small tree."""
        random = torch.Generator().manual_seed(0)
        n = min(_PROBE, (self.positions or _PROBE) - 4)
        ids = torch.randint(0, self.vocab_size, (max(n, 1) + 5,), generator=random).tolist()
        chain, tree, parents = ids[:-5], ids[-5:], [-1, 0, -1, 1, 2]
        mine, its = self.session(), model.session()
        pairs = [(mine.forward(chain, len(chain)), its.forward(chain, len(chain)))]
        pairs.append((mine.forward(tree, 5, parents), its.forward(tree, 5, parents)))
        for got, expected in pairs:
            expected = expected.to(got.dtype)
            off = float((got - expected).abs().max() / expected.abs().max().clamp_min(torch.finfo(got.dtype).tiny))
            if not off <= TOLERANCE[self.dtype]:
                raise ValueError(
                    f"{self.name}: the native forward differs from the model's own by {off:.1e} of its largest logit"
                )


@torch.inference_mode()
def _storage(tensors: list[Tensor]) -> torch.dtype:
    """Return the smallest type that holds all ``tensors`` exactly: of float32 ones perhaps float16 or bfloat16."""
    dtype = tensors[0].dtype
    if dtype != torch.float32:
        return dtype
    for half in (torch.float16, torch.bfloat16):
        if all(torch.equal(tensor.to(half).to(dtype), tensor) for tensor in tensors):
            return half
    return dtype
