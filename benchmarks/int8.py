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
from hsd_viz.decoding.sampling import Sampling, distribution
from hsd_viz.engine.load import Models
from hsd_viz.machine import describe
from hsd_viz.models.families import CODE
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import load

_AS_IS = Sampling(1.0)
KINDS = ("int8", "float32")


def compare(
    models: dict[str, Sequence[NativeModel]], texts: Sequence[Sequence[int]]
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Return the losses of each model in int8 and in float32 and how much their rows agree, and by
    type the overlap of each pair of models.
    """
    kept: dict[str, list[list[np.ndarray]]] = {name: [[], []] for name in models}
    nats: dict[str, list[float]] = {name: [0.0, 0.0] for name in models}
    for ids in texts:
        after, places = np.array(ids[1:]), np.arange(len(ids) - 1)
        for name, pair in models.items():
            for k, model in enumerate(pair):
                row = distribution(model.session().forward(ids, len(ids))[:-1], _AS_IS)
                nats[name][k] -= float(np.log(row[places, after].astype(np.float64)).sum())
                kept[name][k].append(row.copy())
    rows = {name: [np.concatenate(one) for one in pair] for name, pair in kept.items()}
    overlap = lambda a, b: float(np.minimum(a, b).sum(-1, dtype=np.float64).mean())
    found = {}
    for name, (a, b) in rows.items():
        losses = {
            f"loss_{kind}": loss / len(a) for kind, loss in zip(KINDS, nats[name], strict=True)
        }
        same = float((a.argmax(-1) == b.argmax(-1)).mean())
        found[name] = {"tokens": len(a), **losses, "same_likeliest": same, "overlap": overlap(a, b)}
    pairs = [
        {"pair": [x, y], **{kind: overlap(rows[x][k], rows[y][k]) for k, kind in enumerate(KINDS)}}
        for x, y in combinations(models, 2)
    ]
    return found, pairs


def main(argv: list[str] | None = None) -> int:
    """Measure, print the figures, and with ``--json`` write them."""
    parser = arguments("int8", __doc__, suite="heldout", prompts=40, context=300, repeats=10)

    def work(a) -> None:
        torch.set_num_threads(1)
        suite, text = (
            prompts_of(a.suite, a.prompts),
            Models("target", "cpu", None, False).text("target"),
        )
        texts = [ids for prompt in suite.prompts if len(ids := text.encode(prompt.text)[-512:]) > 1]
        models = {
            name: tuple(NativeModel(load(CODE.path(name), kind)) for kind in KINDS)
            for name in reversed(CODE.names)
        }
        losses, pairs = compare(models, texts)
        found = []
        for name, pair in models.items():
            native = dict(zip(KINDS, pair, strict=True))
            row = {"model": name, **losses[name]}
            row["milliseconds"] = measure(native, context=a.context, repeats=a.repeats)
            row["weight_bytes"] = {kind: model.weight_bytes for kind, model in native.items()}
            row["cache_bytes_per_token"] = {
                kind: model.cache_bytes_per_token for kind, model in native.items()
            }
            after, before = row["milliseconds"].values()
            ratios = ", ".join(f"{n} {before[n] / after[n]:.2f}" for n in after)
            nats = f"loss {row['loss_int8']:.4f} in int8, {row['loss_float32']:.4f} in float32"
            print(
                f"{name}: {nats}, overlap {row['overlap']:.4f}; times as fast over tokens: {ratios}"
            )
            found.append(row)
        for row in pairs:
            print(
                *row["pair"], f"overlap {row['int8']:.4f} in int8, {row['float32']:.4f} in float32"
            )
        write(
            a.json, {"machine": describe(1), "suite": suite.name, "models": found, "pairs": pairs}
        )

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
