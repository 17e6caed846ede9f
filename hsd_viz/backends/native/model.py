"""A model in the native runtime: its packed weights, checked against the module."""

from __future__ import annotations

import torch
from torch import nn

from hsd_viz.backends import llama
from hsd_viz.backends.native.build import Build, default_build
from hsd_viz.backends.native.session import NativeSession
from hsd_viz.backends.native.weights import PackedWeights
from hsd_viz.decoding.model import HFModel

#: The types of a module that have a native forward pass.
TYPES = (torch.float32, torch.float64, torch.bfloat16)
#: The largest difference from the module's logits, relative to the largest logit. The module rounds its norms to
#: float32 even in float64, and all its activations to bfloat16 in bfloat16.
TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-4, torch.bfloat16: 0.15}
_PROBE = 24


def unsupported(module: nn.Module) -> str | None:
    """Return why a Hugging Face causal model has no native forward pass, in a few words; ``None`` if it has one."""
    if devices := {p.device.type for p in module.parameters()} - {"cpu"}:
        return f"the native forward pass is for the CPU, and weights are on {', '.join(sorted(devices))}"
    if module.dtype not in TYPES:
        return f"{str(module.dtype).removeprefix('torch.')} has no native forward pass"
    return llama.unsupported(module)


class NativeModel:
    """The weights of an :class:`~hsd_viz.decoding.model.HFModel`, packed for the native forward pass, shared by all
    decodes.

    In float32 and float64 all arithmetic is of that type (norms in float32, as in transformers). With bfloat16 only the
    weights are: activations, sums and the cache are float32. Float32 weights that are exactly representable in 16 bits,
    as those of a float16 or bfloat16 checkpoint are, are stored in 16 bits (``storage``): half the bytes, and the same
    results to the last bit, because widening is exact. So are those of a model rounded to 8 bits
    (:func:`~hsd_viz.ladder.variants.rounded`), in 8 bits. Later changes of the module's weights have no effect.

    Raises:
        ValueError: if there is no native runtime here, the model has no native forward pass, or the packed model does
            not give the module's logits on a probe.
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
        self._weights = PackedWeights(model.module, model.vocab_size, self.library)
        weights = self._weights
        self.compute, self.storage, self.weight_bytes = weights.compute, weights.storage, weights.bytes
        self._check(model)

    @property
    def cache_bytes_per_token(self) -> int:
        """Bytes of a session's cache per token."""
        head_dim = self.module.model.layers[0].self_attn.head_dim
        lanes = self.library.hsd_vector_bytes() // self.compute.itemsize
        row = -(-head_dim // lanes) * lanes
        return self.layers * self.module.config.num_key_value_heads * (head_dim + row) * self.compute.itemsize

    def session(self) -> NativeSession:
        """Open an empty sequence."""
        return NativeSession(self._weights)

    @torch.inference_mode()
    def _check(self, model: HFModel) -> None:
        """Compare with the module on random tokens, fed as a chain and then as a small tree."""
        random = torch.Generator().manual_seed(0)
        n = min(_PROBE, (self.positions or _PROBE) - 4)
        ids = torch.randint(0, self.vocab_size, (max(n, 1) + 5,), generator=random).tolist()
        chain, tree, parents = ids[:-5], ids[-5:], [-1, 0, -1, 1, 2]
        ours, theirs = self.session(), model.session()
        pairs = [(ours.forward(chain, len(chain)), theirs.forward(chain, len(chain)))]
        pairs.append((ours.forward(tree, 5, parents), theirs.forward(tree, 5, parents)))
        for got, expected in pairs:
            expected = expected.to(got.dtype)
            off = float((got - expected).abs().max() / expected.abs().max().clamp_min(torch.finfo(got.dtype).tiny))
            if not off <= TOLERANCE[self.dtype]:
                raise ValueError(
                    f"{self.name}: the native forward pass differs from the model's own by {off:.1e} of its "
                    "largest logit"
                )
