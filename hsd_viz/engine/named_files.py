"""The files of models, found by the names of the models in stacks."""

from __future__ import annotations

from pathlib import Path

from hsd_viz.engine.access import Access
from hsd_viz.engine.result_cache import ResultCache, ResultKind, once
from hsd_viz.errors import Unsupported, UserError
from hsd_viz.latency.configs import is_draft_head
from hsd_viz.models.config import read_config
from hsd_viz.models.families import LEVELS, Family
from hsd_viz.models.files import GGUF, ModelFiles, cached_folder, open_model, weights_hash
from hsd_viz.stack import split_copy


class NamedFiles:
    """The files of models by name. Safe for several threads.

    Attributes:
        family: the family of models with short names.
        results: what was made of the files.
    """

    def __init__(self, family: Family, access: Access) -> None:
        self.family = family
        self.results = ResultCache()
        self._access = access

    def location(self, name: str) -> str:
        """Return the folder, the GGUF file or the hub id of a model.

        Raises:
            UserError: if the name is not a model, or is not allowed here.
        """
        return _location(name, self.family, self._access)

    @once(ResultKind.FILES)
    def open(self, name: str) -> ModelFiles | str:
        """Return the files of a model, or a one-line reason why the native runtime cannot run it.

        Raises:
            BadFile: if a file is damaged or does not match the configuration.
        """
        location = self.location(name)
        folder: Path | None = Path(location)
        if not Path(location).is_absolute():
            folder = cached_folder(location)
        if folder is None:
            return f"{name} is not in the local cache"
        try:
            return open_model(folder, name)
        except Unsupported as error:
            if folder.suffix == GGUF:
                raise
            return str(error)

    @once(ResultKind.HASH)
    def hash(self, name: str) -> str | None:
        """Return a short hash of a model's weights; ``None`` if they are not local files."""
        files = self.open(name)
        if isinstance(files, ModelFiles):
            return weights_hash(files.tensors.files)
        shards = [*Path(self.location(name)).glob("*.safetensors")]
        return weights_hash(shards) if shards else None


def _location(name: str, family: Family, access: Access) -> str:
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
