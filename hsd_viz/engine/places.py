"""Locate the files of a model by its name in a stack."""

from __future__ import annotations

from pathlib import Path

from hsd_viz.engine.access import Access
from hsd_viz.errors import Unsupported, UserError
from hsd_viz.latency.configs import is_draft_head
from hsd_viz.models.config import read_config
from hsd_viz.models.families import LEVELS, Family
from hsd_viz.models.files import GGUF
from hsd_viz.stack import split_copy


def place_of(name: str, family: Family, access: Access) -> str:
    """Return the folder, the GGUF file or the hub id of a model.

    A copy of a model has the files of the original.

    Raises:
        UserError: if the name is not a model, or is not allowed.
    """
    original, copied = split_copy(name)
    if copied is not None:
        # A copy takes memory of its own, so it needs the same permission as other models.
        access.check("model", name)
    name = original
    if name in LEVELS or name in family.models:
        return str(family.path(name))
    is_path = name.startswith(("./", "../", "/", "~"))
    present = ", ".join(family.names)
    if not is_path and name.count("/") != 1:
        raise UserError(
            f"unknown model '{name}': the family {family.name} has {present}; "
            "others are hub ids with one '/' or paths"
        )
    access.check("model", name)
    if not is_path:
        return name
    path = Path(name).expanduser()
    is_model = path.suffix == GGUF and path.is_file()
    if not is_model and not (path / "config.json").is_file():
        raise UserError(
            f"{name} is not a model: a model is a folder with a config.json and weights, "
            "or a GGUF file"
        )
    if not is_model and is_draft_head(read_config(path)):
        raise Unsupported(
            f"{name} is a draft head: draft heads run in serving engines only; "
            "`hsd-viz predict` reads its config.json"
        )
    return str(path.absolute())
