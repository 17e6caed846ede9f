"""Compare predicted step times with published ones: ``python -m benchmarks.prediction [--json OUT]
[--html OUT]``.

The efficiencies of :mod:`hsd_viz.latency.efficiency` are fitted on the rows of ``FITTED``, by
runtime and vendor (``--fit`` prints them, with scipy), and are used as they are for all others:
other models, cards, engines, batches and contexts. A figure is the time of one decode step of the
whole batch, from published tokens per second or from a published fit of step times; KV caches are
counted at their mean length. Speed-ups are those of EAGLE-3 heads by SpecBundle, predicted from
their published tokens per forward pass: the time of a round beyond its forward passes is fitted on
two of its models (``ROUNDS_FITTED``), the others are held aside.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from hsd_viz.figures import prediction
from hsd_viz.latency.cards import GPUS
from hsd_viz.latency.efficiency import PUBLISHED, Efficiency, efficiency_of
from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.shapes import MODELS, WEIGHTS
from hsd_viz.measure.predict.api import predict

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
        used = efficiency or efficiency_of(GPUS[self.gpu])
        if self.source == TENSORRT:
            # Its generation kernel read the cache once per attention head; the kernel that shares
            # the reads (XQA) came with the next version.
            used = replace(used, rereads=1.0)
        machine = Machine(GPUS[self.gpu], self.tp, used)
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


def _speeds(model: str, weights: str, source: str, by_tp: dict[int, float]) -> list[Published]:
    """Rows of one sequence on A100s from tokens per second; the prompts have 5 tokens and the
    texts some 200.
    """
    rows = []
    for tp, speed in by_tp.items():
        rows.append(Published("A100 SXM", model, weights, tp, 1, 100, 1e3 / speed, source))
    return rows


DATA = Path(__file__).parents[1] / "docs" / "bench"
BUNDLE = json.loads((DATA / "specbundle.json").read_text(encoding="utf-8"))
#: Models on whose speed-ups the time of a round beyond its forward passes is fitted, each with
#: equal weight.
ROUNDS_FITTED = ("Llama-3.1-8B-Instruct", "Qwen3-Coder-30B-A3B-Instruct")
#: Tokens cached while SpecBundle's benchmarks decode: an assumption, to which a speed-up hardly
#: reacts.
BUNDLE_CONTEXT = 600


@dataclass(frozen=True, slots=True)
class SpeedUp:
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
        name, tp = {row[0]: row[1:3] for row in BUNDLE["plain_rows"]}[self.model]
        shape = MODELS[name]
        machine = Machine(GPUS["H200"], tp, efficiency)
        step_ms = partial(machine.step_ms, batch=self.batch, context=BUNDLE_CONTEXT)
        drafting = self.tokens * step_ms(shape.head())
        verifying = step_ms(shape, tokens=self.tokens + 1)
        rounds = verifying + drafting + efficiency.round_us * 1e-3
        return self.length * step_ms(shape) / rounds

    def error(self, efficiency: Efficiency = PUBLISHED) -> float:
        return self.predicted(efficiency) / self.speedup - 1


#: Tokens cached on average by the runs of llama.cpp on LLaMA and Llama 2: a prompt of 200 tokens
#: and up to 1024 more.
LLAMA_CONTEXT = 600
#: Tokens written by its runs on Llama 3: the mean length of the cache is half of them.
LLAMA_3_LENGTHS = (512, 1024, 4096, 8192)


def _llama_cpp(gpu: str, int4: dict[str, float], fp16: dict[str, float]) -> Iterator[Published]:
    """Yield rows of LLaMA and Llama 2 from tokens per second by model."""
    for weights, speeds in (("int4", int4), ("fp16", fp16)):
        for model, speed in speeds.items():
            yield Published(gpu, model, weights, 1, 1, LLAMA_CONTEXT, 1e3 / speed, LLAMA_CPP)


def _llama_3(gpu: str, model: str, *speeds: float) -> Iterator[Published]:
    """Yield rows of Llama 3 with 16 bits from tokens per second by length."""
    for length, speed in zip(LLAMA_3_LENGTHS, speeds, strict=False):
        yield Published(gpu, model, "fp16", 1, 1, length // 2, 1e3 / speed, LLAMA_CPP)


def _oracle(latencies: dict[int, float]) -> list[Published]:
    """Rows of eight MI300X from seconds by batch: 128 tokens read, 128 written."""
    rows = []
    for batch, seconds in latencies.items():
        ms = seconds / 128 * 1e3
        rows.append(Published("MI300X", "llama-405b", "fp8", 8, batch, 192, ms, ORACLE, prompt=128))
    return rows


SPEED_UPS = tuple(SpeedUp(*row) for row in BUNDLE["rows"])
HELD_SPEED_UPS = tuple(row for row in SPEED_UPS if row.model not in ROUNDS_FITTED)
FITTED_GPT_FAST = (
    *_speeds("llama-2-7b", "bf16", GPT_FAST, {1: 104.9, 2: 168.84, 4: 254.02, 8: 328.43}),
    *_speeds("llama-2-7b", "int8", GPT_FAST, {1: 155.58}),
    *_speeds("llama-2-7b", "int4", GPT_FAST, {1: 196.80}),
    *_speeds("llama-2-70b", "bf16", GPT_FAST, {2: 21.32, 4: 38.01, 8: 62.50}),
    *_speeds("llama-2-70b", "int8", GPT_FAST, {1: 19.13, 8: 80.44}),
    *_speeds("llama-2-70b", "int4", GPT_FAST, {1: 25.25, 8: 90.77}),
)
FITTED_LLAMA_CPP = tuple(
    _llama_cpp(
        "RTX A6000",
        {
            "llama-2-7b": 111.57,
            "llama-2-13b": 67.05,
            "llama-33b": 29.70,
            "llama-65b": 15.69,
            "llama-2-70b": 15.18,
        },
        {"llama-2-7b": 44.01, "llama-2-13b": 24.65},
    )
)
FITTED_APPLE = (
    *_llama_cpp(
        "M2 Ultra",
        {"llama-2-7b": 91.89, "llama-2-70b": 14.37},
        {"llama-2-7b": 40.68, "llama-2-70b": 4.81},
    ),
    *_llama_3("M2 Ultra", "llama-8b", 36.90, 36.25, 33.67, 30.68),
    *_llama_3("M2 Ultra", "llama-70b", 4.76, 4.71, 4.48, 4.23),
)
FITTED_INSTINCT = tuple(_oracle({1: 3.530, 8: 3.974, 64: 6.919}))
#: (card, model, weights, GPUs, batch, input and output tokens, output tokens/s of each GPU)
_OFFLINE = (
    ("H100 SXM", "llama-2-7b", "fp8", 1, 112, 128, 2048, 6818),
    ("H100 SXM", "llama-2-7b", "fp8", 1, 48, 2048, 2048, 2740),
    ("H100 SXM", "llama-2-70b", "fp8", 4, 480, 128, 2048, 1486),
    ("H100 SXM", "llama-2-70b", "fp8", 2, 64, 2048, 2048, 547),
    ("L40S", "llama-2-7b", "fp8", 1, 64, 128, 2048, 1622),
    ("L40S", "llama-2-7b", "fp8", 1, 16, 2048, 2048, 531),
    ("A100 SXM", "llama-2-7b", "bf16", 1, 60, 128, 2048, 1928),
    ("A100 SXM", "llama-2-7b", "bf16", 2, 64, 2048, 2048, 782),
    ("A100 SXM", "llama-2-70b", "bf16", 4, 240, 128, 2048, 525),
)
#: (model, cards, input and output tokens, batch, output tokens/s of all cards), with 8 bits.
_GAUDI = {
    ("Gaudi 3", GAUDI_3): (
        ("llama-2-7b", 1, 128, 2048, 217, 6763),
        ("llama-2-7b", 1, 2048, 2048, 75, 2734),
        ("llama-2-70b", 2, 128, 2048, 512, 6026),
        ("llama-2-70b", 2, 2048, 2048, 240, 2641),
        ("llama-8b", 1, 128, 2048, 768, 18830),
        ("llama-8b", 1, 2048, 2048, 364, 7405),
        ("llama-70b", 2, 128, 2048, 450, 5776),
        ("llama-70b", 2, 2048, 2048, 175, 2588),
        ("llama-70b", 8, 128, 2048, 600, 15711),
        ("llama-70b", 8, 2048, 2048, 600, 8946),
        ("mistral-7b", 1, 128, 2048, 120, 13726),
        ("mistral-7b", 1, 2048, 2048, 44, 4970),
    ),
    ("Gaudi 2", GAUDI_2): (
        ("llama-2-7b", 1, 128, 2048, 163, 4791),
        ("llama-2-7b", 1, 2048, 2048, 81, 1953),
        ("llama-2-70b", 4, 128, 2048, 327, 3211),
        ("llama-2-70b", 2, 2048, 2048, 78, 1438),
        ("mistral-7b", 1, 128, 2048, 120, 11294),
        ("mistral-7b", 1, 2048, 2048, 44, 3947),
        ("llama-8b", 1, 128, 2048, 289, 11138),
        ("llama-8b", 1, 2048, 2048, 155, 5511),
    ),
}


def _gaudi(gpu: str, source: str) -> Iterator[Published]:
    """Yield rows of a Gaudi; caches are counted at their mean length."""
    for model, tp, read, written, batch, speed in _GAUDI[gpu, source]:
        context = read + written // 2
        ms = batch / speed * 1e3
        yield Published(gpu, model, "fp8", tp, batch, context, ms, source)


def _vllm_fit() -> Iterator[Published]:
    """Yield rows of the published fit: 5.89 ms + 0.0210 ms per token + 3.93e-5 ms per cached
    token.
    """
    for batch in (1, 8, 32, 64, 128):
        for context in (1000, 4000):
            ms = 5.89 + 0.0210 * batch + 3.93e-5 * batch * context
            yield Published("H100 SXM", "llama-8b", "bf16", 1, batch, context, ms, SPEC_DECODE)


def _specbundle() -> Iterator[Published]:
    """Yield the steps of plain decoding of the models on which nothing was fitted."""
    for model, shape, tp, batch, speed in BUNDLE["plain_rows"]:
        if model not in ROUNDS_FITTED:
            ms = batch * 1e3 / speed
            yield Published("H200", shape, "bf16", tp, batch, BUNDLE_CONTEXT, ms, SPECBUNDLE)


def _offline() -> Iterator[Published]:
    """Yield the rows of offline throughput; caches are counted at their mean length."""
    for gpu, model, weights, tp, batch, read, written, speed in _OFFLINE:
        context = read + written // 2
        ms = batch / (speed * tp) * 1e3
        yield Published(gpu, model, weights, tp, batch, context, ms, TENSORRT)


FITTED_GAUDI = tuple(_gaudi("Gaudi 2", GAUDI_2))
FITTED = (
    *FITTED_GPT_FAST,
    *FITTED_LLAMA_CPP,
    *FITTED_APPLE,
    *FITTED_INSTINCT,
    *FITTED_GAUDI,
)
HELD_ASIDE = (
    *_speeds("llama-8b", "bf16", GPT_FAST, {1: 93.89, 2: 149.10, 4: 217.21, 8: 276.01}),
    *_speeds("llama-8b", "int8", GPT_FAST, {1: 137.64}),
    *_speeds("llama-70b", "bf16", GPT_FAST, {2: 16.03, 4: 37.45, 8: 58.78}),
    *_speeds("llama-70b", "int8", GPT_FAST, {1: 18.04, 8: 75.58}),
    *_speeds("llama-405b", "int8", GPT_FAST, {8: 15.60}),
    *_speeds("mixtral-8x7b", "bf16", MIXTRAL, {2: 96.67, 4: 155.35, 8: 227.82}),
    *_speeds("mixtral-8x7b", "int8", MIXTRAL, {1: 97.92, 2: 155.03, 4: 216.87, 8: 279.35}),
    *_vllm_fit(),
    Published("H200", "llama-70b", "fp8", 1, 1, 500, 1e3 / 51.14, NVIDIA),
    *_specbundle(),
    Published("H100 SXM", "qwen3-1.7b", "bf16", 1, 64, 2000, 0.0356, KV_COST, per_token=True),
    *_llama_cpp("RTX 4080", {"llama-2-7b": 118.01, "llama-2-13b": 67.92}, {"llama-2-7b": 44.2}),
    *_llama_cpp(
        "RTX 3090",
        {"llama-2-7b": 120.6, "llama-2-13b": 75.01, "llama-33b": 33.68},
        {"llama-2-7b": 51.85},
    ),
    *_llama_cpp(
        "RTX 4090",
        {"llama-2-7b": 149.37, "llama-2-13b": 88.88, "llama-33b": 40.09},
        {"llama-2-7b": 60.78},
    ),
    *_llama_cpp(
        "RTX 6000 Ada",
        {
            "llama-2-7b": 127.45,
            "llama-2-13b": 74.07,
            "llama-33b": 32.65,
            "llama-65b": 17.39,
            "llama-2-70b": 17.02,
        },
        {"llama-2-7b": 50.56, "llama-2-13b": 26.88},
    ),
    *_llama_3("RTX 4080", "llama-8b", 40.58, 40.29, 39.44),
    *_llama_3("RTX 3090", "llama-8b", 47.40, 46.51, 44.79, 42.62),
    *_llama_3("RTX 4090", "llama-8b", 54.84, 54.34, 52.63, 50.88),
    *_llama_cpp("M3 Max", {"llama-2-7b": 63.11}, {"llama-2-7b": 24.76}),
    *_llama_3("M3 Max", "llama-8b", 22.04, 22.39, 20.72, 18.74),
    *_llama_3("M1 Max", "llama-8b", 18.75, 18.43, 16.33, 15.03),
    *_oracle({2: 3.583, 4: 3.734, 16: 4.375, 32: 5.130, 128: 10.340, 256: 17.750}),
    *_offline(),
    *_gaudi("Gaudi 3", GAUDI_3),
)


def summary(rows: Sequence[Published] | Sequence[SpeedUp]) -> dict[str, float]:
    """Return the number of rows, the median and the worst error."""
    errors = [abs(row.error()) for row in rows]
    return {"figures": len(rows), "median": median(errors), "worst": max(errors)}


def length_ratios(rows: Sequence[SpeedUp]) -> dict[str, float]:
    """Return the same of the ratios of speed-ups of two draft lengths, of one drafter on one
    benchmark and batch.
    """
    groups: dict[Any, list[SpeedUp]] = defaultdict(list)
    for row in rows:
        groups[row.model, row.benchmark, row.drafter, row.batch].append(row)
    errors = []
    for group in groups.values():
        for one, other in combinations(group, 2):
            if one.tokens != other.tokens:
                errors.append(abs((1 + one.error()) / (1 + other.error()) - 1))
    return {"figures": len(errors), "median": median(errors), "worst": max(errors)}


def at_full_load(row: Published) -> bool:
    """Return whether a figure is offline throughput of a Gaudi at full load: what its runtime adds
    for large models is not modelled. These figures are reported, and counted apart.
    """
    return row.source == GAUDI_3


def report() -> dict[str, Any]:
    """Return all rows and summaries as JSON data."""
    by_model: dict[str, list[SpeedUp]] = defaultdict(list)
    for row in SPEED_UPS:
        by_model[row.model].append(row)
    summaries = {
        "speed-ups, held aside": summary(HELD_SPEED_UPS),
        "ratios of two draft lengths, held aside": length_ratios(HELD_SPEED_UPS),
    }
    for model, speed_ups in by_model.items():
        summaries[f"speed-ups, {model}"] = summary(speed_ups)
    summaries["fitted"] = summary(FITTED)
    summaries["held aside"] = summary(HELD_ASIDE)
    below_full_load = [row for row in HELD_ASIDE if not at_full_load(row)]
    summaries["held aside, without Gaudi at full load"] = summary(below_full_load)
    for source in _sources():
        summaries[NAMES[source]] = summary([row for row in HELD_ASIDE if row.source == source])
    return {
        "fitted": _listed(FITTED),
        "held_aside": _listed(HELD_ASIDE),
        "speed_ups_fitted": _listed(row for row in SPEED_UPS if row.model in ROUNDS_FITTED),
        "speed_ups_held_aside": _listed(HELD_SPEED_UPS),
        "summary": summaries,
    }


def _listed(rows: Iterable[Published | SpeedUp]) -> list[dict[str, Any]]:
    """Return the fields of rows with what is predicted."""
    return [asdict(row) | {"predicted": row.predicted(), "error": row.error()} for row in rows]


def _sources() -> list[str]:
    return list(dict.fromkeys(row.source for row in HELD_ASIDE))


def fit() -> None:
    """Print the efficiencies fitted on the parts of :data:`FITTED`."""
    import numpy as np
    from scipy.optimize import least_squares, minimize_scalar

    def efficiency(x: Any) -> Efficiency:
        formats = {**dict.fromkeys(PUBLISHED.bandwidth, x[0]), "int8": x[1], "int4": x[2]}
        return Efficiency(formats, PUBLISHED.compute, x[3], x[4], 0.0, "published", "")

    def llama_cpp(x: Any) -> Efficiency:
        formats = {**dict.fromkeys(WEIGHTS, x[0]), "int4": x[1]}
        return Efficiency(formats, PUBLISHED.compute, x[3], 0.0, 0.0, "published", "", cache=x[2])

    def instinct(x: Any) -> Efficiency:
        return replace(PUBLISHED, layer_us=x[0], sequence_us=x[1])

    def gaudi(x: Any) -> Efficiency:
        return replace(PUBLISHED, bandwidth=dict.fromkeys(WEIGHTS, x[0]), rereads=x[1])

    def fitted(rows: Sequence[Published], used: Callable[[Any], Efficiency], *start: float) -> Any:
        """Return the constants with the least error, from a start; times are up to 5000 us,
        shares up to 1.
        """
        top = [1.0 if value < 1 else 5000.0 for value in start]
        least = [0.02 if value < 1 else 0.0 for value in start]

        def errors(x):
            constants = used(x)
            return [np.log(1 + row.error(constants)) for row in rows]

        found = least_squares(errors, start, bounds=(least, top), loss="soft_l1", f_scale=0.05)
        return found.x.round(4)

    print("gpt-fast", fitted(FITTED_GPT_FAST, efficiency, 0.8, 0.65, 0.5, 40, 20))
    print("llama.cpp", fitted(FITTED_LLAMA_CPP, llama_cpp, 0.8, 0.6, 0.3, 20))
    print("apple", fitted(FITTED_APPLE, llama_cpp, 0.8, 0.6, 0.3, 20))
    print("instinct", fitted(FITTED_INSTINCT, instinct, 50, 100))
    print("gaudi", fitted(FITTED_GAUDI, gaudi, 0.8, 0.5))

    def loss(us: float) -> float:
        used = replace(PUBLISHED, round_us=us)
        total = 0.0
        for model in ROUNDS_FITTED:
            rows = [row for row in SPEED_UPS if row.model == model]
            total += np.mean([np.log(1 + row.error(used)) ** 2 for row in rows])
        return total

    print(minimize_scalar(loss, bounds=(0, 5000), method="bounded").x)


def own(paths: Sequence[Path]) -> Iterator[str]:
    """Yield how far the latency law is from the stacks that ``hsd-viz plan --measure --json``
    measured, by report. A part of the error is drift: the machine was faster or slower while it
    measured than while it calibrated.
    """

    def words(errors):
        return f"median {median(errors):.1%}, worst {max(errors):.1%}"

    pooled: list[float] = []
    for path in paths:
        data = json.loads(path.read_text(encoding="utf-8"))
        ratios = []
        for row in data["hierarchies"]:
            if row["measured_ms_per_token"]:
                ratios.append(row["predicted_ms_per_token"] / row["measured_ms_per_token"])
        drift = median(ratios)
        errors = [abs(ratio - 1) for ratio in ratios]
        pooled += errors
        apart = words([abs(ratio / drift - 1) for ratio in ratios])
        yield (
            f"{path.name}: {len(ratios)} stacks, {words(errors)}; "
            f"without the common drift of {drift - 1:+.1%}: {apart}"
        )
    yield f"all: {len(pooled)} stacks, {words(pooled)}"


def figure(data: dict[str, Any]) -> Any:
    """Plot predicted against published step times, and predicted against published speed-ups."""
    from plotly.subplots import make_subplots

    from hsd_viz.figures import template

    drawn = make_subplots(1, 2, subplot_titles=("ms per step", "speed-up of EAGLE-3 (SpecBundle)"))
    times = [row for row in data["held_aside"] if not row["per_token"]]
    speed_ups = data["speed_ups_held_aside"]
    by_source: dict[str, list[dict]] = defaultdict(list)
    for row in times:
        by_source[NAMES[row["source"]]].append(row)
    by_model: dict[str, list[dict]] = defaultdict(list)
    for row in speed_ups:
        by_model[f"{row['model']}, H200"].append(row)
    shapes = _shapes()
    for name, rows in by_source.items():
        drawn.add_trace(_points(name, next(shapes), rows, "ms"), row=1, col=1)
    for name, rows in by_model.items():
        drawn.add_trace(_points(name, next(shapes), rows, "speedup"), row=1, col=2)
    for column, published, rows in ((1, "ms", times), (2, "speedup", speed_ups)):
        values = [row[published] for row in rows]
        ends = [min(values) * 0.8, max(values) * 1.2]
        for factor, dash in ((1.0, "solid"), (1.35, "dot"), (0.65, "dot")):
            drawn.add_scatter(
                x=ends,
                y=[factor * end for end in ends],
                mode="lines",
                line={"dash": dash, "width": 1, "color": "#57606a"},
                showlegend=False,
                row=1,
                col=column,
            )
    logarithmic = {"type": "log", "tickvals": (3, 10, 30, 100)}
    drawn.update_xaxes(logarithmic, title="published", row=1, col=1)
    drawn.update_yaxes(logarithmic, title="predicted", row=1, col=1)
    drawn.update_xaxes(type="linear", title="published", row=1, col=2)
    drawn.update_yaxes(type="linear", title="predicted", row=1, col=2)
    title = {"text": "Predicted and published figures, held aside (dotted: ±35 %)"}
    return drawn.update_layout(template=template(False), title=title, margin={"t": 90})


def _shapes() -> Iterator[str]:
    """Yield the shape of each group: there are three colours, and a shape per three groups."""
    for shape in ("circle", "diamond", "square", "cross", "x"):
        yield from (shape, shape, shape)


def _points(name: str, shape: str, rows: Sequence[dict], published: str) -> dict[str, Any]:
    """Return a scatter plot of predicted over published figures."""
    return {
        "type": "scatter",
        "x": [row[published] for row in rows],
        "y": [row["predicted"] for row in rows],
        "mode": "markers",
        "text": [f"{row['model']}, batch {row['batch']}" for row in rows],
        "name": name,
        "marker": {"symbol": shape},
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.prediction", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--html", type=Path)
    parser.add_argument("--image", type=Path, help="a PNG or SVG, with kaleido")
    parser.add_argument(
        "--answer", type=Path, help="a picture of Llama-70B with 8B and 1B on four H100"
    )
    parser.add_argument("--fit", action="store_true")
    parser.add_argument(
        "--own",
        type=Path,
        nargs="*",
        help="reports of `hsd-viz plan --measure` (default: docs/bench)",
    )
    options = parser.parse_args()
    if options.own is not None:
        print(*own(options.own or sorted(DATA.glob("plan-*.json"))), sep="\n")
        return 0
    if options.fit:
        fit()
        return 0
    data = report()
    for row in HELD_ASIDE:
        where = f"{row.tp} x {row.gpu:9} batch {row.batch:3} context {row.context:5}"
        times = f"{row.ms:8.3f} {row.predicted():8.3f}"
        print(f"{row.model:12} {row.weights:4} {where} {times} {row.error():+.0%}")
    for name, found in data["summary"].items():
        errors = f"median {found['median']:.1%}, worst {found['worst']:.1%}"
        print(f"{name}: {found['figures']} figures, {errors}")
    if options.json:
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if options.html:
        options.html.write_text(figure(data).to_html(include_plotlyjs=True), encoding="utf-8")
    if options.answer:
        llamas = ("llama-70b", "llama-8b", "llama-1b")
        plan = predict(
            "H100 SXM",
            llamas,
            tp=4,
            weights="fp8",
            batch=(1, 4, 16, 64),
            context=(2048, 8192, 32768),
        )
        prediction(plan).write_image(options.answer, width=1100, height=460)
    if options.image:
        figure(data).write_image(options.image, width=1100, height=520)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
