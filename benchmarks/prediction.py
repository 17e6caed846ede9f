"""Compare predicted step times with published ones: ``python -m benchmarks.prediction [--json OUT] [--html OUT]``.

The efficiencies of :data:`hsd_viz.latency.hardware.PUBLISHED` are fitted on the rows of ``FITTED`` (``--fit`` prints
them, with scipy) and are used as they are for all others: other models, cards, engines, batches and contexts. A figure
is the time of one decode step of the whole batch, from published tokens per second or from a published fit of step
times; KV caches are counted at their mean length. Speed-ups are those of EAGLE-3 heads by SpecBundle, predicted from
their published tokens per forward pass: the time of a round beyond its forward passes is fitted on two of its models
(``ROUNDS_FITTED``), the others are held aside.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from hsd_viz.figures import prediction
from hsd_viz.latency.hardware import GPUS, MODELS, PUBLISHED, Efficiency, Machine
from hsd_viz.measure.predict import predict

GPT_FAST = "https://github.com/pytorch-labs/gpt-fast (README)"
MIXTRAL = "https://github.com/pytorch-labs/gpt-fast (mixtral-moe/README)"
SPEC_DECODE = "arXiv 2601.11580, its fit of vLLM step times on an H100"
TENSORRT = "https://github.com/NVIDIA/TensorRT-LLM v0.6.1 (docs/source/performance.md)"
NVIDIA = "https://developer.nvidia.com/blog/boost-llama-3-3-70b-inference-throughput-3x-with-nvidia-tensorrt-llm-speculative-decoding/"
SPECBUNDLE = "https://github.com/sgl-project/SpecForge (SpecBundle dashboard), SGLang on H200"
KV_COST = "https://github.com/adixg/vllm-specdecode-cost-model (README), per cached token"

NAMES = {
    GPT_FAST: "gpt-fast, Llama 3.1, A100", MIXTRAL: "gpt-fast, Mixtral, A100", SPEC_DECODE: "vLLM (2601.11580), H100",
    TENSORRT: "TensorRT-LLM 0.6.1, H100 · A100 · L40S", NVIDIA: "TensorRT-LLM, Llama 3.3, H200",
    KV_COST: "vLLM, cost of the KV cache, H100", SPECBUNDLE: "SGLang (SpecBundle), H200",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Published:
    """A published step time in ms, or with ``per_token`` microseconds per cached token."""

    gpu: str
    model: str
    weights: str
    tp: int
    batch: int
    context: int
    ms: float
    source: str
    per_token: bool = False

    def predicted(self, efficiency: Efficiency = PUBLISHED) -> float:
        machine, shape = Machine(GPUS[self.gpu], self.tp, efficiency), MODELS[self.model]
        cache = "fp8" if self.source == TENSORRT and self.weights == "fp8" else "bf16"
        settings: dict[str, Any] = {"batch": self.batch, "weights": self.weights, "cache": cache}
        at = machine.step_ms(shape, context=self.context, **settings)
        if not self.per_token:
            return at
        return (
            (machine.step_ms(shape, context=2 * self.context, **settings) - at)
            / self.context
            / self.batch
            * 1e3
        )

    def error(self, efficiency: Efficiency = PUBLISHED) -> float:
        return self.predicted(efficiency) / self.ms - 1


def _speeds(model: str, weights: str, source: str, by_tp: dict[int, float]) -> list[Published]:
    """Rows of one sequence on A100s from tokens per second; the prompts have 5 tokens and the texts some 200."""
    return [
        Published("A100 SXM", model, weights, tp, 1, 100, 1e3 / speed, source)
        for tp, speed in by_tp.items()
    ]


DATA = Path(__file__).parents[1] / "docs" / "bench"
BUNDLE = json.loads((DATA / "specbundle.json").read_text(encoding="utf-8"))
#: Models on whose speed-ups the time of a round beyond its forward passes is fitted, each with equal weight.
ROUNDS_FITTED = ("Llama-3.1-8B-Instruct", "Qwen3-Coder-30B-A3B-Instruct")
#: Tokens cached while SpecBundle's benchmarks decode: an assumption, to which a speed-up hardly reacts.
BUNDLE_CONTEXT = 600


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """A published speed-up of an EAGLE-3 head over plain decoding, with its tokens per forward pass (``length``)."""

    model: str
    benchmark: str
    drafter: str
    batch: int
    tokens: int
    length: float
    speedup: float

    def predicted(self, efficiency: Efficiency = PUBLISHED) -> float:
        name, tp = {row[0]: row[1:3] for row in BUNDLE["plain_rows"]}[self.model]
        shape, at = MODELS[name], {"batch": self.batch, "context": BUNDLE_CONTEXT}
        machine = Machine(GPUS["H200"], tp, efficiency)
        drafting = self.tokens * machine.step_ms(shape.head(), **at)
        rounds = (
            machine.step_ms(shape, tokens=self.tokens + 1, **at)
            + drafting
            + efficiency.round_us * 1e-3
        )
        return self.length * machine.step_ms(shape, **at) / rounds

    def error(self, efficiency: Efficiency = PUBLISHED) -> float:
        return self.predicted(efficiency) / self.speedup - 1


SPEED_UPS = tuple(SpeedUp(*row) for row in BUNDLE["rows"])
HELD_SPEED_UPS = tuple(row for row in SPEED_UPS if row.model not in ROUNDS_FITTED)
FITTED = (
    *_speeds("llama-2-7b", "bf16", GPT_FAST, {1: 104.9, 2: 168.84, 4: 254.02, 8: 328.43}),
    *_speeds("llama-2-7b", "int8", GPT_FAST, {1: 155.58}),
    *_speeds("llama-2-7b", "int4", GPT_FAST, {1: 196.80}),
    *_speeds("llama-2-70b", "bf16", GPT_FAST, {2: 21.32, 4: 38.01, 8: 62.50}),
    *_speeds("llama-2-70b", "int8", GPT_FAST, {1: 19.13, 8: 80.44}),
    *_speeds("llama-2-70b", "int4", GPT_FAST, {1: 25.25, 8: 90.77}),
)
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
HELD_ASIDE = (
    *_speeds("llama-8b", "bf16", GPT_FAST, {1: 93.89, 2: 149.10, 4: 217.21, 8: 276.01}),
    *_speeds("llama-8b", "int8", GPT_FAST, {1: 137.64}),
    *_speeds("llama-70b", "bf16", GPT_FAST, {2: 16.03, 4: 37.45, 8: 58.78}),
    *_speeds("llama-70b", "int8", GPT_FAST, {1: 18.04, 8: 75.58}),
    *_speeds("llama-405b", "int8", GPT_FAST, {8: 15.60}),
    *_speeds("mixtral-8x7b", "bf16", MIXTRAL, {2: 96.67, 4: 155.35, 8: 227.82}),
    *_speeds("mixtral-8x7b", "int8", MIXTRAL, {1: 97.92, 2: 155.03, 4: 216.87, 8: 279.35}),
    # 5.89 ms + 0.0210 ms per token + 3.93e-5 ms per cached token.
    *(
        Published(
            "H100 SXM",
            "llama-8b",
            "bf16",
            1,
            b,
            c,
            5.89 + 0.0210 * b + 3.93e-5 * b * c,
            SPEC_DECODE,
        )
        for b in (1, 8, 32, 64, 128)
        for c in (1000, 4000)
    ),
    Published("H200", "llama-70b", "fp8", 1, 1, 500, 1e3 / 51.14, NVIDIA),
    *(
        Published("H200", shape, "bf16", tp, batch, BUNDLE_CONTEXT, batch * 1e3 / speed, SPECBUNDLE)
        for model, shape, tp, batch, speed in BUNDLE["plain_rows"]
        if model not in ROUNDS_FITTED
    ),
    Published("H100 SXM", "qwen3-1.7b", "bf16", 1, 64, 2000, 0.0356, KV_COST, per_token=True),
    *(
        Published(
            gpu,
            model,
            weights,
            tp,
            batch,
            read + written // 2,
            batch / (speed * tp) * 1e3,
            TENSORRT,
        )
        for gpu, model, weights, tp, batch, read, written, speed in _OFFLINE
    ),
)


def summary(rows: tuple[Published, ...] | tuple[SpeedUp, ...]) -> dict[str, float]:
    """Return the number of rows, the median and the worst error."""
    errors = [abs(row.error()) for row in rows]
    return {"figures": len(rows), "median": median(errors), "worst": max(errors)}


def offline_large(row: Published) -> bool:
    """Return whether a figure is the offline throughput of a large model on several GPUs: scheduling and prefill of
    two years ago, which the model leaves out. These are reported, and counted apart.
    """
    return row.source == TENSORRT and row.model == "llama-2-70b"


def report() -> dict[str, Any]:
    """Return all rows and summaries as JSON data."""
    listed = lambda rows: [
        {name: getattr(row, name) for name in row.__slots__}
        | {"predicted": row.predicted(), "error": row.error()}
        for row in rows
    ]
    models = dict.fromkeys(row.model for row in SPEED_UPS)
    return {
        "fitted": listed(FITTED),
        "held_aside": listed(HELD_ASIDE),
        "speed_ups_fitted": listed(row for row in SPEED_UPS if row.model in ROUNDS_FITTED),
        "speed_ups_held_aside": listed(HELD_SPEED_UPS),
        "summary": {
            "speed-ups, held aside": summary(HELD_SPEED_UPS),
            **{
                f"speed-ups, {name}": summary(tuple(row for row in SPEED_UPS if row.model == name))
                for name in models
            },
            "fitted": summary(FITTED),
            "held aside": summary(HELD_ASIDE),
            "held aside, without offline throughput of a large model": summary(
                tuple(row for row in HELD_ASIDE if not offline_large(row))
            ),
            **{
                NAMES[s]: summary(tuple(row for row in HELD_ASIDE if row.source == s))
                for s in _sources()
            },
        },
    }


def _sources() -> list[str]:
    return list(dict.fromkeys(row.source for row in HELD_ASIDE))


def fit() -> None:
    """Print the efficiencies fitted on :data:`FITTED`."""
    import numpy as np
    from scipy.optimize import least_squares, minimize_scalar

    def efficiency(x: Any) -> Efficiency:
        formats = {**dict.fromkeys(PUBLISHED.bandwidth, x[0]), "int8": x[1], "int4": x[2]}
        return Efficiency(formats, PUBLISHED.compute, x[3], x[4], 0.0, "published", "")

    errors = lambda x: [np.log(1 + row.error(efficiency(x))) for row in FITTED]
    bounds = ([0.3, 0.3, 0.3, 0, 0], [1, 1, 1, 200, 200])
    print(
        least_squares(
            errors, [0.8, 0.65, 0.5, 40, 20], bounds=bounds, loss="soft_l1", f_scale=0.05
        ).x
    )
    by_model = [[row for row in SPEED_UPS if row.model == name] for name in ROUNDS_FITTED]

    def loss(us: float) -> float:
        used = replace(PUBLISHED, round_us=us)
        return sum(np.mean([np.log(1 + row.error(used)) ** 2 for row in rows]) for rows in by_model)

    print(minimize_scalar(loss, bounds=(0, 5000), method="bounded").x)


def own(paths: Sequence[Path]) -> Iterator[str]:
    """Yield how far the latency law is from the stacks that ``hsd-viz plan --measure --json`` measured, by report. A
    part of the error is drift: the machine was faster or slower while it measured than while it calibrated.
    """
    words = lambda errors: f"median {median(errors):.1%}, worst {max(errors):.1%}"
    pooled: list[float] = []
    for path in paths:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = [row for row in data["hierarchies"] if row["measured_ms_per_token"]]
        ratios = [row["predicted_ms_per_token"] / row["measured_ms_per_token"] for row in rows]
        drift = median(ratios)
        pooled += (errors := [abs(ratio - 1) for ratio in ratios])
        apart = words([abs(ratio / drift - 1) for ratio in ratios])
        yield f"{path.name}: {len(rows)} stacks, {words(errors)}; without the common drift of {drift - 1:+.1%}: {apart}"
    yield f"all: {len(pooled)} stacks, {words(pooled)}"


def figure(data: dict[str, Any]) -> Any:
    """Plot predicted against published step times, and predicted against published speed-ups."""
    from plotly.subplots import make_subplots

    from hsd_viz.figures import template

    drawn = make_subplots(1, 2, subplot_titles=("ms per step", "speed-up of EAGLE-3 (SpecBundle)"))
    times = [row for row in data["held_aside"] if not row["per_token"]]
    groups = [
        (1, NAMES[s], "ms", [row for row in times if row["source"] == s])
        for s in _sources()
        if s != KV_COST
    ]
    for model in dict.fromkeys(row["model"] for row in data["speed_ups_held_aside"]):
        rows = [row for row in data["speed_ups_held_aside"] if row["model"] == model]
        groups.append((2, f"{model}, H200", "speedup", rows))
    # Three colours, and a shape for each round through them.
    shapes = [shape for shape in ("circle", "diamond", "square", "cross") for _ in range(3)]
    for (column, name, published, rows), shape in zip(groups, shapes, strict=False):
        text = [f"{row['model']}, batch {row['batch']}" for row in rows]
        x, y = [row[published] for row in rows], [row["predicted"] for row in rows]
        drawn.add_scatter(
            x=x, y=y, mode="markers", text=text, name=name, marker_symbol=shape, row=1, col=column
        )
    for column, published, rows in ((1, "ms", times), (2, "speedup", data["speed_ups_held_aside"])):
        ends = [
            min(row[published] for row in rows) * 0.8,
            max(row[published] for row in rows) * 1.2,
        ]
        for factor, dash in ((1.0, "solid"), (1.35, "dot"), (0.65, "dot")):
            line = {"dash": dash, "width": 1, "color": "#57606a"}
            at = {"x": ends, "y": [factor * end for end in ends], "row": 1, "col": column}
            drawn.add_scatter(**at, mode="lines", line=line, showlegend=False)
        kind = "log" if column == 1 else "linear"
        ticks = {"type": kind, "tickvals": (3, 10, 30, 100) if kind == "log" else None}
        drawn.update_xaxes(title="published", **ticks, row=1, col=column)
        drawn.update_yaxes(title="predicted", **ticks, row=1, col=column)
    title = {"text": "Predicted and published figures, held aside (dotted: ±35 %)"}
    return drawn.update_layout(template=template(False), title=title, margin={"t": 90})


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
        print(
            f"{row.model:12} {row.weights:4} {where} {row.ms:8.3f} {row.predicted():8.3f} {row.error():+.0%}"
        )
    for name, found in data["summary"].items():
        print(
            f"{name}: {found['figures']} figures, median {found['median']:.1%}, worst {found['worst']:.1%}"
        )
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
