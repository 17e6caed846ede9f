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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import arguments, command
from benchmarks.prediction_figure import figure
from benchmarks.prediction_fit import fit
from benchmarks.published import (
    DATA,
    NAMES,
    ROUNDS_FITTED,
    Published,
    PublishedSpeedUp,
    at_full_load,
)
from benchmarks.published_figures import FITTED, HELD_ASIDE, HELD_SPEED_UPS, SPEED_UPS
from hsd_viz.disk import write_whole
from hsd_viz.figures import prediction
from hsd_viz.measure.predict.api import predict


def summary(rows: Sequence[Published] | Sequence[PublishedSpeedUp]) -> dict[str, float]:
    """Return the number of rows, the median and the worst error."""
    errors = [abs(row.error()) for row in rows]
    return {"figures": len(rows), "median": median(errors), "worst": max(errors)}


def length_ratios(rows: Sequence[PublishedSpeedUp]) -> dict[str, float]:
    """Return the same of the ratios of speed-ups of two draft lengths, of one drafter on one
    benchmark and batch.
    """
    groups: dict[Any, list[PublishedSpeedUp]] = defaultdict(list)
    for row in rows:
        groups[row.model, row.benchmark, row.drafter, row.batch].append(row)
    errors = []
    for group in groups.values():
        for speedup, other in combinations(group, 2):
            if speedup.tokens != other.tokens:
                errors.append(abs((1 + speedup.error()) / (1 + other.error()) - 1))
    return {"figures": len(errors), "median": median(errors), "worst": max(errors)}


def report() -> dict[str, Any]:
    """Return all rows and summaries as JSON data."""
    by_model: dict[str, list[PublishedSpeedUp]] = defaultdict(list)
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


def _listed(rows: Iterable[Published | PublishedSpeedUp]) -> list[dict[str, Any]]:
    """Return the fields of rows with what is predicted."""
    listed = []
    for row in rows:
        fields = asdict(row)
        fields["predicted"] = row.predicted()
        fields["error"] = row.error()
        listed.append(fields)
    return listed


def _sources() -> list[str]:
    return list(dict.fromkeys(row.source for row in HELD_ASIDE))


def own(paths: Sequence[Path]) -> Iterator[str]:
    """Yield how far the latency law is from the stacks that ``hsd-viz plan --measure --json``
    measured, by report. A part of the error is drift: the machine was faster or slower while it
    measured than while it calibrated.
    """

    pooled: list[float] = []
    for path in paths:
        data = json.loads(path.read_text(encoding="utf-8"))
        ratios = []
        for row in data["hierarchies"]:
            if row["measured_ms_per_token"]:
                ratios.append(row["predicted_ms_per_token"] / row["measured_ms_per_token"])
        drift = median(ratios)
        pooled += ratios
        apart = _distance([ratio / drift for ratio in ratios])
        yield (
            f"{path.name}: {len(ratios)} stacks, {_distance(ratios)}; "
            f"without the common drift of {drift - 1:+.1%}: {apart}"
        )
    yield f"all: {len(pooled)} stacks, {_distance(pooled)}"


def _distance(ratios: Sequence[float]) -> str:
    """Return how far ratios are from 1."""
    errors = [abs(ratio - 1) for ratio in ratios]
    return f"median {median(errors):.1%}, worst {max(errors):.1%}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the errors of the predictions, or what the options ask for."""
    parser = arguments("prediction", __doc__)
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
    return command(parser, argv, _work)


def _work(options: argparse.Namespace) -> None:
    """Print and write what the options ask for."""
    if options.own is not None:
        print(*own(options.own or sorted(DATA.glob("plan-*.json"))), sep="\n")
        return
    if options.fit:
        fit()
        return
    data = report()
    _print(data)
    if options.json:
        write_whole(options.json, json.dumps(data, indent=1) + "\n")
    if options.html:
        options.html.write_text(figure(data).to_html(include_plotlyjs=True), encoding="utf-8")
    if options.answer:
        _draw_an_answer(options.answer)
    if options.image:
        figure(data).write_image(options.image, width=1100, height=520)


def _print(data: dict[str, Any]) -> None:
    """Print each row that is held aside, and the summaries."""
    for row in HELD_ASIDE:
        where = f"{row.tp} x {row.gpu:9} batch {row.batch:3} context {row.context:5}"
        times = f"{row.ms:8.3f} {row.predicted():8.3f}"
        print(f"{row.model:12} {row.weights:4} {where} {times} {row.error():+.0%}")
    for name, errors in data["summary"].items():
        words = f"median {errors['median']:.1%}, worst {errors['worst']:.1%}"
        print(f"{name}: {errors['figures']} figures, {words}")


def _draw_an_answer(path: Path) -> None:
    """Write a picture of a prediction: Llama-70B with drafts of 8B and 1B on four H100."""
    plan = predict(
        "H100 SXM",
        ("llama-70b", "llama-8b", "llama-1b"),
        tp=4,
        weights="fp8",
        batch=(1, 4, 16, 64),
        context=(2048, 8192, 32768),
    )
    prediction(plan).write_image(path, width=1100, height=460)


if __name__ == "__main__":
    raise SystemExit(main())
