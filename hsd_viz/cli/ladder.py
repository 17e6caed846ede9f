"""``hsd-viz ladder``: the shipped models, and how they are trained."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli.shared import print_json
from hsd_viz.errors import UserError
from hsd_viz.settings.declare import CliOption, Setting

ROOT = Path(__file__).resolve().parents[2]


def info(
    *,
    json_: A[bool, Setting("print everything known as one JSON object")] = False,
) -> None:
    """Show sizes, training and quality of the shipped models."""
    from hsd_viz import ladder
    from hsd_viz.results.page import lines

    facts = ladder.info()
    if json_:
        print_json(facts)
        return
    if not facts["models"]:
        raise UserError(
            "this installation contains no models: train them with `hsd-viz ladder train`"
        )
    print("\n".join(lines("ladder.jinja", facts=facts, evaluation=facts.get("evaluation", {}))))


def train(
    rest: A[tuple[str, ...], Setting("as of python -m training train", CliOption("OPTION"))] = (),
) -> int:
    """Train a ladder: the target, then both drafts."""
    if not (ROOT / "training").is_dir():
        raise UserError(f"this needs a checkout of the project: {ROOT / 'training'} does not exist")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module("training.__main__").main(["train", *rest])
