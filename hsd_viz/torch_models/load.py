"""Load checkpoints of transformers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig
from transformers.utils import logging as hf_logging

from hsd_viz.errors import BadFile, UserError, first_line, no_panics
from hsd_viz.machine import threads
from hsd_viz.models.files import ModelFiles
from hsd_viz.models.safetensors import SafetensorsTensors, weight_files
from hsd_viz.models.tokenizer_file import read_tokenizer_file, without_padding
from hsd_viz.torch_models.eager import (
    HFModel,
    settle_arithmetic,
)
from hsd_viz.torch_models.llama_modules import is_readable, load_module
from hsd_viz.torch_models.suitable import check_config, check_forward, check_sizes

_HUB_TIMEOUT = 3.0
#: The largest number of parameters per byte of a weights file: two of 4 bits.
NUMBERS_PER_BYTE = 2
#: The number of layers that is plausible for any number of tensors.
FEW_LAYERS = 64
#: A lock that is held while transformers builds a model, because it then changes the default number
#: type and the initialisation of layers of the whole process.
_BUILDING = threading.Lock()


class Checkpoint:
    """A checkpoint of transformers.

    Methods raise a UserError with a one-line message if a file cannot be loaded.

    Args:
        name: the name of the model in messages.
        where: the folder or the hub id.
        device: the device of the model.
        dtype: the name of the number type in torch.
    """

    def __init__(self, name: str, where: str, device: str, dtype: str) -> None:
        self._name = name
        self._where = where
        self._device = device
        self._dtype = getattr(torch, dtype)
        self._unreached: str | None = None
        settle_arithmetic(torch.device(device))
        hf_logging.disable_progress_bar()

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration, checked to be that of a model that can be decoded here."""
        with self._reading(f"{self._name} cannot be loaded"):
            check_sizes(self._reader(PreTrainedConfig.get_config_dict)()[0])
            config = self._reader(AutoConfig.from_pretrained)()
        check_config(self._name, config)
        return config

    def tokenizer(self) -> Any:
        """Load the tokenizer by transformers."""
        assert self.config
        file = Path(self._where) / "tokenizer.json"
        if file.is_file():
            read_tokenizer_file(file)  # raises an error for settings that are not allowed
        what = f"the tokenizer of {self._name} cannot be loaded"
        with self._reading(what), no_panics(what):
            return without_padding(self._reader(AutoTokenizer.from_pretrained)())

    def model(self, tokens: int, files: ModelFiles | None = None) -> HFModel:
        """Load the model.

        Args:
            tokens: the number of tokens in its tokenizer.
            files: the opened files of a Llama-shaped model; ``None`` for other models.
        """
        with _BUILDING:
            module = self.module(files)
        model = HFModel(self._name, module, tokens)
        check_forward(model)
        return model

    def module(self, files: ModelFiles | None = None) -> torch.nn.Module:
        """Load the module of the model; ``files`` are those of :meth:`model`."""
        threads()  # sets the number of threads of torch
        if files is not None and not is_readable(files):
            return load_module(files, self._dtype, self._device)
        self._check_files()
        is_quantized = getattr(self.config, "quantization_config", None) is not None
        with self._reading(f"{self._name} cannot be loaded as a causal language model"):
            read = self._reader(AutoModelForCausalLM.from_pretrained)
            if is_quantized:
                # Packed weights cannot be moved to another device after loading.
                return read(dtype=self._dtype, device_map={"": self._device})
            return read(dtype=self._dtype).to(self._device)

    def _reader(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """Bind a loading function of transformers to the checkpoint, whose code is never run."""
        return partial(
            read,
            self._where,
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=self._is_unreached,
        )

    def _check_files(self) -> None:
        """Check the weights in a folder against the configuration, before memory is allocated.

        Raises:
            BadFile: if there are only pickled weights, if an index names a file outside the folder,
                or if the sizes in the configuration do not match the tensors.
        """
        folder = Path(self._where)
        if not folder.is_dir():
            return
        tensors = SafetensorsTensors(weight_files(folder))
        names = tensors.names()
        layers = getattr(self.config.get_text_config(decoder=True), "num_hidden_layers", 0)
        if layers > max(len(names), FEW_LAYERS):
            raise BadFile(f"{self._name} has {len(names)} tensors for {layers} layers")
        with self._reading(f"{self._name} cannot be built"), torch.device("meta"):
            module = AutoModelForCausalLM.from_config(self.config)
        stored_bytes = sum(path.stat().st_size for path in tensors.files)
        numbers = sum(parameter.numel() for parameter in module.parameters())
        if numbers > NUMBERS_PER_BYTE * stored_bytes:
            raise BadFile(
                f"{self._name} has {numbers} parameters by its config, "
                f"its weights have {stored_bytes} bytes"
            )
        if getattr(self.config, "quantization_config", None) is not None:
            return
        for name, parameter in module.state_dict().items():
            if name in names and tensors.shape(name) != tuple(parameter.shape):
                raise BadFile(
                    f"{self._name}: the tensor {name} has the shape {[*tensors.shape(name)]}, "
                    f"its config has {[*parameter.shape]}"
                )

    @cached_property
    def _is_unreached(self) -> bool:
        """Whether a hub id cannot be found on the model hub, or the hub does not respond.

        This is checked once, because the client of the hub would retry each file for up to a
        minute.
        """
        if Path(self._where).is_absolute():
            return False
        logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
        try:
            HfApi().model_info(self._where, timeout=_HUB_TIMEOUT)
        except RepositoryNotFoundError:
            self._unreached = (
                "the model hub has no public model of that name, and neither has the local cache"
            )
        except (
            Exception
        ):  # no network, a proxy's page, an overloaded hub: the local cache may still have it
            self._unreached = (
                "the model hub cannot be reached and the model is not in the local cache"
            )
        return self._unreached is not None

    @contextmanager
    def _reading(self, failed: str) -> Iterator[None]:
        """Convert errors of the libraries to a UserError with a one-line message."""
        try:
            yield
        except torch.OutOfMemoryError:
            where = f"{self._device}: the device has too little free memory"
            raise UserError(f"{self._name} does not fit on {where}") from None
        except Exception as error:
            reason = first_line(error)
            if "trust_remote_code" in str(error):
                reason = "it needs program code that comes with it, and such code is never run here"
            elif isinstance(error, OSError) and self._unreached:
                reason = self._unreached
            elif reason.endswith(":"):  # the first line only introduces a list
                reason = "its files are missing or of no known form"
            raise UserError(f"{failed}: {reason}") from None
