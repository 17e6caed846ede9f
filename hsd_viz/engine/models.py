"""Loading models by the names that a stack uses, once each."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as hf_logging

from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.text import TokenText, differing_tokens
from hsd_viz.ladder.load import model_path, names, weights_hash

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}


class Models:
    """The models of one engine: a target and whatever drafts for it, on one device and dtype.

    ``allow_models=False`` refuses everything but ladder names. Raises ``ValueError`` with one sentence for names that are no
    models and for drafts whose tokenizer is not the target's.
    """

    def __init__(self, target: str, device: str | None, dtype: str | None, allow_models: bool) -> None:
        self.device = _device(device)
        if dtype is not None and dtype not in DTYPES:
            raise ValueError(f"unknown dtype {dtype!r}: it is one of {', '.join(DTYPES)}")
        self.dtype = dtype or ("bfloat16" if self.device.type == "cuda" else "float32")
        self._allow = allow_models
        self._lock = threading.Lock()
        self._models: dict[str, HFModel] = {}
        self._texts: dict[str, TokenText] = {}
        self._hashes: dict[str, str | None] = {}
        self.target = target
        self.where(target)

    def where(self, name: str) -> str:
        """The checkpoint directory or hub id behind a name."""
        if name in names():
            return str(model_path(name))
        named = name.startswith(("./", "../", "/", "~"))
        if not named and name.count("/") != 1:
            raise ValueError(f"unknown model '{name}': the ladder has {', '.join(names())}; others are hub ids with one '/' or paths")
        if not self._allow:
            raise ValueError(f"'{name}' is not allowed here: only the models of the ladder ({', '.join(names())}) are")
        if not named:
            # Without a network the hub's client retries for most of a minute and tells of each try.
            logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
            return name
        path = Path(name).expanduser()
        if not (path / "config.json").is_file():
            raise ValueError(f"{name} is no model: a model is a folder with a config.json and weights")
        return str(path)

    def text(self, name: str) -> TokenText:
        """The tokenizer of a model."""
        where = self.where(name)
        if where not in self._texts:
            try:
                self._texts[where] = TokenText(AutoTokenizer.from_pretrained(where, trust_remote_code=False))
            except (OSError, ValueError, KeyError) as error:
                raise ValueError(f"the tokenizer of {name} cannot be loaded: {_reason(error)}") from None
        return self._texts[where]

    def loaded(self, name: str) -> bool:
        """Whether :meth:`get` would return at once."""
        return self.where(name) in self._models

    def get(self, name: str) -> HFModel:
        """The model of that name, loaded on first use."""
        where = self.where(name)
        with self._lock:
            if where not in self._models:
                self._models[where] = HFModel(name, self._load(name, where))
            return self._models[where]

    def check_tokenizers(self, target: str, drafts: list[str]) -> None:
        """Raise ``ValueError`` when a draft model's token ids do not mean what the target's do."""
        for draft in drafts:
            one, other = self.text(target).tokenizer, self.text(draft).tokenizer
            if one is not other and (why := differing_tokens(one, other)):
                raise ValueError(f"{draft} cannot draft for {target}: they have different tokenizers ({why})")

    def hash(self, name: str) -> str | None:
        """A short hash of the weights, ``None`` where they are no local safetensors."""
        where = self.where(name)
        if where not in self._hashes:
            try:
                self._hashes[where] = weights_hash(where)
            except (OSError, ValueError):
                self._hashes[where] = None
        return self._hashes[where]

    def _load(self, name: str, where: str) -> torch.nn.Module:
        hf_logging.disable_progress_bar()
        try:
            module = AutoModelForCausalLM.from_pretrained(where, dtype=DTYPES[self.dtype], trust_remote_code=False)
            return module.to(self.device)
        except torch.OutOfMemoryError:
            raise ValueError(f"{name} does not fit on {self.device}: the device has too little free memory") from None
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ValueError(f"{name} cannot be loaded as a causal language model: {_reason(error)}") from None


def _device(device: str | None) -> torch.device:
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {device!r}: it is cpu or cuda")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here: use the device cpu")
    return found


def _reason(error: BaseException) -> str:
    """The library's reason in one line; where its first line only announces a list, that the files are missing."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if "connect" in line.lower() or "offline" in line.lower():
        return "the model hub cannot be reached and the model is not in the local cache"
    return "its files are missing or of no known form" if line.endswith(":") else line
