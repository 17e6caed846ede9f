"""Published figures: those on which the constants of :mod:`hsd_viz.latency.efficiency` are fitted,
and those held aside.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.published import (
    BUNDLE,
    BUNDLE_CONTEXT,
    GAUDI_2,
    GAUDI_3,
    GPT_FAST,
    KV_COST,
    LLAMA_CPP,
    MIXTRAL,
    NVIDIA,
    ORACLE,
    ROUNDS_FITTED,
    SPEC_DECODE,
    SPECBUNDLE,
    TENSORRT,
    Published,
    PublishedSpeedUp,
)


def _speeds(model: str, weights: str, source: str, by_tp: dict[int, float]) -> list[Published]:
    """Rows of one sequence on A100s from tokens per second; the prompts have 5 tokens and the
    texts some 200.
    """
    rows = []
    for tp, speed in by_tp.items():
        rows.append(Published("A100 SXM", model, weights, tp, 1, 100, 1e3 / speed, source))
    return rows


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


SPEED_UPS = tuple(PublishedSpeedUp(*row) for row in BUNDLE["rows"])
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
