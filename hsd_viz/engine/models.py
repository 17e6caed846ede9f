"""The models of an engine, each in the fastest runtime that it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hsd_viz.decoding.session import Model
from hsd_viz.engine.access import Access
from hsd_viz.engine.device import find_device
from hsd_viz.engine.once import Made, key_of, once
from hsd_viz.engine.opened import OpenedModels
from hsd_viz.engine.vocabularies import Vocabularies
from hsd_viz.errors import Unsupported, UserError
from hsd_viz.models.families import DEFAULT, LEVELS, Family, find_family
from hsd_viz.models.files import ModelFiles
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import STORAGE, Weights
from hsd_viz.stack import split_copy

if TYPE_CHECKING:
    from hsd_viz.torch_models.compiled import CompiledModel


@dataclass(frozen=True, slots=True)
class RuntimeModel:
    """A model in the fastest runtime.

    Attributes:
        model: the model.
        note: why it is in a slow runtime, if so.
    """

    model: Model
    note: str | None = None


class EngineModels(OpenedModels):
    """The models of one engine: a target and its draft models, on one device and in one type.

    Each is in the fastest runtime: ``native`` on the CPU for those of a form that it has (without a
    compiler ``numpy``), ``compiled`` on a GPU, else ``eager``. Safe for several threads.

    Attributes:
        target: what ``target`` means.
        dtype: the type of weights; on the CPU by default int8 for the shipped models, else float32.
        build: the build of the native library; ``None`` with the runtime ``eager``. Drafting is the
            processor's work wherever the models are.
        compiled: the models of ``torch.compile``.
    """

    def __init__(
        self,
        target: str = LEVELS[-1],
        *,
        device: str | None = None,
        dtype: str | None = None,
        allow_models: bool = True,
        bridge: str | None = None,
        runtime: str = "auto",
        build: Build | None = None,
        family: str | Family = DEFAULT,
    ) -> None:
        """Check the options; models load when they are first asked for.

        ``allow_models=False`` refuses all models but those of the family. ``bridge`` forces how a
        model with another tokenizer drafts, one of
        :data:`~hsd_viz.settings.engine_choices.BRIDGES`. ``runtime="eager"`` requests transformers'
        own forward passes for all, ``"compiled"`` those of ``torch.compile``, ``"strict"`` rows
        that do not depend on what is fed with them: native rows never do, and others are compiled
        for one width.

        Raises:
            UserError: if a name is not a model, or an option is invalid.
        """
        own_family = find_family(family)
        access = Access.of(allow_models, own_family.names)
        super().__init__(own_family, access, find_device(device))
        if dtype == "int8" and self.device.startswith("cuda"):
            raise UserError("int8 is for the CPU: on a GPU use bfloat16")
        self.target = target
        self._bridge = bridge
        self._runtime = runtime
        self.build = None if runtime == "eager" else (build or default_build()).start()
        self.compiled: list[CompiledModel] = []
        self.where(target)
        self.dtype = dtype or self._default_dtype()

    def fast(self, name: str) -> Model:
        """Return the model of that name in the fastest runtime."""
        return self.pick(name).model

    def pick(self, name: str) -> RuntimeModel:
        """Return a model or a copy in the fastest runtime, and why that is a slow one, if so."""
        return self._picked(self._without_own_type(name))

    def loaded(self, name: str) -> bool:
        """Return whether the model or copy of that name is loaded."""
        return key_of(self, Made.PICKED, self._without_own_type(name)) in self.results

    @property
    def vocabularies(self) -> Vocabularies:
        """The vocabularies of these models."""
        return Vocabularies(self, self._bridge)

    def close(self) -> None:
        """Forget all models; their memory is free once no decode uses them."""
        self.results.clear()
        self.compiled.clear()

    # --- inside -----------------------------------------------------------------------------------

    def _default_dtype(self) -> str:
        if self.device.startswith("cuda"):
            return "bfloat16"
        by_torch = self._runtime in ("eager", "compiled") and self.target not in self.family.models
        is_native = isinstance(self.files(self.target), ModelFiles)
        return "int8" if is_native and not by_torch else "float32"

    def _without_own_type(self, name: str) -> str:
        """Return the name of what is loaded: a copy of the engine's own type is the model."""
        original, copied = split_copy(name)
        return original if copied == self.dtype else name

    def compiling(self) -> Iterator[str]:
        """Yield what is being compiled, about once per second, until the native runtime is ready or
        known to be absent.
        """
        while self.build is not None and self.build.compiling:
            yield "compiling the native runtime"
            self.build.wait(1.0)

    @once(Made.PICKED, of_copies=True)
    def _picked(self, name: str) -> RuntimeModel:
        original, copied = split_copy(name)
        if copied is None:
            return self._pick_original(original)
        return self._pick_copy(original, copied)

    def _pick_original(self, name: str) -> RuntimeModel:
        files = self.files(name)
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
        """Return a model with weights of another type than the target's.

        Raises:
            Unsupported: if the native runtime cannot have it.
        """
        files = self.files(name)
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
        """Return a model in the native runtime, in numpy where that cannot be compiled."""
        assert self.build is not None
        tokens = self.text(files.name).size
        weights = Weights(files.name, files.form, files.tensors, dtype, tokens)
        if self.build.wait():
            return RuntimeModel(NativeModel(weights, self.build))
        from hsd_viz.native.reference import ReferenceModel

        return RuntimeModel(ReferenceModel(weights), self.build.reason)

    def _in_torch(self, name: str, note: str | None) -> RuntimeModel:
        """Return a model as a module of transformers, compiled where that is wanted."""
        model = self.module(name)
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
