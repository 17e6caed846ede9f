"""``hsd-viz ladder``: the shipped models, and how they are trained."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli.shared import Json
from hsd_viz.errors import UserError
from hsd_viz.settings.declare import CliOption, Setting

ROOT = Path(__file__).resolve().parents[2]


def info(
    *,
    json_: Json = None,
) -> int:
    """Show sizes, training and quality of the shipped models."""
    from hsd_viz import ladder
    from hsd_viz.cli.facts import Facts
    from hsd_viz.results.page import lines
    from hsd_viz.results.result import print_result

    facts = ladder.info()
    if not facts["models"] and json_ is None:
        raise UserError(
            "this installation contains no models: train them with `hsd-viz ladder train`"
        )
    evaluation = facts.get("evaluation", {})
    text = lines("ladder.jinja", facts=facts, evaluation=evaluation)
    return print_result(Facts(facts, text), json=json_)


def train(
    rest: A[tuple[str, ...], Setting("as of python -m training train", CliOption("OPTION"))] = (),
) -> int:
    """Train a ladder: the target, then both drafts."""
    if not (ROOT / "training").is_dir():
        raise UserError(f"this needs a checkout of the project: {ROOT / 'training'} does not exist")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module("training.__main__").main(["train", *rest])
