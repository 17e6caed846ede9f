"""Checkpoints of transformers: configuration, tokenizer and module."""

from __future__ import annotations

import logging
from functools import cached_property
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


class Checkpoint:
    """A checkpoint: ``where`` is a folder or a hub id, ``name`` what messages call it; ``dtype`` is torch's.

    Methods raise a ValueError with one line where something cannot be loaded.
    """

    def __init__(self, name: str, where: str, device: str, dtype: str) -> None:
        self._name, self._where, self._device, self._dtype = name, where, device, getattr(torch, dtype)
        self._unreached: str | None = None
        settle_arithmetic(torch.device(device))
        hf_logging.disable_progress_bar()

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration, of a model that can be decoded here as far as it shows."""
        try:
            check_sizes(PreTrainedConfig.get_config_dict(self._where, **self._source)[0])
            config = AutoConfig.from_pretrained(self._where, **self._source)
        except Exception as error:  # any error of the libraries for files and formats
            raise ValueError(f"{self._name} cannot be loaded: {self._reason(error)}") from None
        check_config(self._name, config)
        return config

    def tokenizer(self) -> Any:
        """Return the tokenizer of transformers."""
        assert self.config
        try:
            return AutoTokenizer.from_pretrained(self._where, **self._source)
        except Exception as error:  # any error of the libraries for files and formats
            raise ValueError(f"the tokenizer of {self._name} cannot be loaded: {self._reason(error)}") from None

    def model(self, tokens: int) -> HFModel:
        """Return the model; its tokenizer has so many tokens."""
        model = HFModel(self._name, self._module(), tokens)
        check_forward(model)
        return model

    def _module(self) -> torch.nn.Module:
        threads()  # those asked for are torch's from now on
        options: dict[str, Any] = self._source | {"dtype": self._dtype}
        if getattr(self.config, "quantization_config", None) is not None:
            # Packed weights cannot be moved once they are there.
            options |= {"device_map": {"": self._device}}
        try:
            if is_rounded(self._where):
                return load_model(self._where, self._device, self._dtype)
            module = AutoModelForCausalLM.from_pretrained(self._where, **options)
            return module if "device_map" in options else module.to(self._device)
        except torch.OutOfMemoryError:
            where = f"{self._device}: the device has too little free memory"
            raise ValueError(f"{self._name} does not fit on {where}") from None
        except Exception as error:  # any error of the libraries for files and formats
            reason = self._reason(error)
            raise ValueError(f"{self._name} cannot be loaded as a causal language model: {reason}") from None

    @cached_property
    def _source(self) -> dict[str, Any]:
        """transformers' options for files: code that comes with a checkpoint is never run, and an unreachable hub is
        asked once. By itself the hub's client retries each file for most of a minute.
        """
        options: dict[str, Any] = {"trust_remote_code": False}
        if Path(self._where).is_absolute():
            return options
        logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
        try:
            HfApi().model_info(self._where, timeout=_HUB_TIMEOUT)
        except RepositoryNotFoundError:
            self._unreached = "the model hub has no public model of that name, and neither has the local cache"
        except Exception:  # no network, a proxy's page, an overloaded hub: the local cache may still have it
            self._unreached = "the model hub cannot be reached and the model is not in the local cache"
        return options | {"local_files_only": self._unreached is not None}

    def _reason(self, error: BaseException) -> str:
        """Return the library's reason in one line; where its first line only announces a list, that the files are
        missing.
        """
        line = first_line(error)
        if "trust_remote_code" in str(error):
            return "it needs program code that comes with it, and such code is never run here"
        if isinstance(error, OSError) and self._unreached:
            return self._unreached
        return "its files are missing or of no known form" if line.endswith(":") else line
