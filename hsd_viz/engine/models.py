"""Loading models by the names that a stack uses, once each."""

import importlib.util
import logging
import tempfile
import threading
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig
from transformers.utils import logging as hf_logging

from hsd_viz.decoding.bridge import Bridge, Lexicon
from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.settings import BRIDGES, PromptTooLong
from hsd_viz.decoding.suitable import check_config, check_forward, check_sizes, context
from hsd_viz.decoding.text import TokenText, differing_tokens
from hsd_viz.engine import memory
from hsd_viz.engine.loading import Report, reported, with_progress
from hsd_viz.ladder import variants
from hsd_viz.ladder.load import model_path, names, weights_hash
from hsd_viz.stack import split_variant, variant_name
from hsd_viz.trace import Stage
from hsd_viz.words import did_you_mean, first_line

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}
_HUB_TIMEOUT = 3.0


class Models:
    """The models of one engine: a target and its draft models, on one device and dtype.

    The device ``auto`` spreads a model that is too large for one device over all there are, the memory of the machine
    and its disk (by the package ``accelerate``). ``allow_models=False`` refuses everything but ladder names. With
    ``pad_layers`` the target, and no draft, is a cost-padded model (:func:`hsd_viz.ladder.variants.pad`). ``bridge``
    forces how a model with another tokenizer drafts, one of :data:`~hsd_viz.decoding.settings.BRIDGES`.

    Raises:
        ValueError: if a name is not a model, or an option is invalid.
    """

    def __init__(
        self,
        target: str,
        device: str | None,
        dtype: str | None,
        allow_models: bool,
        pad_layers: int = 0,
        pad_noise: float = 0.0,
        bridge: str | None = None,
    ) -> None:
        variants.check_padding(pad_layers, pad_noise)
        if bridge is not None and bridge not in BRIDGES:
            hint = did_you_mean(bridge, BRIDGES)
            raise ValueError(f"unknown bridge '{bridge}': use {' or '.join(BRIDGES)}{hint}")
        self._spread = device == "auto"
        if self._spread and pad_layers:
            raise ValueError("a padded target needs all its weights in one place: use the device cpu or cuda, not auto")
        if self._spread and importlib.util.find_spec("accelerate") is None:
            raise ValueError("the device auto needs the package accelerate: install it with `pip install accelerate`")
        self.device = _device(None if self._spread else device)
        if dtype is not None and dtype not in DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}: it is one of {', '.join(DTYPES)}")
        self.dtype = dtype or ("bfloat16" if self.device.type == "cuda" else "float32")
        self._allow = allow_models
        self._lock = threading.Lock()
        self._models: dict[str, HFModel] = {}
        self._texts: dict[str, TokenText] = {}
        self._configs: dict[str, PreTrainedConfig] = {}
        self._weights: dict[str, int] = {}
        self._hashes: dict[str, str | None] = {}
        self._hub: dict[str, str | None] = {}
        self._differences: dict[tuple[str, str], str | None] = {}
        self._bridges: dict[tuple[str, str], Bridge] = {}
        #: The bridge to use instead of the one that fits a sampling.
        self.forced_bridge = bridge
        self._offload: tempfile.TemporaryDirectory | None = None
        #: Model types whose weights the runtime holds a second time.
        self.packed: frozenset[str] = frozenset()
        self.pad_layers, self.pad_noise = pad_layers, pad_noise
        #: The file name or hub id of the target.
        self.target_base = target
        #: The target's name: that of its checkpoint, and what it was padded with.
        self.target = variants.padded_name(target, pad_layers, pad_noise) if pad_layers else target
        self.where(self.target)

    @property
    def padding_note(self) -> str | None:
        """What the padded target is, in a sentence; ``None`` where it is as its checkpoint has it."""
        return variants.padding_note(self.target_base, self.pad_layers, self.pad_noise) if self.pad_layers else None

    def where(self, name: str) -> str:
        """The checkpoint directory or hub id behind a name."""
        name = self.base(name)
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

    def base(self, name: str) -> str:
        """The name of the checkpoint that a model is made from: another than its own for a padded target, and for a
        variant of a model.
        """
        name = split_variant(name)[0]
        return self.target_base if name == self.target else name

    def config(self, name: str) -> PreTrainedConfig:
        """The configuration of a model. Raises ``ValueError`` if it shows that the model cannot be decoded here."""
        base, variant = split_variant(name)
        if variant is not None:
            whole = self.config(base)
            if variant == "int8":
                if getattr(whole, "quantization_config", None) is not None:
                    raise ValueError(f"{base} cannot be rounded to 8 bits: its weights are quantised")
                if self._spread:
                    raise ValueError(f"{name} needs all weights in one place: use the device cpu or cuda, not auto")
                return whole
            variants.check_skip(name, variant, whole.get_text_config(decoder=True).num_hidden_layers)
            return variants.skipping_config(whole, variant)
        found = self._config(name, self.where(name))
        if not self._padded(name):
            return found
        if self._key(name) not in self._configs:
            if getattr(found, "quantization_config", None) is not None:
                raise ValueError(f"{self.target_base} cannot be padded: its weights are quantised")
            self._configs[self._key(name)] = variants.padded_config(found, self.pad_layers)
        return self._configs[self._key(name)]

    def _config(self, name: str, where: str) -> PreTrainedConfig:
        """The configuration of a checkpoint."""
        if where not in self._configs:
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
            self._config(name, where)
            try:
                self._texts[where] = TokenText(AutoTokenizer.from_pretrained(where, **self._source(where)))
            except Exception as error:  # any error of the libraries for files and formats
                raise ValueError(f"the tokenizer of {name} cannot be loaded: {self._reason(where, error)}") from None
        return self._texts[where]

    def loaded(self, name: str) -> bool:
        """Whether :meth:`get` would return at once."""
        return self._key(name) in self._models

    def get(self, name: str, report: Report = lambda done, total: None) -> HFModel:
        """The model of that name, loaded on first use; ``report(tensors done, tensors in all)`` is called meanwhile."""
        key, (base, variant) = self._key(name), split_variant(name)
        whole = None
        if variant is not None:
            self.config(name)
            whole = self.get(base, report)
        with self._lock:
            if key not in self._models:
                tokens = self.text(name).size
                if whole is None:
                    module = self._load(name, self.where(name), report)
                    model = HFModel(name, self._pad(module) if self._padded(name) else module, tokens)
                elif variant == "int8":
                    model = HFModel(name, variants.rounded(whole.module), tokens)
                else:
                    model = HFModel(name, variants.skip_layers(whole.module, variant), tokens)
                    # Without the last layers alone, it computes what the first layers of the whole model do.
                    if min(variant) == whole.layers - len(variant):
                        model.prefix_of = whole.name
                check_forward(model)
                self._models[key] = model
            return self._models[key]

    def forget(self, names: Collection[str]) -> None:
        """Forget models that were made from others."""
        with self._lock:
            for name in names:
                self._models.pop(self._key(name), None)

    def prepare(
        self, chain: Sequence[str], ids: Sequence[int], max_new_tokens: int
    ) -> Generator[Stage, None, list[HFModel]]:
        """Load what is missing of a stack's models (``chain``, the target last) for a prompt of token ``ids``; returns
        them all. Yields its stages with progress, first how much memory the decode needs. Closing it stops the loading.
        Raises: ValueError: if the memory is clearly not available, or the models do not fit together.
        """
        # A model with another tokenizer reads the end of a text that is too long for it.
        same = [name for name in chain if self.difference(chain[-1], name) is None]
        limits = [
            limit for name in same if (limit := context(self.config(name).get_text_config(decoder=True))) is not None
        ]
        if limits and len(ids) >= min(limits):
            raise PromptTooLong(len(ids), min(limits))
        yield Stage(self._memory(chain, len(ids), min([len(ids) + max_new_tokens, *limits])))
        for name in chain:
            if self.loaded(name):
                continue
            yield Stage(f"loading {name}")
            with closing(with_progress(partial(self.get, name))) as shares:
                for done, total in shares:
                    yield Stage(f"loading {name}", done, total)
            yield Stage(f"hashing the weights of {name}")
            self.hash(name)
        models = [self.get(name) for name in chain]
        target = models[-1]
        for name, model in zip(chain[:-1], models[:-1], strict=True):
            if model.vocab_size != target.vocab_size and name in same:
                raise ValueError(
                    f"{model.name} cannot draft for {target.name}: it knows {model.vocab_size} of their tokenizer's "
                    f"{self.text(target.name).size} tokens and {target.name} {target.vocab_size}"
                )
        if max(ids) >= target.vocab_size:
            token = self.text(target.name).piece(max(ids))[0]
            raise ValueError(
                f"the prompt holds the token {token!r} ({max(ids)}) "
                f"and {target.name} knows {target.vocab_size} tokens only"
            )
        return models

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
            sides = [Lexicon(self.text(name), self.get(name).vocab_size) for name in (draft, target)]
            self._bridges[pair] = Bridge(*sides)
        return self._bridges[pair]

    def hash(self, name: str) -> str | None:
        """A short hash of the weights, ``None`` if they are not local safetensors, as for a padded target."""
        name = split_variant(name)[0]
        if self._padded(name):
            return None
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
            self._texts.clear()
            if self._offload is not None:
                self._offload.cleanup()

    def _memory(self, chain: Sequence[str], prompt: int, length: int) -> str:
        """Return how much memory a decode needs whose text grows to ``length``. Raises ``ValueError`` if there is
        clearly less.
        """
        needs, held = [], 0
        for name in chain:
            key, config = self._key(name), self.config(name)
            if key not in self._weights:
                shares = isinstance(split_variant(name)[1], tuple)
                own = 0 if shares else memory.parameter_bytes(config, DTYPES[self.dtype], self.where(name))
                self._weights[key] = own
            if self.loaded(name):
                held += self._weights[key]
            needs.append(
                memory.need(config, self._weights[key], DTYPES[self.dtype], prompt, length, self.device.type == "cuda")
            )
        if not self._spread:  # else the disk takes what does not fit
            memory.check(needs, held, self.device)
        # A runtime that packs the weights holds them once more; without the room for that a model stays eager, so it is
        # not a need.
        packed = sum(
            n.weights for n, name in zip(needs, chain, strict=True) if self.config(name).model_type in self.packed
        )
        return memory.describe(needs, packed)

    def _padded(self, name: str) -> bool:
        return self.pad_layers > 0 and name == self.target

    def _key(self, name: str) -> str:
        """Return the key of a model: a padded target is another model than the one of its checkpoint."""
        base, variant = split_variant(name)
        return variant_name(self.target if self._padded(base) else self.where(base), variant)

    def _pad(self, module: torch.nn.Module) -> torch.nn.Module:
        try:
            return variants.pad(module, self.pad_layers, self.pad_noise)
        except torch.OutOfMemoryError:
            raise ValueError(
                f"{self.target} does not fit on {self.device}: the device has too little free memory"
            ) from None

    def _load(self, name: str, where: str, report: Report) -> torch.nn.Module:
        hf_logging.disable_progress_bar()
        config = self.config(name)
        options: dict[str, Any] = self._source(where) | {"dtype": DTYPES[self.dtype]}
        if self._spread:
            self._offload = self._offload or tempfile.TemporaryDirectory(prefix="hsd-viz-offload-")
            options |= {"device_map": "auto", "offload_folder": self._offload.name}
        elif getattr(config, "quantization_config", None) is not None:
            # Packed weights cannot be moved once they are there.
            options |= {"device_map": {"": self.device}}
        try:
            with reported(report):
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


def _device(device: str | None) -> torch.device:
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {device!r}: it is cpu or cuda, or auto for as many devices as a model needs")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here: use the device cpu")
    return found
