"""Measure what rounding a model's weights to 8 bits brings and loses: ``python -m benchmarks.int8``.

Loss: teacher-forced bits per token on the prompts of a suite, the share of positions with the same likeliest token, and
the overlap of the rows (the sum over tokens of the smaller probability). Forward passes by their number of tokens are
interleaved as in :mod:`benchmarks.curves`, both native.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.curves import measure
from benchmarks.harness import arguments, command, prompts_of, write
from hsd_viz.backends.native.model import NativeModel
from hsd_viz.decoding.model import HFModel
from hsd_viz.engine.models import Models
from hsd_viz.ladder.load import NAMES, load_model
from hsd_viz.ladder.variants import rounded
from hsd_viz.machine import describe


@torch.inference_mode()
def loss(models: Sequence[torch.nn.Module], texts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return bits per token of a model and its rounded copy, and how much their rows agree."""
    bits, same, overlap, count = [0.0, 0.0], 0.0, 0.0, 0
    for ids in texts:
        after = torch.tensor(ids[1:])[:, None]
        rows = [module(torch.tensor([ids])).logits[0, :-1].log_softmax(-1) for module in models]
        for k, row in enumerate(rows):
            bits[k] -= float(row.gather(1, after).sum()) / math.log(2)
        same += float((rows[0].argmax(-1) == rows[1].argmax(-1)).sum())
        overlap += float(torch.minimum(*rows).exp().sum())
        count += len(after)
    found = {"tokens": count, "bits_per_token": bits[0] / count, "bits_per_token_int8": bits[1] / count}
    return found | {"same_likeliest": same / count, "overlap": overlap / count}


def main(argv: list[str] | None = None) -> int:
    """Measure, print the figures, and with ``--json`` write them."""
    parser = arguments("int8", __doc__, suite="heldout", prompts=40, context=300, repeats=10)

    def work(a) -> None:
        torch.set_num_threads(1)
        suite, tokenizer = prompts_of(a.suite, a.prompts), Models("target", "cpu", None, False).text("target").tokenizer
        texts = [tokenizer(prompt.text)["input_ids"][-400:] for prompt in suite.prompts]
        found = []
        for name in reversed(NAMES):
            module = load_model(name)
            pair = (module, rounded(module))
            native = {kind: NativeModel(HFModel(name, m)) for kind, m in zip(("as_shipped", "int8"), pair, strict=True)}
            row = {"model": name, **loss(pair, texts)}
            row["milliseconds"] = measure(native, context=a.context, repeats=a.repeats)
            row["weight_bytes"] = {kind: model.weight_bytes for kind, model in native.items()}
            before, after = (row["milliseconds"][kind] for kind in ("as_shipped", "int8"))
            ratios = ", ".join(f"{n} {before[n] / after[n]:.2f}" for n in after)
            bits = f"{row['bits_per_token']:.4f} bits per token, rounded {row['bits_per_token_int8']:.4f}"
            print(f"{name}: {bits}, overlap {row['overlap']:.4f}; times as fast over tokens: {ratios}")
            found.append(row)
        write(a.json, {"machine": describe(1), "suite": suite.name, "models": found})

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
