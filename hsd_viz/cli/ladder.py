"""``hsd-viz ladder``: the shipped family of small models; training, evaluating and rebuilding it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments, traces
from hsd_viz.ladder.training.recipe import PROFILES, STAGES

_EPILOG = """\
examples:
  hsd-viz ladder info
  hsd-viz ladder train --profile cpu --out my-ladder
  hsd-viz ladder evaluate --trained my-ladder
  hsd-viz ladder rebuild --trained my-ladder

Training reads permissively licensed Python source found on this machine. The same command resumes a stopped run.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    about = "The shipped family of small models; training, evaluating and rebuilding it."
    text = "the shipped models: info, train, evaluate, rebuild"
    parser = arguments.add_command(commands, "ladder", text, about=about, epilog=_EPILOG)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    def action(name: str, text: str, about: str, run: Callable) -> Callable[..., Any]:
        return arguments.add_command(actions, name, text, run, about=about, epilog=_EPILOG).add_argument

    add = action("info", "sizes, training and quality", "Show the shipped models.", run_info)
    add("--json", action="store_true", help="print everything known as one JSON object")
    _add_train(action("train", "train a ladder", "Train a ladder: the target, then both drafts.", run_train))
    add = action("evaluate", "measure a ladder", "Measure a trained ladder and print its goals.", run_evaluate)
    add("--trained", type=Path, required=True, metavar="DIR", help="the folder of the training run")
    add("--weights", type=Path, metavar="DIR", help="the models to measure (default: those trained in DIR)")
    add("--windows", type=int, default=48, metavar="N", help="windows of held-out text (default 48)")
    add("--before", type=Path, metavar="FILE", help="an evaluation.json to print beside the result")
    add("--out", type=Path, metavar="FILE", help="write the result here, not beside the models")
    add("--threads", type=int, metavar="N", help="CPU threads")
    about = "Rebuild everything that depends on the shipped weights: databases, recorded traces, model card."
    add = action("rebuild", "rebuild what depends on the weights", about, run_rebuild)
    add("--trained", type=Path, metavar="DIR", help="first install and evaluate the models trained in DIR")


def _add_train(add: Callable[..., Any]) -> None:
    text = "cpu: two hours on two cores; long: ten hours; gpu: minutes on a large GPU; tiny: seconds (default cpu)"
    add("--profile", choices=PROFILES, default="cpu", help=text)
    add("--out", type=Path, required=True, metavar="DIR", help="the folder for checkpoints, data and weights")
    add("--stages", default=",".join(STAGES), metavar="A,B", help="which of target and drafts (default both)")
    text = "steps of a stage instead of the profile's"
    add("--steps", action="append", default=[], metavar="STAGE=N", help=text)
    add("--tokenizer", type=Path, metavar="DIR", help="use this tokenizer instead of training one")
    text = "seed of the initial weights and the text order (default 0)"
    add("--seed", type=int, default=0, metavar="N", help=text)
    add("--device", choices=("cpu", "cuda"), default="cpu", help="default cpu")
    add("--threads", type=int, metavar="N", help="CPU threads")
    add("--minutes", type=float, metavar="N", help="time limit; the training is shortened to fit")
    add("--fresh", action="store_true", help="start again instead of resuming")
    add("--corpus", type=Path, metavar="FILE", help="use this packed corpus instead of this environment's")
    add("--parts", type=Path, metavar="DIR", help="also write the weights as files of at most 15 MiB")


def run_info(args: argparse.Namespace) -> int:
    """Print the shipped models and how good they are."""
    from hsd_viz.ladder import info

    found = info()
    if args.json:
        print(json.dumps(found))
        return 0
    if not found["models"]:
        raise ValueError("this installation contains no models: train them with `hsd-viz ladder train`")
    evaluation = found.get("evaluation", {})
    for name, row in found["models"].items():
        print(_line(name, row, evaluation.get("models", {}).get(name, {})))
    for pair, row in evaluation.get("pairs", {}).items():
        agreement = f"Σ min(p, q) {row['overlap']:.3f}, greedy agreement {row['greedy_agreement']:.3f}"
        print(f"{pair.replace('/', ' → ')}: {agreement}")
    labels = {
        "repetition": "greedy repetition",
        "copied": "copied after edit prompts",
        "parsed": "lines in valid blocks",
    }
    known = {label: evaluation.get("writing", {}).get(key) for key, label in labels.items()}
    if shown := [f"{label} {value:.0%}" for label, value in known.items() if value is not None]:
        print(f"target writes: {', '.join(shown)}")
    total = found.get("corpus", {}).get("total", {})
    if total:
        print(f"corpus: {total['files']} files, {total['bytes'] / 1e6:.1f} MB; {total['heldout_files']} files held out")
    return 0


def _line(name: str, row: dict[str, Any], measured: dict[str, Any]) -> str:
    shape = f"{row['parameters'] / 1e6:5.1f} M parameters, {row['layers']} layers x {row['width']}"
    parts = [f"{name:<7} {shape}", f"weights {row['hash']}"]
    if tokens := row.get("training", {}).get("tokens"):
        parts.append(f"trained on {tokens / 1e6:.1f} M tokens")
    if loss := measured.get("loss"):
        parts.append(f"held-out loss {loss:.3f}")
    return ", ".join(parts)


def run_train(args: argparse.Namespace) -> int:
    """Train and print where the weights are."""
    from hsd_viz.ladder import train_ladder
    from hsd_viz.ladder.training.transport import split_weights, unpack_corpus

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
        steps=dict(_stage_steps(text) for text in args.steps),
        tokenizer=args.tokenizer,
    )
    print(weights)
    if args.parts is not None:
        print(*split_weights(args.out, args.parts), sep="\n")
    return 0


def _stage_steps(text: str) -> tuple[str, int]:
    """Parse ``STAGE=N``."""
    stage, _, number = text.partition("=")
    if not number.isdigit():
        raise ValueError(f"--steps {text!r} is not of the form STAGE=N, as in target=5000")
    return stage, int(number)


def _prompts() -> dict[str, list[str]]:
    """Return the prompts of the evaluation by kind."""
    from hsd_viz.prompts.suites import load_suite

    edits = [p.text for p in load_suite("python").prompts if p.category == "edit"]
    return {"heldout": [p.text for p in load_suite("heldout").prompts], "edit": edits}


def run_evaluate(args: argparse.Namespace) -> int:
    """Measure the models and print the table of goals."""
    from hsd_viz.ladder.training.evaluation import evaluate_ladder, table

    if args.threads:
        import torch

        torch.set_num_threads(args.threads)
    before = json.loads(args.before.read_text()) if args.before else None
    found = evaluate_ladder(args.trained, args.weights, out=args.out, prompts=_prompts(), windows=args.windows)
    print(table(found, before))
    return 0


def run_rebuild(args: argparse.Namespace) -> int:
    """Install the weights where requested, then build what depends on them, step by step."""
    from hsd_viz.ladder import evaluate_ladder, write_card
    from hsd_viz.ladder.load import weights_dir
    from hsd_viz.ladder.training.databases import rebuild_databases

    traces.recorder()  # fails before anything is written if this is not a checkout
    data = None
    if args.trained is not None:
        source, data = args.trained / "weights", args.trained / "data"
        if not (source / "target" / "config.json").is_file():
            raise ValueError(
                f"{args.trained} contains no trained ladder: {source / 'target' / 'config.json'} does not exist"
            )
        _step("installing the models")
        for model in sorted(p for p in source.iterdir() if (p / "config.json").is_file()):
            shutil.rmtree(weights_dir() / model.name, ignore_errors=True)
            shutil.copytree(model, weights_dir() / model.name)
        _step("evaluating them on held-out text")
        evaluate_ladder(args.trained, weights_dir(), prompts=_prompts())
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
