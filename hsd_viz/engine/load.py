"""Loading models by the names that a stack uses, once each.

Shipped models in int8 are read by numpy and their text by ``tokenizers``; all others need torch and transformers, which
are imported when the first is asked for.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import logging
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hsd_viz.decoding.bridge import Bridge, BridgedModel, Lexicon
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.settings import BRIDGES, PromptTooLong, Sampling
from hsd_viz.decoding.text import TokenText, differing_tokens
from hsd_viz.drafting.tree import Drafter
from hsd_viz.engine.runtimes import Runtimes
from hsd_viz.ladder.load import is_rounded, load_model, model_path, names, weights_hash
from hsd_viz.ladder.text import LadderTokenizer
from hsd_viz.machine import threads
from hsd_viz.native.weights import Weights
from hsd_viz.native.weights import load as load_weights
from hsd_viz.stack import LargerDraftWarning
from hsd_viz.trace import Stage
from hsd_viz.words import did_you_mean, first_line

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig

    from hsd_viz.torch_models.eager import HFModel

#: The types of weights, and of the module that has them: int8 is the native runtime's and numpy's, see
#: ``docs/reference/arithmetic.md``; the module has the same weights widened.
DTYPES = {
    "int8": "float32",
    "float32": "float32",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float64": "float64",
}
_HUB_TIMEOUT = 3.0


class Loaded(NamedTuple):
    """The models of a stack, the target last, and why some are not in the fastest runtime, if so."""

    models: tuple[Model, ...]
    note: str | None


class Models:
    """The models of one engine: a target and its draft models, on one device and dtype.

    The device ``auto`` spreads a model that is too large for one device over all there are, the memory of the machine
    and its disk (by the package ``accelerate``). ``allow_models=False`` refuses everything but ladder names.
    ``bridge`` forces how a model with another tokenizer drafts, one of :data:`~hsd_viz.decoding.settings.BRIDGES`.

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
    ) -> None:
        if bridge is not None and bridge not in BRIDGES:
            hint = did_you_mean(bridge, BRIDGES)
            raise ValueError(f"unknown bridge '{bridge}': use {' or '.join(BRIDGES)}{hint}")
        self._spread = device == "auto"
        if self._spread and importlib.util.find_spec("accelerate") is None:
            raise ValueError("the device auto needs the package accelerate: install it with `pip install accelerate`")
        self.device = _device(None if self._spread else device)
        if dtype is not None and dtype not in DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}: it is one of {', '.join(DTYPES)}")
        if dtype == "int8" and self.device.startswith("cuda"):
            raise ValueError("int8 is for the CPU: on a GPU use bfloat16")
        #: The type of weights; on the CPU by default that in which each model is: int8 for the ladder, else float32.
        self.dtype = dtype or (
            "bfloat16" if self.device.startswith("cuda") else "int8" if target in names() else "float32"
        )
        self._allow = allow_models
        self._lock = threading.Lock()
        self._models: dict[str, HFModel] = {}
        self._texts: dict[str, TokenText] = {}
        self._configs: dict[str, PreTrainedConfig] = {}
        self._hashes: dict[str, str | None] = {}
        self._rounded: dict[str, Weights | None] = {}
        self._hub: dict[str, str | None] = {}
        self._differences: dict[tuple[str, str], str | None] = {}
        self._bridges: dict[tuple[str, str], Bridge] = {}
        self._bridge = bridge
        self._runtimes = Runtimes(self.device, runtime)
        self._offload: tempfile.TemporaryDirectory | None = None
        #: The name of the target's checkpoint.
        self.target = target
        self.where(self.target)

    def where(self, name: str) -> str:
        """The checkpoint directory or hub id behind a name."""
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

    def config(self, name: str) -> PreTrainedConfig:
        """The configuration of a model. Raises ``ValueError`` if it shows that the model cannot be decoded here."""
        return self._config(name, self.where(name))

    def _config(self, name: str, where: str) -> PreTrainedConfig:
        """The configuration of a checkpoint."""
        if where not in self._configs:
            _require_torch(name)
            from transformers import AutoConfig, PreTrainedConfig

            from hsd_viz.torch_models.suitable import check_config, check_sizes

            try:
                source = self._source(where)
                check_sizes(PreTrainedConfig.get_config_dict(where, **source)[0])
                config = AutoConfig.from_pretrained(where, **source)
            except Exception as error:  # any error of the libraries for files and formats
                raise ValueError(f"{name} cannot be loaded: {self._reason(where, error)}") from None
            check_config(name, config)
            self._configs[where] = config
        return self._configs[where]

    def text(self, name: str) -> TokenText:
        """The tokenizer of a model."""
        where = self.where(name)
        if where not in self._texts:
            if name in names():
                self._texts[where] = TokenText(LadderTokenizer(where))
                return self._texts[where]
            self._config(name, where)
            from transformers import AutoTokenizer

            try:
                self._texts[where] = TokenText(AutoTokenizer.from_pretrained(where, **self._source(where)))
            except Exception as error:  # any error of the libraries for files and formats
                raise ValueError(f"the tokenizer of {name} cannot be loaded: {self._reason(where, error)}") from None
        return self._texts[where]

    def loaded(self, name: str) -> bool:
        """Whether the model of that name is loaded."""
        return self.where(name) in self._models or self._rounded.get(self.where(name)) is not None

    def get(self, name: str) -> HFModel:
        """The model of that name, loaded on first use."""
        where = self.where(name)
        with self._lock:
            if where not in self._models:
                _require_torch(name)
                from hsd_viz.torch_models.eager import HFModel
                from hsd_viz.torch_models.suitable import check_forward

                model = HFModel(name, self._load(name, where), self.text(name).size)
                check_forward(model)
                self._models[where] = model
            return self._models[where]

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
        models, why_eager = [model for model, _ in picked], {why for _, why in picked} - {None}
        if why_eager:
            slow = "in numpy" if any(model.runtime == "numpy" for model in models) else "on the eager runtime"
            yield Stage(f"{', '.join(sorted(why_eager))}: decoding {slow}")
        for draft, above in pairwise(models):
            if draft.parameters > above.parameters:
                a, b = (f"{m.name} ({m.parameters / 1e6:.1f} M parameters)" for m in (draft, above))
                slow = f"{a} drafts for the smaller {b}: it is rarely faster than plain decoding"
                warnings.warn(slow, LargerDraftWarning, stacklevel=2)
        if alone and (bridge := self.bridge(target, chain[0])) is not None:
            kind = self._bridge or bridge.choose(sampling)
            yield Stage(f"{chain[0]} has another tokenizer: it drafts by {kind.upper()}")
            models[0] = BridgedModel(models[0], bridge, kind, models[-1].vocab_size)
        return Loaded(tuple(models), ", ".join(sorted(why_eager)) or None)

    def _positions(self, name: str) -> int | None:
        """Return how many tokens a model's context has, ``None`` without a limit."""
        if name in names():
            return json.loads((model_path(name) / "config.json").read_text())["max_position_embeddings"]
        config = self.config(name).get_text_config(decoder=True)
        from hsd_viz.torch_models.suitable import context

        return context(config)

    def eos(self, target: str) -> frozenset[int]:
        """Return the tokens that end a text."""
        where = self.where(target)
        if where in self._models or not Path(where).is_dir():
            found = getattr(self.get(target).module.generation_config, "eos_token_id", None)
        else:
            file = Path(where) / "generation_config.json"
            found = json.loads(file.read_text()).get("eos_token_id") if file.is_file() else None
        found = found if found is not None else self.text(target).tokenizer.eos_token_id
        return frozenset(found if isinstance(found, list) else [] if found is None else [found])

    def difference(self, target: str, draft: str) -> str | None:
        """Return how two models' tokenizers differ; ``None`` if their token ids mean the same."""
        pair = self.where(target), self.where(draft)
        if pair not in self._differences:
            one, other = self.text(target).tokenizer, self.text(draft).tokenizer
            self._differences[pair] = None if one is other else differing_tokens(one, other)
        return self._differences[pair]

    def check_tokenizers(self, target: str, drafts: Sequence[str], hint: str = "") -> None:
        """Raise ``ValueError`` when a draft model's token ids do not mean what the target's do."""
        for draft in drafts:
            if why := self.difference(target, draft):
                raise ValueError(f"{draft} cannot draft for {target}: they have different tokenizers ({why}){hint}")

    def bridge(self, target: str, draft: str) -> Bridge | None:
        """Return the bridge from a draft model's tokenizer to the target's, ``None`` if they are the same."""
        pair = self.where(target), self.where(draft)
        if pair not in self._bridges:
            if self.difference(target, draft) is None:
                return None
            sides = [Lexicon(self.text(name), self.fast(name).vocab_size) for name in (draft, target)]
            self._bridges[pair] = Bridge(*sides)
        return self._bridges[pair]

    def fast(self, name: str) -> Model:
        """Return the model of that name in the fastest runtime that is ready."""
        return self._pick(name)[0]

    def _pick(self, name: str) -> tuple[Model, str | None]:
        weights = self._bytes(name, self.text(name).size) if self.dtype == "int8" and not self._spread else None
        found = self._runtimes.integers(weights) if weights is not None else None
        return found or self._runtimes.pick(self.get(name))

    def _bytes(self, name: str, vocab_size: int) -> Weights | None:
        """Return the weights of a model in 8-bit integers, ``None`` where the native runtime cannot run it."""
        where = self.where(name)
        if where not in self._rounded:
            try:
                self._rounded[where] = load_weights(where, "int8", vocab_size)
            except ValueError:
                self._rounded[where] = None
            else:
                self._rounded[where].name = name
        return self._rounded[where]

    def drafter(self, drafter: Drafter) -> Drafter:
        """Return the native equivalent of ``drafter``, which has not begun a run, where there is one that is ready."""
        return self._runtimes.drafter(drafter)

    def wait(self, progress: Callable[[str], None]) -> None:
        """Wait until nothing is being compiled; ``progress`` is called every second."""
        self._runtimes.wait(progress)

    def hash(self, name: str) -> str | None:
        """A short hash of the weights, ``None`` if they are not local safetensors."""
        where = self.where(name)
        if where not in self._hashes:
            try:
                self._hashes[where] = weights_hash(where)
            except (OSError, ValueError):
                self._hashes[where] = None
        return self._hashes[where]

    def close(self) -> None:
        """Forget all models; their memory is free once no decode uses them."""
        with self._lock:
            self._models.clear()
            self._rounded.clear()
            self._texts.clear()
            self._runtimes.close()
            if self._offload is not None:
                self._offload.cleanup()

    def _load(self, name: str, where: str) -> torch.nn.Module:
        import torch
        from transformers import AutoModelForCausalLM
        from transformers.utils import logging as hf_logging

        threads()  # those asked for are torch's from now on
        hf_logging.disable_progress_bar()
        config, kind = self.config(name), getattr(torch, DTYPES[self.dtype])
        options: dict[str, Any] = self._source(where) | {"dtype": kind}
        if self._spread:
            self._offload = self._offload or tempfile.TemporaryDirectory(prefix="hsd-viz-offload-")
            options |= {"device_map": "auto", "offload_folder": self._offload.name}
        elif getattr(config, "quantization_config", None) is not None:
            # Packed weights cannot be moved once they are there.
            options |= {"device_map": {"": self.device}}
        try:
            if is_rounded(where):
                return load_model(where, self.device, kind)
            module = AutoModelForCausalLM.from_pretrained(where, **options)
            return module if "device_map" in options else module.to(self.device)
        except torch.OutOfMemoryError:
            raise ValueError(f"{name} does not fit on {self.device}: the device has too little free memory") from None
        except Exception as error:  # any error of the libraries for files and formats
            raise ValueError(
                f"{name} cannot be loaded as a causal language model: {self._reason(where, error)}"
            ) from None

    def _source(self, where: str) -> dict[str, Any]:
        """Return transformers' options for files: code that comes with a checkpoint is never run, and an unreachable
        hub is asked once. By itself the hub's client retries each file for most of a minute.
        """
        options: dict[str, Any] = {"trust_remote_code": False}
        if Path(where).is_absolute():
            return options
        if where not in self._hub:
            from huggingface_hub import HfApi
            from huggingface_hub.errors import RepositoryNotFoundError

            logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
            try:
                HfApi().model_info(where, timeout=_HUB_TIMEOUT)
                self._hub[where] = None
            except RepositoryNotFoundError:
                self._hub[where] = "the model hub has no public model of that name, and neither has the local cache"
            except Exception:  # no network, a proxy's page, an overloaded hub: the local cache may still have it
                self._hub[where] = "the model hub cannot be reached and the model is not in the local cache"
        return options | {"local_files_only": self._hub[where] is not None}

    def _reason(self, where: str, error: BaseException) -> str:
        """The library's reason in one line; where its first line only announces a list, that the files are missing."""
        line = first_line(error)
        if "trust_remote_code" in str(error):
            return "it needs program code that comes with it, and such code is never run here"
        if isinstance(error, OSError) and self._hub.get(where):
            return self._hub[where]
        return "its files are missing or of no known form" if line.endswith(":") else line


def _require_torch(name: str) -> None:
    """Raise ``ValueError`` where torch or transformers is missing."""
    try:
        for package in ("torch", "transformers"):
            importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise ValueError(f"{name} needs {error.name} here: install it with `pip install 'hsd-viz[models]'`") from None


def _device(device: str | None) -> str:
    """Return the device of that name, by default the best; torch is only asked where there may be another than the
    CPU.
    """
    if device == "cpu" or (device is None and not _has_driver()):
        return "cpu"
    try:
        import torch
    except ModuleNotFoundError:
        if device is None:
            return "cpu"
        raise ValueError(f"the device {device} needs torch: install it with `pip install 'hsd-viz[models]'`") from None
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {device!r}: it is cpu or cuda, or auto for as many devices as a model needs")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here: use the device cpu")
    return str(found)


def _has_driver() -> bool:
    """Return whether a driver of NVIDIA's or AMD's accelerators is installed."""
    for library in ("nvcuda.dll", "libcuda.so.1", "libamdhip64.so"):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return True
    return Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists()
