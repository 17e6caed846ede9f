"""``hsd-viz ladder``: the shipped family of small models; training it needs a checkout of the project."""

import json
from typing import Annotated as A
from typing import Any

from hsd_viz.cli.arguments import checkout


def info(*, json_: A[bool, "print everything known as one JSON object"] = False) -> None:
    """Show sizes, training and quality of the shipped models."""
    from hsd_viz import ladder

    facts = ladder.info()
    if json_:
        print(json.dumps(facts))
        return
    if not facts["models"]:
        raise ValueError("this installation contains no models: train them with `hsd-viz ladder train`")
    evaluation = facts.get("evaluation", {})
    for name, row in facts["models"].items():
        print(_line(name, row, evaluation.get("models", {}).get(name, {})))
    for pair, row in evaluation.get("pairs", {}).items():
        agreement = f"Σ min(p, q) {row['overlap']:.3f}, greedy agreement {row['greedy_agreement']:.3f}"
        print(f"{pair.replace('/', ' → ')}: {agreement}")
    labels = {
        "repetition": "greedy repetition",
        "copied": "copied after edit prompts",
        "parsed": "lines in valid blocks",
    }
    shares = {label: evaluation.get("writing", {}).get(key) for key, label in labels.items()}
    if shown := [f"{label} {share:.0%}" for label, share in shares.items() if share is not None]:
        print(f"target writes: {', '.join(shown)}")
    if total := facts.get("corpus", {}).get("total", {}):
        print(f"corpus: {total['files']} files, {total['bytes'] / 1e6:.1f} MB; {total['heldout_files']} files held out")


def _line(name: str, row: dict[str, Any], measured: dict[str, Any]) -> str:
    shape = f"{row['parameters'] / 1e6:5.1f} M parameters, {row['layers']} layers x {row['width']}"
    parts = [f"{name:<7} {shape}", f"weights {row['hash']}"]
    if tokens := row.get("training", {}).get("tokens"):
        parts.append(f"trained on {tokens / 1e6:.1f} M tokens")
    if loss := measured.get("loss"):
        parts.append(f"held-out loss {loss:.3f}")
    return ", ".join(parts)


def train(*options: str) -> int:
    """Train a ladder: the target, then both drafts."""
    return checkout("training.__main__").main(["train", *options])


def evaluate(*options: str) -> int:
    """Measure a trained ladder and print its goals."""
    return checkout("training.__main__").main(["evaluate", *options])


def rebuild(*options: str) -> int:
    """Rebuild what depends on the shipped weights."""
    return checkout("training.__main__").main(["rebuild", *options])
