"""The contents of model files that an engine reads: tokenizers and modules.

Llama-shaped models are opened by :mod:`hsd_viz.models`; others need torch and transformers, which
are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hsd_viz.decoding.text import TokenText
from hsd_viz.engine.named_files import NamedFiles
from hsd_viz.engine.result_cache import ResultCache, ResultKind, key_of, once
from hsd_viz.errors import MissingPackage, Unsupported
from hsd_viz.models.files import ModelFiles
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
    """The tokenizers and the transformers modules of models by name. Safe for several threads.

    Args:
        files: the files of the models.
        device: ``cpu`` or ``cuda``.
        dtype: the number type of weights.
    """

    def __init__(self, files: NamedFiles, *, device: str, dtype: str) -> None:
        self._files = files
        self._device = device
        self._dtype = dtype

    @property
    def results(self) -> ResultCache:
        """What was made of the files."""
        return self._files.results

    def location(self, name: str) -> str:
        """Return the folder, the GGUF file or the hub id of a model."""
        return self._files.location(name)

    @once(ResultKind.TEXT)
    def text(self, name: str) -> TokenText:
        """Return the tokenizer of a model."""
        files = self._files.open(name)
        if isinstance(files, ModelFiles):
            try:
                return TokenText(files.tokenizer())
            except Unsupported:
                if files.gguf is not None:
                    raise
        return TokenText(self._checkpoint(name).tokenizer())

    def eos(self, target: str) -> frozenset[int]:
        """Return the tokens that end a text of a model."""
        files = self._files.open(target)
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
        files = self._files.open(name)
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
            files = self._files.open(name)
            reason = f" ({files})" if isinstance(files, str) else ""
            raise MissingPackage(
                f"{name} needs {error.name} here{reason}: "
                "install it with `pip install 'hsd-viz[models]'`"
            ) from None
        return Checkpoint(name, self.location(name), self._device, TORCH_TYPES[self._dtype])
