"""The models of an engine, each in the fastest runtime that can run it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hsd_viz.decoding.session import Model
from hsd_viz.decoding.text import TokenText
from hsd_viz.engine.access import Access
from hsd_viz.engine.device import find_device
from hsd_viz.engine.named_files import NamedFiles
from hsd_viz.engine.opened_models import OpenedModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.engine.result_cache import ResultCache, ResultKind, key_of, once
from hsd_viz.engine.vocabularies import Vocabularies
from hsd_viz.errors import Unsupported, UserError
from hsd_viz.models.families import Family, find_family
from hsd_viz.models.files import ModelFiles
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import STORAGE, Weights
from hsd_viz.stack import split_copy

if TYPE_CHECKING:
    from hsd_viz.torch_models.compiled import CompiledModel


@dataclass(frozen=True, slots=True)
class RuntimeModel:
    """A model in the fastest runtime that can run it.

    Attributes:
        model: the model.
        note: the reason for a slow runtime; ``None`` if the runtime is fast.
    """

    model: Model
    note: str | None = None


class EngineModels:
    """The models of an engine: a target and its draft models, on a device and in a number type.

    Each model uses the fastest runtime: ``native`` on the CPU for supported architectures (or
    ``numpy`` without a compiler), ``compiled`` on a GPU, else ``eager``. Safe for several threads.

    Models are loaded on first use.

    Args:
        options: the models, and the machine that runs them. The runtime ``eager`` takes the forward
            passes of transformers, ``compiled`` those of ``torch.compile``. ``strict`` takes rows
            that do not depend on the tokens fed with them: native rows never depend on them, and
            other models are compiled for a single width.
        build: the build of the native library; by default the shared one.

    Attributes:
        files: the files of the models.
        opened: the tokenizers and the transformers modules of the models.
        target: the model that ``target`` refers to.
        device: ``cpu`` or ``cuda``; by default the fastest.
        dtype: the number type of weights; by default bfloat16 on a GPU, and on the CPU int8 for
            models that the native runtime supports, else float32.
        build: the build of the native library, which also drafts for models on a GPU; ``None`` with
            the runtime ``eager``.
        compiled: the models that ``torch.compile`` runs.

    Raises:
        UserError: if a name is not a model, or if an option is invalid.
    """

    def __init__(self, options: EngineOptions, build: Build | None = None) -> None:
        family = find_family(options.family)
        self.files = NamedFiles(family, Access.of(options.allow_models, family.names))
        self.target = options.target
        self.device = find_device(options.device)
        if options.dtype == "int8" and self.device.startswith("cuda"):
            raise UserError("int8 is for the CPU: on a GPU use bfloat16")
        self._bridge = options.bridge
        self._runtime = options.runtime
        self.build: Build | None = None
        if options.runtime != "eager":
            self.build = (build or default_build()).start()
        self.compiled: list[CompiledModel] = []
        self.location(self.target)
        self.dtype: str = options.dtype or self._default_dtype()
        self.opened = OpenedModels(self.files, device=self.device, dtype=self.dtype)

    @property
    def family(self) -> Family:
        """The family of models with short names."""
        return self.files.family

    @property
    def results(self) -> ResultCache:
        """What was made of the files."""
        return self.files.results

    def location(self, name: str) -> str:
        """Return the folder, the GGUF file or the hub id of a model.

        Raises:
            UserError: if the name is not a model, or is not allowed here.
        """
        return self.files.location(name)

    def text(self, name: str) -> TokenText:
        """Return the tokenizer of a model."""
        return self.opened.text(name)

    def fast(self, name: str) -> Model:
        """Return a model in the fastest runtime that can run it."""
        return self.pick(name).model

    def pick(self, name: str) -> RuntimeModel:
        """Return a model or a copy in the fastest runtime, with the reason if that is slow."""
        return self._picked(self._name_to_load(name))

    def loaded(self, name: str) -> bool:
        """Return whether a model or a copy is loaded."""
        return key_of(self, ResultKind.PICKED, self._name_to_load(name)) in self.results

    @property
    def vocabularies(self) -> Vocabularies:
        """The vocabularies of the models."""
        return Vocabularies(self, self._bridge)

    def close(self) -> None:
        """Release all models; their memory is freed once no decode uses them."""
        self.results.clear()
        self.compiled.clear()

    # --- internals --------------------------------------------------------------------------------

    def _default_dtype(self) -> str:
        if self.device.startswith("cuda"):
            return "bfloat16"
        by_torch = self._runtime in ("eager", "compiled") and self.target not in self.family.models
        is_native = isinstance(self.files.open(self.target), ModelFiles)
        return "int8" if is_native and not by_torch else "float32"

    def _name_to_load(self, name: str) -> str:
        """Return the name of the model to load: a copy in the engine's own type is the original."""
        original, copied = split_copy(name)
        return original if copied == self.dtype else name

    def compiling(self) -> Iterator[str]:
        """Yield a status text about once per second while the native runtime is being compiled."""
        while self.build is not None and self.build.compiling:
            yield "compiling the native runtime"
            self.build.wait(1.0)

    @once(ResultKind.PICKED, of_copies=True)
    def _picked(self, name: str) -> RuntimeModel:
        original, copied = split_copy(name)
        if copied is None:
            return self._pick_original(original)
        return self._pick_copy(original, copied)

    def _pick_original(self, name: str) -> RuntimeModel:
        files = self.files.open(name)
        note: str | None = None
        if isinstance(files, str) and self.dtype == "int8" and name == self.target:
            raise UserError(f"{name} has no int8 here: use float32: {files}")
        wanted = self._runtime in ("auto", "strict") and self.device == "cpu"
        is_native = self.dtype in STORAGE and isinstance(files, ModelFiles)
        if is_native and wanted and self.build is not None:
            assert isinstance(files, ModelFiles)
            if self.build.wait() or self.dtype == "int8":
                return self._native(files, self.dtype)
            note = self.build.reason
        elif wanted and isinstance(files, str):
            note = files
        return self._in_torch(name, note)

    def _pick_copy(self, name: str, dtype: str) -> RuntimeModel:
        """Return a copy of a model whose weights have another type than the target's.

        Raises:
            Unsupported: if the native runtime cannot run it.
        """
        files = self.files.open(name)
        reason: str | None = None
        if isinstance(files, str):
            reason = files
        elif self.build is None or self.device != "cpu" or self._runtime == "compiled":
            reason = "this decode runs in torch"
        elif self.dtype not in STORAGE:
            reason = f"the native runtime has no {self.dtype} for the target"
        elif not self.build.wait():
            reason = self.build.reason
        if reason is not None:
            raise Unsupported(f"{name}[{dtype}] needs the native runtime: {reason}")
        assert isinstance(files, ModelFiles)
        picked = self._native(files, dtype)
        picked.model.name = f"{name}[{dtype}]"
        return picked

    def _native(self, files: ModelFiles, dtype: str) -> RuntimeModel:
        """Return a model in the native runtime, or in numpy if that cannot be compiled."""
        assert self.build is not None
        tokens = self.text(files.name).size
        weights = Weights(files.name, files.form, files.tensors, dtype, tokens)
        if self.build.wait():
            return RuntimeModel(NativeModel(weights, self.build))
        from hsd_viz.native.reference import ReferenceModel

        return RuntimeModel(ReferenceModel(weights), self.build.reason)

    def _in_torch(self, name: str, note: str | None) -> RuntimeModel:
        """Return a model as a module of transformers, compiled if the runtime requires it."""
        model = self.opened.module(name)
        on_gpu = self._runtime == "auto" and model.device.type == "cuda"
        if self._runtime not in ("compiled", "strict") and not on_gpu:
            return RuntimeModel(model, note)
        from hsd_viz.torch_models.alone import DeviceModel

        try:
            compiled = DeviceModel(model, strict=self._runtime == "strict")
        except UserError as error:
            if self._runtime == "strict":
                raise
            return RuntimeModel(model, str(error))
        self.compiled.append(compiled)
        return RuntimeModel(compiled)
