"""All figures of a GPU in one command: ``python -m benchmarks.gpu --json OUT``.

Random models of real shapes (what a step costs does not depend on the numbers in it) over every runtime there is, beside the
time that reading their weights takes at the measured bandwidth; whole rounds of the loop beside the sum of their
forwards; memory over a thousand decodes; and the shipped ladder with a cost-padded target, where acceptance is real, beside
transformers' own assisted generation. Parts that the time does not suffice for are left out and named. Exit codes: 0 done,
2 bad usage or no GPU (one sentence).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging

from benchmarks.gpu_parts import Bench
from benchmarks.gpu_tools import FULL, SMALL


def summary(result: dict[str, Any]) -> str:
    """The figures in a few lines."""
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
            f"{label} {row['round_ms']:.3f} ms = {row['overhead']:.2f} x its forwards" for label, row in kinds.items()
        )
        lines.append(f"{stack}: a round takes {text}")
    for label, row in result.get("padded", {}).get("rows", {}).items():
        lines.append(
            f"{label}: {row['tokens_per_second_with_prefill']:.0f} tokens/s, acceptance length {row['mean_acceptance_length']:.2f}"
        )
    if "memory" in result:
        lines.append(f"memory after runs: {result['memory']['bytes_after_runs']}")
    lines += [f"left out: {path} ({why})" for path, why in result["left_out"].items()]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a summary, write the JSON."""
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny models, a few repeats: to see that everything runs")
    parser.add_argument(
        "--seconds", type=float, default=480.0, help="begin no part after that many seconds (default 480)"
    )
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    if args.device == "cuda" and not torch.cuda.is_available():
        print(
            "hsd-viz: there is no CUDA device here: these figures need a GPU (--device cpu --tiny tries the same code)",
            file=sys.stderr,
        )
        return 2
    if args.device == "cpu" and not args.tiny:
        print(
            "hsd-viz: models of these sizes are for a GPU: add --tiny to try the same code on the CPU", file=sys.stderr
        )
        return 2
    logging.set_verbosity_error()
    device = torch.device("cuda", torch.cuda.current_device()) if args.device == "cuda" else torch.device("cpu")
    result = Bench(
        device, SMALL if args.tiny else FULL, args.seconds, device.type == "cuda" and not args.no_compile
    ).run(lambda line: print(line, file=sys.stderr, flush=True))
    if args.json is not None:
        partial_file = args.json.with_name(args.json.name + ".part")
        partial_file.write_text(json.dumps(result, indent=1), encoding="utf-8")
        os.replace(partial_file, args.json)
    print(summary(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
