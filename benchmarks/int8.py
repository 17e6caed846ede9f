"""Measure what 8-bit integers bring and lose: ``python -m benchmarks.int8``.

The native runtime in int8 beside float32 with the same weights: teacher-forced loss in nats per
token on the prompts of a suite, the share of positions with the same likeliest token, and the
overlap of the rows (the sum over tokens of the smaller probability). The overlap of two models is
the rate at which tokens sampled from one are accepted by the other. Forward passes by their number
of tokens are interleaved as in :mod:`benchmarks.curves`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch

from benchmarks.curves import measure
from benchmarks.harness import arguments, command, prompts_of, write
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import distribution
from hsd_viz.engine.models import EngineModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.machine import describe
from hsd_viz.models.families import CODE
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import load

_AS_IS = Sampling(temperature=1.0)
KINDS = ("int8", "float32")


def compare(
    models: dict[str, Sequence[NativeModel]], texts: Sequence[Sequence[int]]
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Return the losses of each model in int8 and in float32 and how much their rows agree, and by
    type the overlap of each pair of models.
    """
    rows = {}
    losses = {}
    for name, pair in models.items():
        for kind, model in zip(KINDS, pair, strict=True):
            rows[name, kind], losses[name, kind] = _rows_and_loss(model, texts)
    by_model = {}
    for name in models:
        int8 = rows[name, "int8"]
        float32 = rows[name, "float32"]
        tokens = len(int8)
        by_model[name] = {
            "tokens": tokens,
            "loss_int8": losses[name, "int8"] / tokens,
            "loss_float32": losses[name, "float32"] / tokens,
            "same_likeliest": float((int8.argmax(-1) == float32.argmax(-1)).mean()),
            "overlap": _overlap(int8, float32),
        }
    pairs = []
    for name, other in combinations(models, 2):
        pair = {"pair": [name, other]}
        for kind in KINDS:
            pair[kind] = _overlap(rows[name, kind], rows[other, kind])
        pairs.append(pair)
    return by_model, pairs


def _rows_and_loss(model: NativeModel, texts: Sequence[Sequence[int]]) -> tuple[np.ndarray, float]:
    """Return the rows of a model on texts, and the sum of its losses in nats."""
    rows = []
    nats = 0.0
    for ids in texts:
        row = distribution(model.session().forward(ids, len(ids))[:-1], _AS_IS)
        of_next_token = row[np.arange(len(ids) - 1), np.array(ids[1:])]
        nats -= float(np.log(of_next_token.astype(np.float64)).sum())
        rows.append(row.copy())
    return np.concatenate(rows), nats


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the sum over tokens of the smaller probability, on average."""
    return float(np.minimum(a, b).sum(-1, dtype=np.float64).mean())


def _described(row: dict[str, Any]) -> str:
    """Return the line about a model."""
    after, before = row["milliseconds"].values()
    ratios = ", ".join(f"{n} {before[n] / after[n]:.2f}" for n in after)
    nats = f"loss {row['loss_int8']:.4f} in int8, {row['loss_float32']:.4f} in float32"
    overlap = f"overlap {row['overlap']:.4f}"
    return f"{row['model']}: {nats}, {overlap}; times as fast over tokens: {ratios}"


def main(argv: list[str] | None = None) -> int:
    """Measure, print the figures, and with ``--json`` write them."""
    parser = arguments("int8", __doc__, suite="heldout", prompts=40, context=300, repeats=10)

    def work(args) -> None:
        torch.set_num_threads(1)
        suite = prompts_of(args.suite, args.prompts)
        options = EngineOptions(device="cpu", allow_models=False)
        text = EngineModels(options).text("target")
        texts = []
        for prompt in suite.prompts:
            ids = text.encode(prompt.text)[-512:]
            if len(ids) > 1:
                texts.append(ids)
        models = {}
        for name in reversed(CODE.names):
            models[name] = tuple(NativeModel(load(CODE.path(name), kind)) for kind in KINDS)
        losses, pairs = compare(models, texts)
        rows = []
        for name, pair in models.items():
            native = dict(zip(KINDS, pair, strict=True))
            row = {"model": name, **losses[name]}
            row["milliseconds"] = measure(native, context=args.context, repeats=args.repeats)
            row["weight_bytes"] = {kind: model.weight_bytes for kind, model in native.items()}
            row["cache_bytes_per_token"] = {
                kind: model.cache_bytes_per_token for kind, model in native.items()
            }
            print(_described(row))
            rows.append(row)
        for row in pairs:
            overlaps = f"overlap {row['int8']:.4f} in int8, {row['float32']:.4f} in float32"
            print(*row["pair"], overlaps)
        report = {
            "machine": describe(1),
            "suite": suite.name,
            "models": rows,
            "pairs": pairs,
        }
        write(args.json, report)

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
