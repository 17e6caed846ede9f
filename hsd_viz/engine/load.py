"""Loading what a stack names, once each: the only place of a decode with disk, hub and waiting.

Shipped models in int8 are read by numpy and their text by ``tokenizers``; all others need torch and transformers, which
are imported when the first is asked for.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hsd_viz.decoding.sampling import BRIDGES, PromptTooLong, Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.text import TokenText, differing_tokens
from hsd_viz.drafting.tree import Drafter
from hsd_viz.ladder.load import LadderTokenizer, model_path, names, weights_hash
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.decode import native_drafter
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import load as load_weights
from hsd_viz.stack import LargerDraftWarning
from hsd_viz.trace import Stage
from hsd_viz.words import did_you_mean

if TYPE_CHECKING:
    from hsd_viz.decoding.bridge import Bridge
    from hsd_viz.torch_models.eager import HFModel
    from hsd_viz.torch_models.load import Checkpoints

#: The types of weights, and of the module that has them: int8 is the native runtime's and numpy's, see
#: ``docs/reference/arithmetic.md``; the module has the same weights widened.
DTYPES = {
    "int8": "float32",
    "float32": "float32",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float64": "float64",
}
RUNTIMES = ("auto", "eager", "compiled", "strict")
T = TypeVar("T")


class Loaded(NamedTuple):
    """The models of a stack, the target last, why some are not in the fastest runtime, if so, and what a trace says of
    the bridge of the lowest one, if it has one.
    """

    models: tuple[Model, ...]
    note: str | None
    bridge: dict[str, int | str] | None = None


class Models:
    """The models of one engine: a target and its draft models, on one device and dtype, each in the fastest runtime:
    ``native`` on the CPU, ``compiled`` on a GPU, else ``eager`` or ``numpy``.

    The device ``auto`` spreads a model that is too large for one device over all there are, the memory of the machine
    and its disk (by the package ``accelerate``). ``allow_models=False`` refuses everything but ladder names.
    ``bridge`` forces how a model with another tokenizer drafts, one of :data:`~hsd_viz.decoding.sampling.BRIDGES`.
    ``runtime="eager"`` requests transformers' own forward passes for all, ``"compiled"`` those of ``torch.compile``,
    ``"strict"`` rows that do not depend on what is fed with them: native rows never do, and others are compiled for one
    width. Safe for several threads.

    Raises:
        ValueError: if a name is not a model, or an option is invalid.
    """

    def __init__(
        self,
        target: str,
        device: str | None,
        dtype: str | None,
        allow_models: bool,
        bridge: str | None = None,
        runtime: str = "auto",
        build: Build | None = None,
    ) -> None:
        for option, value, allowed in (("bridge", bridge, BRIDGES), ("runtime", runtime, RUNTIMES)):
            if value not in (None, *allowed):
                hint = did_you_mean(value, allowed)
                raise ValueError(f"unknown {option} {value!r}: it is one of {', '.join(allowed)}{hint}")
        self._spread = device == "auto"
        if self._spread and importlib.util.find_spec("accelerate") is None:
            raise ValueError("the device auto needs the package accelerate: install it with `pip install accelerate`")
        self.device = _device(None if self._spread else device)
        on_gpu = self.device.startswith("cuda")
        if dtype is not None and dtype not in DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}: it is one of {', '.join(DTYPES)}")
        if dtype == "int8" and on_gpu:
            raise ValueError("int8 is for the CPU: on a GPU use bfloat16")
        #: The type of weights; on the CPU by default that in which each model is: int8 for the ladder, else float32.
        self.dtype = dtype or ("bfloat16" if on_gpu else "int8" if target in names() else "float32")
        self._allow, self._bridge, self._runtime = allow_models, bridge, runtime
        #: The library; drafting is the processor's work wherever the models are.
        self._build = None if runtime == "eager" else (build or default_build()).start()
        #: What was made of checkpoints, by what it is and the directories or hub ids.
        self._made: dict[tuple[str, ...], Any] = {}
        self._lock = threading.RLock()
        #: The name of the target's checkpoint.
        self.target = target
        self.where(self.target)

    def where(self, name: str) -> str:
        """Return the checkpoint directory or hub id behind a name."""
        if name in names():
            return str(model_path(name))
        named = name.startswith(("./", "../", "/", "~"))
        if not named and name.count("/") != 1:
            raise ValueError(
                f"unknown model '{name}': the ladder has {', '.join(names())}; others are hub ids with one '/' or paths"
            )
        if not self._allow:
            raise ValueError(f"'{name}' is not allowed here: only the models of the ladder ({', '.join(names())}) are")
        if not named:
            return name
        path = Path(name).expanduser()
        if not (path / "config.json").is_file():
            raise ValueError(f"{name} is not a model: a model is a folder with a config.json and weights")
        return str(path.absolute())

    def text(self, name: str) -> TokenText:
        """Return the tokenizer of a model."""

        def make(where: str) -> TokenText:
            return TokenText(LadderTokenizer(where) if name in names() else self._files(name).tokenizer(name, where))

        return self._once("text", make, name)

    def loaded(self, name: str, kind: str = "model") -> bool:
        """Return whether the model of that name is loaded; the ``kind`` ``module`` is that of transformers."""
        return (kind, self.where(name)) in self._made

    def module(self, name: str) -> HFModel:
        """Return the model of that name as a module of transformers."""
        return self._once("module", lambda where: self._files(name).model(name, where, self.text(name).size), name)

    def fast(self, name: str) -> Model:
        """Return the model of that name in the fastest runtime."""
        return self._pick(name)[0]

    def load(
        self, chain: Sequence[str], ids: Sequence[int], sampling: Sampling, alone: bool
    ) -> Generator[Stage, None, Loaded]:
        """Load the models of a stack (``chain``, the target last) for a prompt of token ``ids``; yields its stages. The
        lowest model of ``chain`` drafts ``alone``, so that it may have another tokenizer than the target's. Raises:
        ValueError: if the models do not fit together.
        """
        target = chain[-1]
        self.check_tokenizers(target, chain[alone:-1], ": such a model can only be the lowest level of a stack")
        # A model with another tokenizer reads the end of a text that is too long for it.
        same = [name for name in chain if self.difference(target, name) is None]
        limits = [n for name in same if (n := self._positions(name)) is not None]
        if limits and len(ids) >= min(limits):
            raise PromptTooLong(len(ids), min(limits))
        while self._build is not None and self._build.compiling:
            yield Stage("compiling the native runtime")
            self._build.wait(1.0)
        for name in chain:
            if not self.loaded(name):
                yield Stage(f"loading {name}")
                self._pick(name)
                yield Stage(f"hashing the weights of {name}")
                self.hash(name)
        picked = [self._pick(name) for name in chain]
        sizes = {name: model.vocab_size for name, (model, _) in zip(chain, picked, strict=True)}
        for name in chain[:-1]:
            if sizes[name] != sizes[target] and name in same:
                raise ValueError(
                    f"{name} cannot draft for {target}: it knows {sizes[name]} of their tokenizer's "
                    f"{self.text(target).size} tokens and {target} {sizes[target]}"
                )
        if max(ids) >= sizes[target]:
            token = self.text(target).piece(max(ids))[0]
            raise ValueError(
                f"the prompt holds the token {token!r} ({max(ids)}) and {target} knows {sizes[target]} tokens only"
            )
        models, note = [model for model, _ in picked], ", ".join(sorted({why for _, why in picked if why})) or None
        if note:
            slow = "in numpy" if any(model.runtime == "numpy" for model in models) else "on the eager runtime"
            yield Stage(f"{note}: decoding {slow}")
        for draft, above in pairwise(models):
            if draft.parameters > above.parameters:
                a, b = (f"{m.name} ({m.parameters / 1e6:.1f} M parameters)" for m in (draft, above))
                slow = f"{a} drafts for the smaller {b}: it is rarely faster than plain decoding"
                warnings.warn(slow, LargerDraftWarning, stacklevel=2)
        if alone and (bridge := self.bridge(target, chain[0])) is not None:
            from hsd_viz.decoding.bridge import BridgedModel

            kind = self._bridge or bridge.choose(sampling)
            yield Stage(f"{chain[0]} has another tokenizer: it drafts by {kind.upper()}")
            bridged = BridgedModel(models[0], bridge, kind, models[-1].vocab_size)
            return Loaded((bridged, *models[1:]), note, bridged.describe())
        return Loaded(tuple(models), note)

    def eos(self, target: str) -> frozenset[int]:
        """Return the tokens that end a text."""
        where = self.where(target)
        if self.loaded(target, "module") or not Path(where).is_dir():
            found = getattr(self.module(target).module.generation_config, "eos_token_id", None)
        else:
            file = Path(where) / "generation_config.json"
            found = json.loads(file.read_text()).get("eos_token_id") if file.is_file() else None
        found = found if found is not None else self.text(target).tokenizer.eos_token_id
        return frozenset(found if isinstance(found, list) else [] if found is None else [found])

    def difference(self, target: str, draft: str) -> str | None:
        """Return how two models' tokenizers differ; ``None`` if their token ids mean the same."""
        one, other = self.text(target).tokenizer, self.text(draft).tokenizer
        compare = lambda *_: None if one is other else differing_tokens(one, other)
        return self._once("difference", compare, target, draft)

    def check_tokenizers(self, target: str, drafts: Sequence[str], hint: str = "") -> None:
        """Raise ``ValueError`` when a draft model's token ids do not mean what the target's do."""
        for draft in drafts:
            if why := self.difference(target, draft):
                raise ValueError(f"{draft} cannot draft for {target}: they have different tokenizers ({why}){hint}")

    def bridge(self, target: str, draft: str) -> Bridge | None:
        """Return the bridge from a draft model's tokenizer to the target's, ``None`` if they are the same."""
        if self.difference(target, draft) is None:
            return None
        from hsd_viz.decoding.bridge import Bridge, Lexicon

        side = lambda name: Lexicon(self.text(name), self.fast(name).vocab_size)
        return self._once("bridge", lambda *_: Bridge(side(draft), side(target)), target, draft)

    def drafter(self, drafter: Drafter | None) -> Drafter | None:
        """Return the native equivalent of ``drafter``, which has not begun a run, where there is one."""
        return native_drafter(drafter, self._build.library) if self._build and self._build.wait() else drafter

    def wait(self, progress: Callable[[str], None]) -> None:
        """Wait until nothing is being compiled; ``progress`` is called every second."""
        while self._build is not None and self._build.compiling:
            progress("compiling the native runtime")
            self._build.wait(1.0)

    def hash(self, name: str) -> str | None:
        """Return a short hash of the weights, ``None`` if they are not local safetensors."""

        def make(where: str) -> str | None:
            try:
                return weights_hash(where)
            except (OSError, ValueError):
                return None

        return self._once("hash", make, name)

    def close(self) -> None:
        """Forget all models; their memory is free once no decode uses them."""
        with self._lock:
            if files := self._made.get(("files",)):
                files.close()
            self._made.clear()

    # --- inside ----------------------------------------------------------------------------------------------------

    def _once(self, what: str, make: Callable[..., T], *of: str) -> T:
        """Return what ``make`` makes of the checkpoints of these models, made once."""
        where = tuple(map(self.where, of))
        with self._lock:
            if (what, *where) not in self._made:
                self._made[what, *where] = make(*where)
            return self._made[what, *where]

    def _files(self, name: str) -> Checkpoints:
        """Return the checkpoints of transformers. Raises: ValueError: if torch or transformers is missing."""

        def make() -> Checkpoints:
            try:
                for package in ("torch", "transformers"):
                    importlib.import_module(package)
            except ModuleNotFoundError as error:
                needs = f"{name} needs {error.name} here: install it with `pip install 'hsd-viz[models]'`"
                raise ValueError(needs) from None
            from hsd_viz.torch_models.load import Checkpoints

            return Checkpoints(self.device, DTYPES[self.dtype], self._spread)

        return self._once("files", make)

    def _positions(self, name: str) -> int | None:
        """Return how many tokens a model's context has, ``None`` without a limit."""
        if name in names():
            return json.loads((model_path(name) / "config.json").read_text())["max_position_embeddings"]
        return self._files(name).positions(name, self.where(name))

    def _pick(self, name: str) -> tuple[Model, str | None]:
        """Return a model in the fastest runtime, and why that is a slow one, if so."""
        return self._once("model", lambda where: self._choose(name, where), name)

    def _choose(self, name: str, where: str) -> tuple[Model, str | None]:
        native = self._build if self.device == "cpu" and self._runtime in ("auto", "strict") else None
        why = None
        if native is not None and self.dtype == "int8" and not self._spread:
            try:
                weights = load_weights(where, "int8", self.text(name).size)
            except ValueError:
                weights = None  # its module may say why
            if weights is not None:
                weights.name = name
                if native.wait():
                    return NativeModel(weights, native), None
                from hsd_viz.native.reference import ReferenceModel

                return ReferenceModel(weights), native.reason
        model = self.module(name)
        if native is not None:
            from hsd_viz.torch_models.native import native_model

            try:
                if not native.wait():
                    raise ValueError(native.reason)
                if any(p.device != model.device for p in model.module.parameters()):
                    raise ValueError("its weights are on several devices")
                return native_model(model, native), None
            except ValueError as error:
                why = str(error)
        if self._runtime in ("compiled", "strict") or (self._runtime == "auto" and model.device.type == "cuda"):
            from hsd_viz.torch_models.compiled import CompiledModel

            try:
                return CompiledModel(model, strict=self._runtime == "strict"), None
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
    if device == "cpu" or (device is None and not (has_torch and _has_driver())):
        return "cpu"
    if not has_torch:
        raise ValueError(f"the device {device} needs torch: install it with `pip install 'hsd-viz[models]'`")
    from hsd_viz.torch_models.load import pick_device

    return pick_device(device)


def _has_driver() -> bool:
    """Return whether a driver of NVIDIA's or AMD's accelerators is installed."""
    for library in ("nvcuda.dll", "libcuda.so.1", "libamdhip64.so"):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return True
    return Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists()
