"""Train, evaluate and rebuild the ladder: ``python -m training COMMAND``, run in a checkout.

    python -m training train --profile long --out DIR
    python -m training evaluate --trained DIR
    python -m training rebuild --trained DIR

The same command resumes a stopped run. Exit codes: 0 done, 2 bad input, 130 interrupted.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hsd_viz.cli import Parser
from hsd_viz.errors import INTERRUPTED
from hsd_viz.terminal import status
from training.recipe import PROFILES, STAGES


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m training", description=__doc__.partition(":")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("train", help="train the target, then both drafts").add_argument
    text = (
        "cpu: two hours on two cores; long: ten hours; gpu: minutes on a large GPU; tiny: seconds"
    )
    add("--profile", choices=PROFILES, default="cpu", help=text)
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder for checkpoints, data and weights",
    )
    add("--stages", default=",".join(STAGES), metavar="A,B", help="which of target and drafts")
    text = "steps of a stage instead of the profile's"
    add("--steps", type=_stage_steps, action="append", default=[], metavar="STAGE=N", help=text)
    add("--tokenizer", type=Path, metavar="DIR", help="use this tokenizer instead of training one")
    add(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the initial weights and the text order",
    )
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--threads", type=int, metavar="N", help="CPU threads")
    add("--minutes", type=float, metavar="N", help="time limit; the training is shortened to fit")
    add("--fresh", action="store_true", help="start again instead of resuming")
    add(
        "--corpus",
        type=Path,
        metavar="FILE",
        help="use this packed corpus instead of this environment's",
    )
    add(
        "--parts",
        type=Path,
        metavar="DIR",
        help="also write the weights as files of at most 15 MiB",
    )
    add = commands.add_parser("evaluate", help="measure a ladder and print its goals").add_argument
    add("--trained", type=Path, required=True, metavar="DIR", help="the folder of the training run")
    add(
        "--weights",
        type=Path,
        metavar="DIR",
        help="the models to measure (default: those trained in DIR)",
    )
    add("--windows", type=int, default=48, metavar="N", help="windows of held-out text")
    add("--before", type=Path, metavar="FILE", help="an evaluation.json to print beside the result")
    add("--out", type=Path, metavar="FILE", help="write the result here, not beside the models")
    add("--threads", type=int, metavar="N", help="CPU threads")
    add = commands.add_parser("databases", help="build the databases of the ladder").add_argument
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the files (default: that of the shipped ones)",
    )
    add(
        "--weights",
        type=Path,
        metavar="DIR",
        help="folder of the ladder's models (default: the shipped ones)",
    )
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with train.npy (default: tokenize this environment's corpus)",
    )
    add("--only", choices=("model", "statistics"), help="build one kind only")
    add = commands.add_parser(
        "rebuild", help="rebuild what depends on the shipped weights"
    ).add_argument
    add("parts", nargs="*", metavar="PART", help="only these parts (see --list)")
    add(
        "--trained",
        type=Path,
        metavar="DIR",
        help="first install the models trained in DIR; evaluate on its text",
    )
    add(
        "--list", action="store_true", help="list the parts and whether they were rebuilt, and exit"
    )
    return parser


def _stage_steps(text: str) -> tuple[str, int]:
    stage, _, number = text.partition("=")
    return stage, int(number)


def _train(args: argparse.Namespace) -> list[Any]:
    from training.storage import split_weights, unpack_corpus
    from training.train import train_ladder

    if args.corpus is not None:
        unpack_corpus(args.corpus, args.out)
    weights = train_ladder(
        args.profile,
        args.out,
        stages=args.stages.split(","),
        seed=args.seed,
        device=args.device,
        threads=args.threads,
        resume=not args.fresh,
        minutes=args.minutes,
        steps=dict(args.steps),
        tokenizer=args.tokenizer,
    )
    return [weights, *(split_weights(args.out, args.parts) if args.parts is not None else ())]


def _evaluate(args: argparse.Namespace) -> list[Any]:
    import torch

    from training.evaluation import evaluate_ladder, suite_prompts, table

    if args.threads:
        torch.set_num_threads(args.threads)
    before = json.loads(args.before.read_text()) if args.before else None
    result = evaluate_ladder(
        args.trained, args.weights, out=args.out, prompts=suite_prompts(), windows=args.windows
    )
    return [table(result, before)]


def _databases(args: argparse.Namespace) -> list[Any]:
    from training.databases import rebuild_databases

    def show(done, total, activity):
        status(f"{activity} {done / total:.0%}")

    return rebuild_databases(
        args.out, weights=args.weights, data=args.data, only=args.only, progress=show
    )


def _rebuild(args: argparse.Namespace) -> list[Any]:
    from tools import rebuild

    if args.list:
        pending = rebuild.pending()

        def row(part, text):
            return f"{part:<13} {'pending' if part in pending else 'done':<8} {text}"

        return [row(part, text) for part, (text, _) in rebuild.PARTS.items()]

    def say(text):
        print(text, file=sys.stderr, flush=True)

    return rebuild.rebuild(args.parts, args.trained, progress=status, say=say)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, print what it returns line by line, and return the exit code."""
    args = _parser().parse_args(argv)
    commands = {
        "train": _train,
        "evaluate": _evaluate,
        "databases": _databases,
        "rebuild": _rebuild,
    }
    try:
        lines = commands[args.command](args)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (OSError, ValueError) as error:
        print(f"python -m training: {error}", file=sys.stderr)
        return 2
    print(*lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
