"""Published step times and speed-ups, with what is predicted of each."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hsd_viz.latency.cards import GPUS
from hsd_viz.latency.efficiency import PUBLISHED, Efficiency, efficiency_of
from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.shapes import MODELS

GPT_FAST = "https://github.com/pytorch-labs/gpt-fast (README)"
MIXTRAL = "https://github.com/pytorch-labs/gpt-fast (mixtral-moe/README)"
SPEC_DECODE = "arXiv 2601.11580, its fit of vLLM step times on an H100"
TENSORRT = "https://github.com/NVIDIA/TensorRT-LLM v0.6.1 (docs/source/performance.md)"
NVIDIA = (
    "https://developer.nvidia.com/blog/boost-llama-3-3-70b-inference-throughput-3x-with-"
    "nvidia-tensorrt-llm-speculative-decoding/"
)
SPECBUNDLE = "https://github.com/sgl-project/SpecForge (SpecBundle dashboard), SGLang on H200"
KV_COST = "https://github.com/adixg/vllm-specdecode-cost-model (README), per cached token"

LLAMA_CPP = (
    "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference (README), "
    "llama.cpp of 2023 and 2024"
)
ORACLE = (
    "https://blogs.oracle.com/cloud-infrastructure/post/"
    "serving-llama-31-405b-model-with-amd-mi300x-gpus, vLLM"
)
_INTEL = "https://www.intel.com/content/www/us/en/developer/platform/gaudi"
GAUDI_3 = f"{_INTEL}/model-performance.html (SynapseAI 1.18)"
GAUDI_2 = f"{_INTEL}/model-performance-gaudi2-inference.html"

NAMES = {
    GPT_FAST: "gpt-fast, Llama 3.1, A100",
    MIXTRAL: "gpt-fast, Mixtral, A100",
    SPEC_DECODE: "vLLM (2601.11580), H100",
    TENSORRT: "TensorRT-LLM 0.6.1, H100 · A100 · L40S",
    NVIDIA: "TensorRT-LLM, Llama 3.3, H200",
    KV_COST: "vLLM, cost of the KV cache, H100",
    SPECBUNDLE: "SGLang (SpecBundle), H200",
    LLAMA_CPP: "llama.cpp, RTX cards and Apple",
    ORACLE: "vLLM, Llama 3.1 405B, MI300X",
    GAUDI_3: "SynapseAI, Gaudi 3",
    GAUDI_2: "SynapseAI, Gaudi 2",
}


@dataclass(frozen=True, slots=True)
class Published:
    """A published step time in ms, or with ``per_token`` microseconds per cached token. With
    ``prompt``, it is the latency of that many tokens read and as many written, by the tokens
    written.
    """

    gpu: str
    model: str
    weights: str
    tp: int
    batch: int
    context: int
    ms: float
    source: str
    per_token: bool = False
    prompt: int = 0

    def predicted(self, efficiency: Efficiency | None = None) -> float:
        assumed = efficiency or efficiency_of(GPUS[self.gpu])
        if self.source == TENSORRT:
            # Its generation kernel read the cache once per attention head; the kernel that shares
            # the reads (XQA) came with the next version.
            assumed = replace(assumed, rereads=1.0)
        machine = Machine(GPUS[self.gpu], self.tp, assumed)
        shape = MODELS[self.model]
        eighths = self.weights == "fp8" and self.source in (TENSORRT, GAUDI_3, GAUDI_2)
        cache = "fp8" if eighths else "bf16"
        step_ms = partial(
            machine.step_ms, shape, batch=self.batch, weights=self.weights, cache=cache
        )
        at = step_ms(context=self.context)
        if self.prompt:
            read = step_ms(tokens=self.prompt)
            return (read + (self.prompt - 1) * at) / self.prompt
        if not self.per_token:
            return at
        twice_as_long = step_ms(context=2 * self.context)
        return (twice_as_long - at) / self.context / self.batch * 1e3

    def error(self, efficiency: Efficiency | None = None) -> float:
        return self.predicted(efficiency) / self.ms - 1


DATA = Path(__file__).parents[1] / "docs" / "bench"
BUNDLE = json.loads((DATA / "specbundle.json").read_text(encoding="utf-8"))
#: Models on whose speed-ups the time of a round beyond its forward passes is fitted, each with
#: equal weight.
ROUNDS_FITTED = ("Llama-3.1-8B-Instruct", "Qwen3-Coder-30B-A3B-Instruct")
#: Tokens cached while SpecBundle's benchmarks decode: an assumption, to which a speed-up hardly
#: reacts.
BUNDLE_CONTEXT = 600


@dataclass(frozen=True, slots=True)
class PublishedSpeedUp:
    """A published speed-up of an EAGLE-3 head over plain decoding, with its tokens per forward
    pass (``length``).
    """

    model: str
    benchmark: str
    drafter: str
    batch: int
    tokens: int
    length: float
    speedup: float

    def predicted(self, efficiency: Efficiency = PUBLISHED) -> float:
        name, tp = _served_as(self.model)
        shape = MODELS[name]
        machine = Machine(GPUS["H200"], tp, efficiency)
        step_ms = partial(machine.step_ms, batch=self.batch, context=BUNDLE_CONTEXT)
        drafting = self.tokens * step_ms(shape.head())
        verifying = step_ms(shape, tokens=self.tokens + 1)
        rounds = verifying + drafting + efficiency.round_us * 1e-3
        return self.length * step_ms(shape) / rounds

    def error(self, efficiency: Efficiency = PUBLISHED) -> float:
        return self.predicted(efficiency) / self.speedup - 1


def _served_as(model: str) -> tuple[str, int]:
    """Return the shape and the number of GPUs of a model of SpecBundle."""
    for name, shape, gpus, *_ in BUNDLE["plain_rows"]:
        if name == model:
            return shape, gpus
    raise KeyError(model)


def at_full_load(row: Published) -> bool:
    """Return whether a figure is offline throughput of a Gaudi at full load: what its runtime adds
    for large models is not modelled. These figures are reported, and counted apart.
    """
    return row.source == GAUDI_3
