"""A model in the native runtime: its packed weights, checked against the module. Imports torch only for a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hsd_viz.native.build import Build, default_build
from hsd_viz.native.session import NativeSession
from hsd_viz.native.weights import PackedWeights, Weights

if TYPE_CHECKING:
    from torch import nn

    from hsd_viz.torch_models.eager import HFModel

#: The types of a module that have a native forward pass, with the largest error of a row
#: (:func:`~hsd_viz.torch_models.suitable.row_error`). The module rounds its norms to float32 even in float64, and all
#: its activations to bfloat16 in bfloat16.
TOLERANCE = {"float32": 1e-3, "float64": 1e-4, "bfloat16": 0.15}


def unsupported(module: nn.Module) -> str | None:
    """Return why a Hugging Face causal model has no native forward pass, in a few words; ``None`` if it has one."""
    if devices := {p.device.type for p in module.parameters()} - {"cpu"}:
        return f"the native forward pass is for the CPU, and weights are on {', '.join(sorted(devices))}"
    kind = str(module.dtype).removeprefix("torch.")
    if kind not in TOLERANCE:
        return f"{kind} has no native forward pass"
    from hsd_viz.native import llama

    return llama.unsupported(module)


class NativeModel:
    """Weights packed for the native forward pass, shared by all decodes: those read from files
    (:func:`hsd_viz.native.weights.load`), or of an :class:`~hsd_viz.torch_models.eager.HFModel` as it is now.

    In ``int8`` logits have the bits that ``docs/reference/arithmetic.md`` states, on every machine. In float32 and
    float64 all arithmetic is of that type (norms in float32, as in transformers). With bfloat16 only the weights are:
    activations, sums and the cache are float32.

    Raises:
        ValueError: if there is no native runtime here, the model has no native forward pass, or the packed model does
            not give the module's logits on a probe.
    """

    runtime = "native"

    def __init__(self, model: HFModel | Weights, build: Build | None = None) -> None:
        module = None if isinstance(model, Weights) else model
        if module is not None and (why := unsupported(module.module)):
            raise ValueError(f"{module.name}: {why}")
        self.library = (build or default_build()).library
        weights = model if isinstance(model, Weights) else _weights_of(model)
        self.name, self.vocab_size, self.positions = weights.name, weights.vocab_size, weights.positions
        self.layers, self.parameters, self.dtype = weights.layers, weights.parameters, weights.dtype
        self._weights = PackedWeights(weights, self.library)
        self.compute, self.weight_bytes = self._weights.compute, self._weights.bytes
        self.cache_bytes_per_token = self._weights.cache_bytes
        if module is not None:
            from hsd_viz.torch_models.suitable import check_forward

            check_forward(module, self.session(), TOLERANCE[module.dtype])

    def session(self, room: int | None = None) -> NativeSession:
        """Open an empty sequence."""
        return NativeSession(self._weights)


def _weights_of(model: HFModel) -> Weights:
    from hsd_viz.native.llama import weights_of

    return weights_of(model)
