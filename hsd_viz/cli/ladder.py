"""``hsd-viz ladder``: the shipped family of small models, training it anew, and rebuilding what depends on it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments, traces
from hsd_viz.ladder.training.recipe import PROFILES

_EPILOG = """\
examples:
  hsd-viz ladder info
  hsd-viz ladder train --profile cpu --out my-ladder
  hsd-viz ladder rebuild --trained my-ladder

Training reads permissively licensed Python source found on this machine; a run that was stopped goes on where it last saved.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "ladder",
        help="the shipped models: info, train, rebuild",
        description="The shipped family of small models, training it anew, and rebuilding what depends on it.",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    info = actions.add_parser("info", help="sizes, training and quality", description="What the shipped models are.", epilog=_EPILOG)
    info.add_argument("--json", action="store_true", help="print all that is known as one JSON object")
    info.set_defaults(run=run_info)

    train = actions.add_parser("train", help="train a ladder", description="Train a ladder: the target, then both drafts.", epilog=_EPILOG)
    train.add_argument("--profile", choices=PROFILES, default="cpu", help="cpu: two hours on two cores; long: ten; tiny: seconds")
    train.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for checkpoints, data and weights")
    train.add_argument("--stages", default="target,drafts", metavar="A,B", help="which of target and drafts (default both)")
    train.add_argument("--steps", action="append", default=[], metavar="STAGE=N", help="steps of a stage instead of the profile's")
    train.add_argument("--tokenizer", type=Path, metavar="DIR", help="use this tokenizer instead of training one")
    train.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the initial weights and of the text order (default 0)")
    train.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default cpu")
    train.add_argument("--threads", type=int, metavar="N", help="CPU threads")
    train.add_argument("--minutes", type=float, metavar="N", help="time limit; the training is shortened to fit")
    train.add_argument("--fresh", action="store_true", help="start again instead of resuming")
    train.set_defaults(run=run_train)

    rebuild = actions.add_parser(
        "rebuild",
        help="rebuild what depends on the weights",
        description="Rebuild all that depends on the shipped weights: databases, recorded traces, model card.",
        epilog=_EPILOG,
    )
    rebuild.add_argument("--trained", type=Path, metavar="DIR", help="first take over the models trained in DIR and evaluate them")
    rebuild.set_defaults(run=run_rebuild)


def run_info(args: argparse.Namespace) -> int:
    """Print what the shipped models are."""
    from hsd_viz.ladder import info

    found = info()
    if args.json:
        print(json.dumps(found))
        return 0
    if not found["models"]:
        raise ValueError("no models come with this installation: train them with `hsd-viz ladder train`")
    for name, row in found["models"].items():
        print(_line(name, row, found.get("evaluation", {}).get("models", {}).get(name, {})))
    total = found.get("corpus", {}).get("total", {})
    if total:
        print(f"corpus: {total['files']} files, {total['bytes'] / 1e6:.1f} MB, and {total['heldout_files']} files held out")
    return 0


def _line(name: str, row: dict[str, Any], measured: dict[str, Any]) -> str:
    text = f"{name:<7} {row['parameters'] / 1e6:5.1f} M parameters, {row['layers']} layers x {row['width']}, weights {row['hash']}"
    tokens = row.get("training", {}).get("tokens")
    loss = measured.get("loss")
    return text + (f", {tokens / 1e6:.1f} M tokens learnt from" if tokens else "") + (f", held-out loss {loss:.3f}" if loss else "")


def run_train(args: argparse.Namespace) -> int:
    """Train and say where the weights are."""
    from hsd_viz.ladder import train_ladder

    weights = train_ladder(
        args.profile,
        args.out,
        stages=args.stages.split(","),
        seed=args.seed,
        device=args.device,
        threads=args.threads,
        resume=not args.fresh,
        minutes=args.minutes,
        steps=dict(_stage_steps(text) for text in args.steps),
        tokenizer=args.tokenizer,
    )
    print(weights)
    return 0


def _stage_steps(text: str) -> tuple[str, int]:
    """Parse ``STAGE=N``."""
    stage, _, number = text.partition("=")
    if not number.isdigit():
        raise ValueError(f"--steps {text!r} is not of the form STAGE=N, as in target=5000")
    return stage, int(number)


def run_rebuild(args: argparse.Namespace) -> int:
    """Take the weights over where asked, then build what follows from them, step by step."""
    from hsd_viz.ladder import evaluate_ladder, write_card
    from hsd_viz.ladder.training.databases import rebuild_databases
    from hsd_viz.ladder.load import weights_dir

    data = None
    if args.trained is not None:
        source, data = args.trained / "weights", args.trained / "data"
        if not (source / "target" / "config.json").is_file():
            raise ValueError(f"{args.trained} holds no trained ladder: there is no {source / 'target' / 'config.json'}")
        _step("taking over the models")
        for model in sorted(p for p in source.iterdir() if (p / "config.json").is_file()):
            shutil.rmtree(weights_dir() / model.name, ignore_errors=True)
            shutil.copytree(model, weights_dir() / model.name)
        _step("evaluating them on held-out text")
        evaluate_ladder(args.trained, weights_dir())
    _step("building the databases")
    paths = rebuild_databases(data=data, progress=lambda what, share: arguments.status(f"{what} {share:.0%}"))
    arguments.status()
    _step("recording the traces")
    paths += traces.record() + traces.record(side_by_side=True)
    _step("writing the model card")
    for path in [*paths, write_card()]:
        print(path)
    return 0


def _step(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)
