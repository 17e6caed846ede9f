"""The contents of model files that an engine reads: tokenizers, hashes and modules.

Llama-shaped models are opened by :mod:`hsd_viz.models`; others need torch and transformers, which
are imported on first use.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.decoding.text import TokenText
from hsd_viz.engine.access import Access
from hsd_viz.engine.once import ResultKind, Results, key_of, once
from hsd_viz.engine.places import place_of
from hsd_viz.errors import MissingPackage, Unsupported
from hsd_viz.models.families import Family
from hsd_viz.models.files import GGUF, ModelFiles, cached_folder, open_model, weights_hash
from hsd_viz.settings.engine_choices import DTYPES
from hsd_viz.stack import split_copy

if TYPE_CHECKING:
    from hsd_viz.torch_models.eager import HFModel
    from hsd_viz.torch_models.load import Checkpoint

#: The type of a module's weights by the requested type. The types are equal except for int8, which
#: only the native runtime and numpy have (``docs/reference/arithmetic.md``): the module has the
#: same weights widened.
TORCH_TYPES = {name: "float32" if name == "int8" else name for name in DTYPES}


class OpenedModels:
    """The files, tokenizers, hashes and transformers modules of models, by name.

    Safe for several threads.

    Attributes:
        family: the family of models with short names.
        device: ``cpu`` or ``cuda``.
        dtype: the number type of weights, which is set before any weights are read.
        results: the cached results by kind and files.
    """

    dtype: str

    def __init__(self, family: Family, access: Access, device: str) -> None:
        self.family = family
        self.device = device
        self.results = Results()
        self._access = access

    def where(self, name: str) -> str:
        """Return the folder, the GGUF file or the hub id of a model.

        Raises:
            UserError: if the name is not a model, or is not allowed here.
        """
        return place_of(name, self.family, self._access)

    @once(ResultKind.FILES)
    def files(self, name: str) -> ModelFiles | str:
        """Return the files of a model, or a one-line reason why the native runtime cannot run it.

        Raises:
            BadFile: if a file is damaged or does not match the configuration.
        """
        where = self.where(name)
        folder: Path | None = Path(where)
        if not Path(where).is_absolute():
            folder = cached_folder(where)
        if folder is None:
            return f"{name} is not in the local cache"
        try:
            return open_model(folder, name)
        except Unsupported as error:
            if folder.suffix == GGUF:
                raise
            return str(error)

    @once(ResultKind.TEXT)
    def text(self, name: str) -> TokenText:
        """Return the tokenizer of a model."""
        files = self.files(name)
        if isinstance(files, ModelFiles):
            try:
                return TokenText(files.tokenizer())
            except Unsupported:
                if files.gguf is not None:
                    raise
        return TokenText(self._checkpoint(name).tokenizer())

    @once(ResultKind.HASH)
    def hash(self, name: str) -> str | None:
        """Return a short hash of a model's weights; ``None`` if they are not local files."""
        files = self.files(name)
        if isinstance(files, ModelFiles):
            return weights_hash(files.tensors.files)
        shards = [*Path(self.where(name)).glob("*.safetensors")]
        return weights_hash(shards) if shards else None

    def eos(self, target: str) -> frozenset[int]:
        """Return the tokens that end a text of a model."""
        files = self.files(target)
        tokenizer: Any = self.text(target).tokenizer
        if isinstance(files, ModelFiles) and not self.has_module(target):
            return files.ends(tokenizer)
        ends = getattr(self.module(target).module.generation_config, "eos_token_id", None)
        if ends is None:
            ends = tokenizer.eos_token_id
        if ends is None:
            return frozenset()
        return frozenset(ends if isinstance(ends, list) else [ends])

    @once(ResultKind.MODULE)
    def module(self, name: str) -> HFModel:
        """Return a model as a module of transformers."""
        files = self.files(name)
        opened = files if isinstance(files, ModelFiles) else None
        return self._checkpoint(name).model(self.text(name).size, opened)

    def has_module(self, name: str) -> bool:
        """Return whether a model is loaded as a module of transformers."""
        return key_of(self, ResultKind.MODULE, split_copy(name)[0]) in self.results

    @once(ResultKind.CHECKPOINT)
    def _checkpoint(self, name: str) -> Checkpoint:
        """Return the transformers checkpoint of a model.

        Raises:
            MissingPackage: if torch or transformers is missing.
        """
        try:
            from hsd_viz.torch_models.load import Checkpoint
        except ModuleNotFoundError as error:
            files = self.files(name)
            reason = f" ({files})" if isinstance(files, str) else ""
            raise MissingPackage(
                f"{name} needs {error.name} here{reason}: "
                "install it with `pip install 'hsd-viz[models]'`"
            ) from None
        return Checkpoint(name, self.where(name), self.device, TORCH_TYPES[self.dtype])
