"""Measure all GPU figures in one command: ``python -m benchmarks.gpu --json OUT``.

Random models of real shapes (the cost of a step does not depend on the weights) on every runtime, compared with the
time to read their weights at the measured bandwidth; whole rounds of the loop compared with the sum of their forward
passes; memory over a thousand decodes; and the shipped models with a cost-padded target, where acceptance is real,
compared with transformers' assisted generation. Parts that exceed the time limit are skipped and named. Exit codes: 0
done, 2 bad usage or no GPU (with a one-line error).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
from transformers.utils import logging

from benchmarks.gpu_parts import Bench
from benchmarks.gpu_tools import FULL, SMALL
from benchmarks.harness import arguments, command, say, write


def summary(result: dict[str, Any]) -> str:
    """Return the figures in a few lines."""
    lines = [f"{result['machine']['gpu'] or result['machine']['cpu']}, {result['dtype']}"]
    if "bandwidth" in result:
        lines.append(f"copy: {result['bandwidth']['bytes_per_second'] / 1e9:.0f} GB/s")
    for name, kinds in result.get("steps", {}).items():
        for kind, row in kinds.items():
            widths = " ".join(f"{w}: {ms:.3f}" for w, ms in row["width_ms"].items())
            lines.append(
                f"{name} {kind}: {row['ratio_to_bound']:.2f} x bound ({row['bound_ms']:.3f} ms); ms by width {widths}"
            )
    for stack, kinds in result.get("rounds", {}).items():
        text = ", ".join(
            f"{label} {row['round_ms']:.3f} ms = {row['overhead']:.2f} x its forward passes"
            for label, row in kinds.items()
        )
        lines.append(f"{stack}: {text} per round")
    for label, row in result.get("padded", {}).get("rows", {}).items():
        lines.append(
            f"{label}: {row['tokens_per_second_with_prefill']:.0f} tokens/s, acceptance length "
            f"{row['mean_acceptance_length']:.2f}"
        )
    if "memory" in result:
        lines.append(f"memory after runs: {result['memory']['bytes_after_runs']}")
    lines += [f"left out: {path} ({why})" for path, why in result["left_out"].items()]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a summary, and with ``--json`` write all figures."""
    parser = arguments("gpu", __doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny models and few repeats, to test the code")
    parser.add_argument("--seconds", type=float, default=480.0, help="start no part after this time (default 480)")
    parser.add_argument("--no-compile", action="store_true", help="skip torch.compile")

    def work(args) -> None:
        if args.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("no CUDA device: these figures need a GPU (--device cpu --tiny runs the same code)")
        if args.device == "cpu" and not args.tiny:
            raise ValueError("models of these sizes need a GPU: add --tiny to run the same code on the CPU")
        logging.set_verbosity_error()
        device = torch.device("cuda", torch.cuda.current_device()) if args.device == "cuda" else torch.device("cpu")
        compiled = device.type == "cuda" and not args.no_compile
        result = Bench(device, SMALL if args.tiny else FULL, args.seconds, compiled).run(say)
        write(args.json, result)
        print(summary(result))

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
