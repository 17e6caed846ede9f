"""``hsd-viz ladder``: the shipped family of small models; training it needs a checkout of the project."""

import json
from typing import Annotated as A

from hsd_viz.cli.arguments import checkout


def info(*, json_: A[bool, "print everything known as one JSON object"] = False) -> None:
    """Show sizes, training and quality of the shipped models."""
    from hsd_viz import ladder
    from hsd_viz.tables import lines

    facts = ladder.info()
    if json_:
        print(json.dumps(facts))
        return
    if not facts["models"]:
        raise ValueError("this installation contains no models: train them with `hsd-viz ladder train`")
    print("\n".join(lines("ladder.jinja", facts=facts, evaluation=facts.get("evaluation", {}))))


def train(*options: str) -> int:
    """Train a ladder: the target, then both drafts."""
    return checkout("training.__main__").main(["train", *options])
