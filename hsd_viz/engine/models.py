"""Load the models that stacks name, each once. Only here does a decode wait for disk or hub.

Llama-shaped models are opened by :mod:`hsd_viz.models`, and run in the native runtime where it has
their form; others need torch and transformers, which are imported on first use.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.text import TokenText
from hsd_viz.engine.access import Access
from hsd_viz.engine.device import find_device
from hsd_viz.engine.once import Made, Results, key_of, once
from hsd_viz.engine.places import place_of
from hsd_viz.engine.vocabularies import Vocabularies
from hsd_viz.engine_choices import BRIDGES, RUNTIMES
from hsd_viz.engine_choices import DTYPES as NUMBER_TYPES
from hsd_viz.errors import MissingPackage, PromptError, PromptTooLong, Unsupported, UserError
from hsd_viz.models.families import DEFAULT, LEVELS, Family, find_family
from hsd_viz.models.files import GGUF, ModelFiles, cached_folder, open_model, weights_hash
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import STORAGE, Weights
from hsd_viz.stack import split_copy
from hsd_viz.trace import Stage
from hsd_viz.words import did_you_mean

if TYPE_CHECKING:
    from hsd_viz.torch_models.compiled import CompiledModel
    from hsd_viz.torch_models.eager import HFModel
    from hsd_viz.torch_models.load import Checkpoint

#: The types of weights, and of the module that has them: int8 is the native runtime's and numpy's,
#: see ``docs/reference/arithmetic.md``; the module has the same weights widened.
DTYPES = {name: "float32" if name == "int8" else name for name in NUMBER_TYPES}


@dataclass(frozen=True, slots=True)
class RuntimeModel:
    """A model in the fastest runtime.

    Attributes:
        model: the model.
        note: why it is in a slow runtime, if so.
    """

    model: Model
    note: str | None = None


@dataclass(frozen=True, slots=True)
class StackModels:
    """The models of a stack.

    Attributes:
        models: by level, the target last.
        note: why some are in a slow runtime, if so.
        bridges: by name, what a trace says of models with another vocabulary than the target's.
    """

    models: list[Model]
    note: str | None
    bridges: dict[str, dict[str, int | str]]


class EngineModels:
    """The models of one engine: a target and its draft models, on one device and in one type.

    Each is in the fastest runtime: ``native`` on the CPU for those of a form that it has (without a
    compiler ``numpy``), ``compiled`` on a GPU, else ``eager``. Safe for several threads.

    Attributes:
        family: the family whose models have short names.
        target: what ``target`` means.
        device: ``cpu`` or ``cuda``.
        dtype: the type of weights; on the CPU by default int8 for the shipped models, else float32.
        build: the build of the native library; ``None`` with the runtime ``eager``. Drafting is the
            processor's work wherever the models are.
        compiled: the models of ``torch.compile``.
        results: what was made of the models' files.
    """

    def __init__(
        self,
        target: str = LEVELS[-1],
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
        model with another tokenizer drafts, one of :data:`~hsd_viz.engine_choices.BRIDGES`.
        ``runtime="eager"`` requests transformers' own forward passes for all, ``"compiled"`` those
        of ``torch.compile``, ``"strict"`` rows that do not depend on what is fed with them: native
        rows never do, and others are compiled for one width.

        Raises:
            UserError: if a name is not a model, or an option is invalid.
        """
        _check_option("bridge", bridge, BRIDGES)
        _check_option("runtime", runtime, RUNTIMES)
        _check_option("dtype", dtype, DTYPES)
        self.family = find_family(family)
        self.target = target
        self.device = find_device(device)
        on_gpu = self.device.startswith("cuda")
        if dtype == "int8" and on_gpu:
            raise UserError("int8 is for the CPU: on a GPU use bfloat16")
        self._access = Access.of(allow_models, self.family.names)
        self._bridge = bridge
        self._runtime = runtime
        self.build = None if runtime == "eager" else (build or default_build()).start()
        self.compiled: list[CompiledModel] = []
        self.results = Results()
        self.where(target)
        self.dtype = dtype or self._default_dtype()

    def where(self, name: str) -> str:
        """Return the folder, the GGUF file or the hub id behind a name.

        Raises:
            UserError: if it is not a model, or is not allowed here.
        """
        return place_of(name, self.family, self._access)

    @once(Made.TEXT)
    def text(self, name: str) -> TokenText:
        """Return the tokenizer of a model."""
        files = self._files(name)
        if isinstance(files, ModelFiles):
            try:
                return TokenText(files.tokenizer())
            except Unsupported:
                if files.gguf is not None:
                    raise
        return TokenText(self._checkpoint(name).tokenizer())

    @once(Made.MODULE)
    def module(self, name: str) -> HFModel:
        """Return the model of that name as a module of transformers."""
        files = self._files(name)
        opened = files if isinstance(files, ModelFiles) else None
        return self._checkpoint(name).model(self.text(name).size, opened)

    @once(Made.HASH)
    def hash(self, name: str) -> str | None:
        """Return a short hash of the weights, ``None`` if they are not local files."""
        files = self._files(name)
        if isinstance(files, ModelFiles):
            return weights_hash(files.tensors.files)
        shards = [*Path(self.where(name)).glob("*.safetensors")]
        return weights_hash(shards) if shards else None

    def fast(self, name: str) -> Model:
        """Return the model of that name in the fastest runtime."""
        return self.pick(name).model

    def pick(self, name: str) -> RuntimeModel:
        """Return a model or a copy in the fastest runtime, and why that is a slow one, if so."""
        return self._picked(self._without_own_type(name))

    def loaded(self, name: str) -> bool:
        """Return whether the model or copy of that name is loaded."""
        return key_of(self, Made.PICKED, self._without_own_type(name)) in self.results

    def has_module(self, name: str) -> bool:
        """Return whether the model of that name is loaded as a module of transformers."""
        return key_of(self, Made.MODULE, split_copy(name)[0]) in self.results

    @property
    def vocabularies(self) -> Vocabularies:
        """The vocabularies of these models."""
        return Vocabularies(self, self._bridge)

    def load(
        self, chain: Sequence[str], ids: Sequence[int], sampling: Sampling, alone: bool
    ) -> Generator[Stage, None, StackModels]:
        """Load the models of a stack (``chain``, the target last) for a prompt of token ``ids``.

        Yields its stages. The lowest model drafts ``alone``: it may have another tokenizer than the
        target's. All others have its tokens by their ids, but for few.

        Raises:
            UserError: if the models do not fit together.
        """
        target = chain[-1]
        vocabularies = self.vocabularies
        self._check_copies(chain)
        for name in chain[alone:-1]:
            if not vocabularies.reads_ids(target, name):
                vocabularies.check_same(
                    target, name, ": such a model can only be the lowest level of a stack"
                )
        yield from self._load_all(chain)
        picked = [self.pick(name) for name in chain]
        models = [each.model for each in picked]
        self._check_prompt(target, ids)
        notes = sorted({each.note for each in picked if each.note})
        note = ", ".join(notes) or None
        if note is not None:
            in_numpy = any(model.runtime == "numpy" for model in models)
            slow = "in numpy" if in_numpy else "on the eager runtime"
            yield Stage(f"{note}: decoding {slow}")
        bridges: dict[str, dict[str, int | str]] = {}
        for level, name in enumerate(chain[:-1]):
            adapted = vocabularies.adapt(target, name, sampling)
            if adapted is None:
                continue
            yield Stage(adapted.message)
            models[level] = adapted.model
            bridges[name] = adapted.description
        return StackModels(models, note, bridges)

    def eos(self, target: str) -> frozenset[int]:
        """Return the tokens that end a text."""
        files = self._files(target)
        tokenizer: Any = self.text(target).tokenizer
        if isinstance(files, ModelFiles) and not self.has_module(target):
            return files.ends(tokenizer)
        ends = getattr(self.module(target).module.generation_config, "eos_token_id", None)
        if ends is None:
            ends = tokenizer.eos_token_id
        if ends is None:
            return frozenset()
        return frozenset(ends if isinstance(ends, list) else [ends])

    def close(self) -> None:
        """Forget all models; their memory is free once no decode uses them."""
        self.results.clear()
        self.compiled.clear()

    # --- inside -----------------------------------------------------------------------------------

    def _default_dtype(self) -> str:
        if self.device.startswith("cuda"):
            return "bfloat16"
        by_torch = self._runtime in ("eager", "compiled") and self.target not in self.family.models
        is_native = isinstance(self._files(self.target), ModelFiles)
        return "int8" if is_native and not by_torch else "float32"

    @once(Made.FILES)
    def _files(self, name: str) -> ModelFiles | str:
        """Return the files of a model, or in one line why it is not for the native runtime.

        Raises:
            BadFile: if a file is damaged or does not fit the model's form.
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

    def _check_copies(self, chain: Sequence[str]) -> None:
        """Raise ``UserError`` if a copy has the weights of the target in the target's own type."""
        target = self.where(chain[-1])
        for name in chain[:-1]:
            original, copied = split_copy(name)
            if copied == self.dtype and self.where(original) == target:
                raise UserError(
                    f"{name} is the target itself, whose weights are {self.dtype} here: "
                    "a copy of another type drafts for it, as int8 does under dtype bfloat16"
                )

    def _load_all(self, chain: Sequence[str]) -> Generator[Stage, None, None]:
        """Load models that are not loaded, and yield the stages of it."""
        if all(map(self.loaded, chain)):
            return
        while self.build is not None and self.build.compiling:
            yield Stage("compiling the native runtime")
            self.build.wait(1.0)
        for name in chain:
            yield Stage(f"loading {name}")
            self.pick(name)

    def _check_prompt(self, target: str, ids: Sequence[int]) -> None:
        """Raise ``PromptError`` if a prompt does not fit the target."""
        model = self.fast(target)
        if model.positions is not None and len(ids) >= model.positions:
            raise PromptTooLong(len(ids), model.positions)
        size = model.vocab_size
        if max(ids) >= size:
            text = self.text(target)
            token = f"the token {text.piece(max(ids))[0]!r} ({max(ids)})"
            raise PromptError(f"the prompt holds {token} and {target} knows {size} tokens only")

    @once(Made.CHECKPOINT)
    def _checkpoint(self, name: str) -> Checkpoint:
        """Return the checkpoint of transformers.

        Raises:
            MissingPackage: if torch or transformers is missing.
        """
        try:
            from hsd_viz.torch_models.load import Checkpoint
        except ModuleNotFoundError as error:
            files = self._files(name)
            reason = f" ({files})" if isinstance(files, str) else ""
            raise MissingPackage(
                f"{name} needs {error.name} here{reason}: "
                "install it with `pip install 'hsd-viz[models]'`"
            ) from None
        return Checkpoint(name, self.where(name), self.device, DTYPES[self.dtype])

    def _without_own_type(self, name: str) -> str:
        """Return the name of what is loaded: a copy of the engine's own type is the model."""
        original, copied = split_copy(name)
        return original if copied == self.dtype else name

    @once(Made.PICKED, of_copies=True)
    def _picked(self, name: str) -> RuntimeModel:
        original, copied = split_copy(name)
        if copied is None:
            return self._pick_original(original)
        return self._pick_copy(original, copied)

    def _pick_original(self, name: str) -> RuntimeModel:
        files = self._files(name)
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
        files = self._files(name)
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


def _check_option(name: str, value: str | None, allowed: Sequence[str] | Mapping) -> None:
    if value is not None and value not in allowed:
        hint = did_you_mean(value, allowed)
        raise UserError(f"unknown {name} {value!r}: it is one of {', '.join(allowed)}{hint}")
