"""The command behind run.sh: ``python -m benchmarks.gpu a|b|c [--tiny] --out DIR``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gpu.parts import ScriptReport, check_files, supervise, work_off
from benchmarks.gpu.scripts import SECONDS, parts_of, summary
from benchmarks.harness import arguments, command
from hsd_viz.errors import UserError
from hsd_viz.terminal import print_line

#: Where the CPU takes the place of a GPU: one thread, no helpers that each import torch, and
#: kernels without vectors, which the compiler has done in a third of the time. Commands and workers
#: inherit it.
REHEARSAL = {
    "OMP_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_VEC_ISA_OK": "0",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a script, print a summary; exit codes: 0 done, 1 some part failed, 2 bad usage or no
    GPU.
    """
    parser = arguments("gpu", __doc__)
    parser.add_argument("script", choices=tuple(SECONDS), help="what to run")
    parser.add_argument(
        "--tiny", action="store_true", help="tiny models and few repeats, on the CPU too"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help="where the results go (default out)",
    )
    parser.add_argument("--seconds", type=float, help="time limit (default: the script's)")
    parser.add_argument("--worker", action="store_true", help="run the parts in this process")

    def work(args) -> int:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu" and not args.tiny:
            raise UserError(
                "no CUDA device: these figures need a GPU (--tiny runs the same code on the CPU)"
            )
        if device == "cpu":
            os.environ.update(REHEARSAL)
            torch.set_num_threads(1)
        args.out.mkdir(parents=True, exist_ok=True)
        settings = {"script": args.script, "tiny": args.tiny, "device": device}
        report = ScriptReport(args.out / f"{args.script}.json", settings)
        parts = parts_of(args.script, args.tiny, device, args.out)
        if args.worker:
            work_off(parts, report)
            return 0
        # The child sees no --seconds: this process ends it.
        again = [
            sys.executable,
            "-m",
            "benchmarks.gpu",
            args.script,
            "--worker",
            "--out",
            str(args.out),
        ]
        data = supervise(
            parts,
            report,
            again + ["--tiny"] * args.tiny,
            args.seconds or SECONDS[args.script] * (3 if args.tiny else 1),
        )
        print(summary(data))
        for line in check_files(args.out):
            print_line(line)
        return 1 if data["failed"] else 0

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
