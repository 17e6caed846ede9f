"""Checkpoints of transformers: configurations, tokenizers and modules, each loaded once."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig
from transformers.utils import logging as hf_logging

from hsd_viz.ladder.load import is_rounded, load_model
from hsd_viz.machine import threads
from hsd_viz.torch_models.eager import HFModel, settle_arithmetic
from hsd_viz.torch_models.suitable import check_config, check_forward, check_sizes
from hsd_viz.words import first_line

_HUB_TIMEOUT = 3.0


class Checkpoints:
    """The checkpoints of one engine. ``where`` is a folder or a hub id, ``name`` what messages call it; ``dtype`` is
    torch's.

    Methods raise a ValueError with one line where something cannot be loaded.
    """

    def __init__(self, device: str, dtype: str) -> None:
        self._device, self._dtype = device, getattr(torch, dtype)
        self._configs: dict[str, PreTrainedConfig] = {}
        self._hub: dict[str, str | None] = {}
        settle_arithmetic(torch.device(device))
        hf_logging.disable_progress_bar()

    def config(self, name: str, where: str) -> PreTrainedConfig:
        """Return a configuration, of a model that can be decoded here as far as it shows."""
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

    def tokenizer(self, name: str, where: str) -> Any:
        """Return a tokenizer of transformers."""
        self.config(name, where)
        try:
            return AutoTokenizer.from_pretrained(where, **self._source(where))
        except Exception as error:  # any error of the libraries for files and formats
            raise ValueError(f"the tokenizer of {name} cannot be loaded: {self._reason(where, error)}") from None

    def model(self, name: str, where: str, tokens: int) -> HFModel:
        """Return a model whose tokenizer has so many tokens."""
        model = HFModel(name, self._module(name, where), tokens)
        check_forward(model)
        return model

    def _module(self, name: str, where: str) -> torch.nn.Module:
        threads()  # those asked for are torch's from now on
        config = self.config(name, where)
        options: dict[str, Any] = self._source(where) | {"dtype": self._dtype}
        if getattr(config, "quantization_config", None) is not None:
            # Packed weights cannot be moved once they are there.
            options |= {"device_map": {"": self._device}}
        try:
            if is_rounded(where):
                return load_model(where, self._device, self._dtype)
            module = AutoModelForCausalLM.from_pretrained(where, **options)
            return module if "device_map" in options else module.to(self._device)
        except torch.OutOfMemoryError:
            raise ValueError(f"{name} does not fit on {self._device}: the device has too little free memory") from None
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
        """Return the library's reason in one line; where its first line only announces a list, that the files are
        missing.
        """
        line, unreached = first_line(error), self._hub.get(where)
        if "trust_remote_code" in str(error):
            return "it needs program code that comes with it, and such code is never run here"
        if isinstance(error, OSError) and unreached:
            return unreached
        return "its files are missing or of no known form" if line.endswith(":") else line


def pick_device(device: str | None) -> str:
    """Return the device of that name, by default the best. Raises: ValueError: if there is none."""
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {device!r}: it is cpu or cuda")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here: use the device cpu")
    return str(found)
