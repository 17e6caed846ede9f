"""``hsd-viz ladder``: the shipped family of small models; training it needs a checkout of the project."""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import option

_EPILOG = """\
examples:
  hsd-viz ladder info
  hsd-viz ladder train --profile cpu --out my-ladder
  hsd-viz ladder evaluate --trained my-ladder
  hsd-viz ladder rebuild --trained my-ladder

train, evaluate and rebuild run `python -m training` in a checkout of the project; `hsd-viz ladder train --help` lists
their options. Training reads permissively licensed Python source found on this machine.
"""


def add(commands: argparse._SubParsersAction) -> None:
    text = "the shipped models: info, train, evaluate, rebuild"
    about = "The shipped family of small models; training, evaluating and rebuilding it."
    parser = arguments.add_command(commands, "ladder", text, about=about, epilog=_EPILOG)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    about = "Show the shipped models."
    parser = arguments.add_command(actions, "info", "sizes, training and quality", run_info, about=about)
    option(parser, "--json", "print everything known as one JSON object", action="store_true")
    for name, text in (
        ("train", "train a ladder: the target, then both drafts"),
        ("evaluate", "measure a trained ladder and print its goals"),
        ("rebuild", "rebuild what depends on the shipped weights"),
    ):
        # No prefix character: everything that follows belongs to `python -m training`.
        parser = actions.add_parser(name, help=text, add_help=False, prefix_chars="\0")
        parser.add_argument("rest", nargs="*", metavar="OPTION", help=f"see `python -m training {name} --help`")
        parser.set_defaults(run=run_training, action=name)


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


def run_training(args: argparse.Namespace) -> int:
    """Run a command of ``python -m training`` in the checkout that contains this package."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "training" / "__main__.py").is_file():
        raise ValueError(f"training needs a checkout of the project: {root / 'training'} does not exist")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module("training.__main__").main([args.action, *args.rest])
