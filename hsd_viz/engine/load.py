"""Loading what a stack names, once each: the only place of a decode with disk, hub and waiting.

The native runtime runs models of the ladder's form; others need torch and transformers, imported on first use.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hsd_viz.decoding.sampling import BRIDGES, PromptTooLong, Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.text import TokenText, differing_tokens
from hsd_viz.dtypes import DTYPES as NUMBER_TYPES
from hsd_viz.engine.access import Access
from hsd_viz.errors import UserError
from hsd_viz.ladder.load import LadderTokenizer, model_path, names, weights_hash
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import STORAGE, load, read_config
from hsd_viz.trace import Stage
from hsd_viz.words import did_you_mean

if TYPE_CHECKING:
    from hsd_viz.decoding.bridge import Bridge
    from hsd_viz.torch_models.compiled import CompiledModel
    from hsd_viz.torch_models.eager import HFModel
    from hsd_viz.torch_models.load import Checkpoint

#: The types of weights, and of the module that has them: int8 is the native runtime's and numpy's, see
#: ``docs/reference/arithmetic.md``; the module has the same weights widened.
DTYPES = {name: "float32" if name == "int8" else name for name in NUMBER_TYPES}
RUNTIMES = ("auto", "eager", "compiled", "strict")
T = TypeVar("T")


def once(make: Callable[..., T]) -> Callable[..., T]:
    """Have what a method makes of models made once for their checkpoints."""

    @functools.wraps(make)
    def made(self: Models, *names: str) -> T:
        key = (make.__name__, *map(self.where, names))
        with self._lock:
            if key not in self._made:
                self._made[key] = make(self, *names)
            return self._made[key]

    return made


class Models:
    """The models of one engine: a target and its draft models, on one device and dtype, each in the fastest runtime:
    ``native`` on the CPU for those of the ladder's form (without a compiler ``numpy``), ``compiled`` on a GPU, else
    ``eager``. Safe for several threads. ``allow_models=False`` refuses everything but ladder names. ``bridge`` forces
    how a model with another tokenizer drafts, one of :data:`~hsd_viz.decoding.sampling.BRIDGES`. ``runtime="eager"``
    requests transformers' own forward passes for all, ``"compiled"`` those of ``torch.compile``, ``"strict"`` rows that
    do not depend on what is fed with them: native rows never do, and others are compiled for one width. Raises:
    ValueError: if a name is not a model, or an option is invalid.
    """

    def __init__(
        self,
        target: str,
        device: str | None = None,
        dtype: str | None = None,
        allow_models: bool = True,
        bridge: str | None = None,
        runtime: str = "auto",
        build: Build | None = None,
    ) -> None:
        given = (
            ("bridge", bridge, BRIDGES),
            ("runtime", runtime, RUNTIMES),
            ("dtype", dtype, DTYPES),
        )
        for option, value, allowed in given:
            if value not in (None, *allowed):
                hint = did_you_mean(value, allowed)
                raise UserError(
                    f"unknown {option} {value!r}: it is one of {', '.join(allowed)}{hint}"
                )
        self.device = _device(device)
        on_gpu = self.device.startswith("cuda")
        if dtype == "int8" and on_gpu:
            raise UserError("int8 is for the CPU: on a GPU use bfloat16")
        #: The type of weights; on the CPU by default that in which each model is: int8 for the ladder, else float32.
        self.dtype = dtype or ("bfloat16" if on_gpu else "int8" if target in names() else "float32")
        self._access, self._bridge, self._runtime = Access.of(allow_models), bridge, runtime
        #: The build of the native library; drafting is the processor's work wherever the models are.
        self.build = None if runtime == "eager" else (build or default_build()).start()
        #: What was made of checkpoints, by what it is and the directories or hub ids.
        self._made: dict[tuple[str, ...], Any] = {}
        self.compiled: list[CompiledModel] = []
        self._lock = threading.RLock()
        self.target = target
        self.where(target)

    def where(self, name: str) -> str:
        """Return the checkpoint directory or hub id behind a name."""
        if name in names():
            return str(model_path(name))
        named = name.startswith(("./", "../", "/", "~"))
        ladder = ", ".join(names())
        if not named and name.count("/") != 1:
            others = "others are hub ids with one '/' or paths"
            raise UserError(f"unknown model '{name}': the ladder has {ladder}; {others}")
        self._access.check("model", name)
        if not named:
            return name
        path = Path(name).expanduser()
        if not (path / "config.json").is_file():
            raise UserError(
                f"{name} is not a model: a model is a folder with a config.json and weights"
            )
        return str(path.absolute())

    @once
    def text(self, name: str) -> TokenText:
        """Return the tokenizer of a model."""
        return TokenText(
            LadderTokenizer(self.where(name))
            if name in names()
            else self._checkpoint(name).tokenizer()
        )

    @once
    def module(self, name: str) -> HFModel:
        """Return the model of that name as a module of transformers."""
        return self._checkpoint(name).model(self.text(name).size)

    @once
    def hash(self, name: str) -> str | None:
        """Return a short hash of the weights, ``None`` if they are not local safetensors."""
        where = self.where(name)
        return weights_hash(where) if any(Path(where).glob("*.safetensors")) else None

    def fast(self, name: str) -> Model:
        """Return the model of that name in the fastest runtime."""
        return self.pick(name)[0]

    def loaded(self, name: str, kind: str = "pick") -> bool:
        """Return whether the model of that name is loaded; the ``kind`` ``module`` is that of transformers."""
        return (kind, self.where(name)) in self._made

    def load(
        self, chain: Sequence[str], ids: Sequence[int], sampling: Sampling, alone: bool
    ) -> Generator[Stage, None, tuple[list[Model], str | None, dict[str, int | str] | None]]:
        """Load the models of a stack (``chain``, the target last) for a prompt of token ``ids``; yields its stages.
        Return them, why some are not in the fastest runtime, if so, and what a trace says of the bridge of the lowest
        one, if it has one. That model drafts ``alone``, so that it may have another tokenizer than the target's.
        Raises: ValueError: if the models do not fit together.
        """
        target = chain[-1]
        for name in chain[alone:-1]:
            self.check_tokenizer(
                target, name, ": such a model can only be the lowest level of a stack"
            )
        if not all(map(self.loaded, chain)):
            while self.build is not None and self.build.compiling:
                yield Stage("compiling the native runtime")
                self.build.wait(1.0)
            for name in chain:
                yield Stage(f"loading {name}")
                self.pick(name)
        models, reasons = map(list, zip(*map(self.pick, chain), strict=True))
        text, size = self.text(target), models[-1].vocab_size
        # A model with another tokenizer reads the end of a text that is too long for it.
        same = {
            name: model
            for name, model in zip(chain, models, strict=True)
            if not self._difference(target, name)
        }
        most = min(
            (model.positions for model in same.values() if model.positions is not None),
            default=None,
        )
        if most is not None and len(ids) >= most:
            raise PromptTooLong(len(ids), most)
        if name := next((name for name, model in same.items() if model.vocab_size != size), None):
            known = f"{same[name].vocab_size} of their tokenizer's {text.size} tokens and {target} {size}"
            raise UserError(f"{name} cannot draft for {target}: it knows {known}")
        if max(ids) >= size:
            token = f"the token {text.piece(max(ids))[0]!r} ({max(ids)})"
            raise UserError(f"the prompt holds {token} and {target} knows {size} tokens only")
        if note := ", ".join(sorted(filter(None, {*reasons}))) or None:
            slow = (
                "in numpy"
                if any(model.runtime == "numpy" for model in models)
                else "on the eager runtime"
            )
            yield Stage(f"{note}: decoding {slow}")
        if chain[0] in same:
            return models, note, None
        from hsd_viz.decoding.bridge import BridgedModel

        bridge = self._bridge_of(chain[0], target)
        kind = self._bridge or bridge.choose(sampling)
        yield Stage(f"{chain[0]} has another tokenizer: it drafts by {kind.upper()}")
        bridged = BridgedModel(models[0], bridge, kind, size)
        return [bridged, *models[1:]], note, bridged.describe()

    def eos(self, target: str) -> frozenset[int]:
        """Return the tokens that end a text."""
        where = Path(self.where(target))
        if self.loaded(target, "module") or not where.is_dir():
            found = getattr(self.module(target).module.generation_config, "eos_token_id", None)
        else:
            file = where / "generation_config.json"
            found = json.loads(file.read_text()).get("eos_token_id") if file.is_file() else None
        found = found if found is not None else self.text(target).tokenizer.eos_token_id
        return frozenset(found if isinstance(found, list) else [] if found is None else [found])

    def check_tokenizer(self, target: str, draft: str, hint: str = "") -> None:
        """Raise ``ValueError`` when a draft model's token ids do not mean what the target's do."""
        if why := self._difference(target, draft):
            raise UserError(
                f"{draft} cannot draft for {target}: they have different tokenizers ({why}){hint}"
            )

    def close(self) -> None:
        """Forget all models; their memory is free once no decode uses them."""
        with self._lock:
            self._made.clear()
            self.compiled.clear()

    # --- inside ----------------------------------------------------------------------------------------------------

    @once
    def _difference(self, target: str, draft: str) -> str | None:
        """Return how two models' tokenizers differ; ``None`` if their token ids mean the same."""
        one, other = self.text(target).tokenizer, self.text(draft).tokenizer
        return None if one is other else differing_tokens(one, other)

    @once
    def _bridge_of(self, draft: str, target: str) -> Bridge:
        from hsd_viz.decoding.bridge import Bridge, Lexicon

        return Bridge(
            *(Lexicon(self.text(name), self.fast(name).vocab_size) for name in (draft, target))
        )

    @once
    def _checkpoint(self, name: str) -> Checkpoint:
        """Return the checkpoint of transformers. Raises: ValueError: if torch or transformers is missing."""
        try:
            from hsd_viz.torch_models.load import Checkpoint
        except ModuleNotFoundError as error:
            needs = (
                f"{name} needs {error.name} here: install it with `pip install 'hsd-viz[models]'`"
            )
            raise UserError(needs) from None
        return Checkpoint(name, self.where(name), self.device, DTYPES[self.dtype])

    @once
    def pick(self, name: str) -> tuple[Model, str | None]:
        """Return a model in the fastest runtime, and why that is a slow one, if so."""
        where, why = self.where(name), None
        fits = self.dtype in STORAGE and read_config(where) is not None
        if self.dtype == "int8" and not fits and name == self.target:
            raise UserError(f"int8 is for the models of the ladder: use float32 for {name}")
        if (
            fits
            and self.device == "cpu"
            and self.build is not None
            and self._runtime in ("auto", "strict")
        ):
            if self.build.wait() or self.dtype == "int8":
                weights = load(where, self.dtype, self.text(name).size, name)
                if self.build.wait():
                    return NativeModel(weights, self.build), None
                from hsd_viz.native.reference import ReferenceModel

                return ReferenceModel(weights), self.build.reason
            why = self.build.reason
        model = self.module(name)
        if self._runtime in ("compiled", "strict") or (
            self._runtime == "auto" and model.device.type == "cuda"
        ):
            from hsd_viz.torch_models.compiled import CompiledModel

            try:
                self.compiled.append(made := CompiledModel(model, strict=self._runtime == "strict"))
                return made, None
            except ValueError as error:
                if self._runtime == "strict":
                    raise
                why = str(error)
        return model, why


def _device(device: str | None) -> str:
    """Return the device of that name, by default the best; torch is only asked where there may be another than the
    CPU.
    """
    has_torch = importlib.util.find_spec("torch") is not None
    # The devices of the drivers of NVIDIA, AMD and of Windows.
    driver = (
        any(Path(f"/dev/{name}").exists() for name in ("nvidiactl", "kfd", "dxg"))
        or os.name == "nt"
    )
    if device == "cpu" or (device is None and not (has_torch and driver)):
        return "cpu"
    if device is not None and not re.fullmatch(r"cuda(:\d+)?", str(device)):
        raise UserError(f"unknown device {device!r}: it is cpu or cuda")
    if not has_torch:
        raise UserError(
            f"the device {device} needs torch: install it with `pip install 'hsd-viz[models]'`"
        )
    import torch

    available = torch.cuda.is_available()
    if device is not None and not available:
        raise UserError("there is no CUDA device here: use the device cpu")
    return "cpu" if not available else device or "cuda"
