"""``hsd-viz ladder``: the shipped family of small models; training, evaluating, rebuilding and exporting it."""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments, traces
from hsd_viz.cli.arguments import folder_name, number, option
from hsd_viz.ladder.training.recipe import PROFILES, STAGES
from hsd_viz.machine import MAX_THREADS

_EPILOG = """\
examples:
  hsd-viz ladder info
  hsd-viz ladder train --profile cpu --out my-ladder
  hsd-viz ladder evaluate --trained my-ladder
  hsd-viz ladder rebuild --trained my-ladder
  hsd-viz ladder rebuild recordings card
  hsd-viz ladder export --gguf folder/            # target.gguf, small.gguf and nano.gguf for llama.cpp

Training reads permissively licensed Python source found on this machine. The same command resumes a stopped run.
"""


def add(commands: argparse._SubParsersAction) -> None:
    about = "The shipped family of small models; training, evaluating, rebuilding and exporting it."
    text = "the shipped models: info, train, evaluate, rebuild, export"
    parser = arguments.add_command(commands, "ladder", text, about=about, epilog=_EPILOG)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    def action(name: str, text: str, about: str, run: Callable) -> Callable[..., Any]:
        return partial(option, arguments.add_command(actions, name, text, run, about=about, epilog=_EPILOG))

    add = action("info", "sizes, training and quality", "Show the shipped models.", run_info)
    add("--json", "print everything known as one JSON object", action="store_true")
    _add_train(action("train", "train a ladder", "Train a ladder: the target, then both drafts.", run_train))
    add = action("evaluate", "measure a ladder", "Measure a trained ladder and print its goals.", run_evaluate)
    add("--trained DIR", "the folder of the training run", Path, required=True)
    add("--weights DIR", "the models to measure (default: those trained in DIR)", Path)
    add("--windows N", "windows of held-out text (default 48)", number(1, 100_000), default=48)
    add("--before FILE", "an evaluation.json to print beside the result", Path)
    add("--out FILE", "write the result here, not beside the models", Path)
    add("--threads N", "CPU threads", number(1, MAX_THREADS))
    about = (
        "Rebuild what depends on the shipped weights, in a checkout of the project. An interrupted rebuild resumes; parts "
        "that are named are always rebuilt."
    )
    add = action("rebuild", "rebuild what depends on the weights", about, run_rebuild)
    add("parts PART", "only these parts (see --list)", nargs="*")
    add("--trained DIR", "first install the models trained in DIR; evaluate them on its text", Path)
    add("--list", "list the parts and whether they were rebuilt, and exit", action="store_true")
    add = action("export", "write models for llama.cpp", "Write models as GGUF files, for llama.cpp.", run_export)
    add("models MODEL", "ladder names or checkpoint folders (default: the whole ladder)", nargs="*")
    add("--gguf DIR", "write MODEL.gguf to this folder", folder_name, required=True)
    text = "data type of the matrices; float32 has the arithmetic of this project (default float16)"
    add("--dtype", text, choices=("float16", "bfloat16", "float32"), default="float16")


def _add_train(add: Callable[..., Any]) -> None:
    text = "cpu: two hours on two cores; long: ten hours; gpu: minutes on a large GPU; tiny: seconds (default cpu)"
    add("--profile", text, choices=PROFILES, default="cpu")
    add("--out DIR", "the folder for checkpoints, data and weights", Path, required=True)
    add("--stages A,B", "which of target and drafts (default both)", default=",".join(STAGES))
    add("--steps STAGE=N", "steps of a stage instead of the profile's", action="append", default=[])
    add("--tokenizer DIR", "use this tokenizer instead of training one", Path)
    add("--seed N", "seed of the initial weights and the text order (default 0)", number(0, 2**63 - 1), default=0)
    add("--device", "default cpu", choices=("cpu", "cuda"), default="cpu")
    add("--threads N", "CPU threads", number(1, MAX_THREADS))
    add("--minutes N", "time limit; the training is shortened to fit", float)
    add("--fresh", "start again instead of resuming", action="store_true")
    add("--corpus FILE", "use this packed corpus instead of this environment's", Path)
    add("--parts DIR", "also write the weights as files of at most 15 MiB", Path)


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
    from hsd_viz.ladder.training.storage import split_weights, unpack_corpus

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


def run_evaluate(args: argparse.Namespace) -> int:
    """Measure the models and print the table of goals."""
    from hsd_viz.ladder.training.evaluation import evaluate_ladder, suite_prompts, table

    if args.threads:
        import torch

        torch.set_num_threads(args.threads)
    before = json.loads(args.before.read_text()) if args.before else None
    found = evaluate_ladder(args.trained, args.weights, out=args.out, prompts=suite_prompts(), windows=args.windows)
    print(table(found, before))
    return 0


def run_rebuild(args: argparse.Namespace) -> int:
    """Rebuild the parts and print the paths of what was written."""
    tool = traces.checkout_tool("rebuild")
    if args.list:
        pending = tool.pending()
        for part, (what, _) in tool.PARTS.items():
            print(f"{part:<13} {'pending' if part in pending else 'done':<8} {what}")
        return 0
    for path in tool.rebuild(args.parts, args.trained, progress=arguments.status, say=arguments.say):
        print(path)
    return 0


def run_export(args: argparse.Namespace) -> int:
    """Write the models as GGUF files and print their paths."""
    from hsd_viz.ladder import names
    from hsd_viz.ladder.gguf import write_gguf

    with arguments.writing(args.gguf):
        args.gguf.mkdir(parents=True, exist_ok=True)
        for model in args.models or names():
            print(write_gguf(model, args.gguf / f"{Path(model).name}.gguf", args.dtype))
    return 0
