"""Tools of the GPU benchmark: models of given shapes, timing on the device, and the scale of the
measurement.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.torch_models.compiled import WIDTHS, CompiledModel
from hsd_viz.torch_models.eager import HFModel, settle_arithmetic

#: Hidden size, layers, heads, key heads, feed-forward width.
SHAPES = {
    "68M": (768, 2, 12, 12, 3072),
    "1B": (2048, 22, 32, 4, 5632),
    "7B": (4096, 32, 32, 32, 11008),
}
TINY = {"68M": (32, 1, 2, 2, 48), "1B": (32, 2, 2, 1, 48), "7B": (48, 2, 4, 4, 64)}
#: Operations per graph where a single one is too short to be timed.
MANY = 16
#: Runtimes of a shape: the options of a compiled model; ``None``: transformers' own forward passes.
RUNTIMES: dict[str, dict[str, Any] | None] = {
    "eager": None,
    "compiled": {},
    "strict": {"strict": True},
}


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of the measurement."""

    shapes: dict[str, tuple[int, int, int, int, int]]
    vocabulary: int
    context: int
    repeats: int
    rounds: int
    runs: int
    copied: int
    widths: tuple[int, ...]


#: The vocabulary is that of Llama 3: sampling and verification read all of it.
FULL = Scale(SHAPES, 128_256, 512, 50, 60, 1000, 2 << 30, WIDTHS)
SMALL = Scale(TINY, 4096, 20, 3, 4, 20, 1 << 20, WIDTHS[-1:])


class DeviceTools:
    """Timing and random models on one device. All runtimes of a shape share its weights."""

    def __init__(self, device: torch.device, scale: Scale) -> None:
        settle_arithmetic(device)
        self.device = device
        self.scale = scale
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self._built: dict[str, HFModel] = {}
        self._compiled: dict[tuple[str, str], CompiledModel] = {}

    def time(self, work: Callable[[], Any]) -> float:
        """Return the median time of ``work`` in ms; on a GPU by events in the stream."""
        for _ in range(3):
            work()
        if self.device.type != "cuda":
            spans = []
            for _ in range(self.scale.repeats):
                started = perf_counter()
                work()
                spans.append((perf_counter() - started) * 1e3)
            return median(spans)
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(self.scale.repeats + 1)]
        torch.cuda.synchronize()
        marks[0].record()
        for mark in marks[1:]:
            work()
            mark.record()
        torch.cuda.synchronize()
        return median(a.elapsed_time(b) for a, b in pairwise(marks))

    @torch.inference_mode()
    def many(self, work: Callable[[], tuple[torch.Tensor, ...]]) -> float | str:
        """Return the time of one of the ``MANY`` operations of ``work`` in µs, on a GPU within one
        graph, or an error.
        """
        try:
            if self.device.type != "cuda":
                return self.time(work) / MANY * 1e3
            work()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                work()
            return self.time(graph.replay) / MANY * 1e3
        except RuntimeError as error:
            return (str(error).strip().splitlines() or [type(error).__name__])[0]

    def model(self, name: str, kind: str) -> HFModel | CompiledModel:
        """Return a random model of a shape on a runtime."""
        if name not in self._built:
            model = random_llama(
                self.scale.shapes[name], self.scale.vocabulary, self.device, self.dtype
            )
            self._built[name] = HFModel(name, model)
        options = RUNTIMES[kind]
        if options is None:
            return self._built[name]
        if (name, kind) not in self._compiled:
            self._compiled[name, kind] = CompiledModel(
                self._built[name], widths=self.scale.widths, **options
            )
        return self._compiled[name, kind]

    def weights(self, name: str) -> int:
        """Return the bytes that a step of a shape reads."""
        return read_bytes(self._built[name].module)

    def memory_held(self) -> dict[str, int | None]:
        """Return the bytes on the device after collecting garbage."""
        self.clean()
        if self.device.type != "cuda":
            return {"allocated": None, "reserved": None}
        return {
            "allocated": torch.cuda.memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
        }

    def clean(self) -> None:
        """Collect garbage and wait for the device."""
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def random_llama(
    shape: tuple[int, ...], vocabulary: int, device: torch.device, dtype: torch.dtype
) -> LlamaForCausalLM:
    """Return a Llama of a shape with random weights, created on the device."""
    width, layers, heads, kv_heads, inner = shape
    sizes = {"hidden_size": width, "num_hidden_layers": layers, "intermediate_size": inner}
    sizes |= {
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": 4096,
    }
    tokens = {
        "vocab_size": vocabulary,
        "bos_token_id": None,
        "eos_token_id": None,
        "tie_word_embeddings": False,
    }
    config = LlamaConfig(**sizes, **tokens, dtype=dtype)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device:
            torch.manual_seed(0)
            return LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(before)


def read_bytes(module: torch.nn.Module) -> int:
    """Return the bytes of weights that a step reads: all but the embedding table, unless the
    head is tied to it.
    """
    table = module.get_input_embeddings().weight
    tied = module.get_output_embeddings().weight is table
    return sum(p.nbytes for p in module.parameters()) - (0 if tied else table.nbytes)
