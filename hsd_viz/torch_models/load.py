"""Load checkpoints of transformers, and check whether they can be decoded here: by the config where
that suffices, and by the model's own forward pass where it does not.

Speculative decoding asks four things of a model: it continues text (causal), it reads one text
alone (no encoder), its state can forget the last tokens (attention, no recurrence), and it takes a
mask and positions from outside (draft trees).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING
from transformers.utils import logging as hf_logging

from hsd_viz.decoding.session import Session
from hsd_viz.errors import BadFile, UserError, first_line, no_panics
from hsd_viz.machine import threads
from hsd_viz.models.files import ModelFiles
from hsd_viz.models.safetensors import SafetensorsTensors, weight_files
from hsd_viz.models.tokenizer_file import read_tokenizer_file
from hsd_viz.torch_models.eager import (
    CHUNKED,
    FULL,
    SLIDING,
    HFModel,
    layer_kinds,
    settle_arithmetic,
)
from hsd_viz.torch_models.llama_modules import ReducedHead, is_readable, load_module

_HUB_TIMEOUT = 3.0
#: Tokens of the text that a model is tried on.
_PROBE = 8
#: Parameters that a byte of a weights file may hold: two of 4 bits.
NUMBERS_PER_BYTE = 2
#: Layers that are plausible however few tensors there are.
FEW_LAYERS = 64
#: The largest plausible sizes of a model; the libraries would try to build any.
_MOST = {"num_hidden_layers": 10_000} | dict.fromkeys(
    (
        "hidden_size",
        "intermediate_size",
        "vocab_size",
        "num_attention_heads",
        "num_key_value_heads",
    ),
    10**7,
)


class Checkpoint:
    """A checkpoint: ``where`` is a folder or a hub id, ``name`` what messages call it; ``dtype`` is
    torch's. Methods raise a UserError with one line where something cannot be loaded.
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
        """The configuration, of a model that can be decoded here as far as it shows."""
        with self._reading(f"{self._name} cannot be loaded"):
            check_sizes(self._reader(PreTrainedConfig.get_config_dict)()[0])
            config = self._reader(AutoConfig.from_pretrained)()
        check_config(self._name, config)
        return config

    def tokenizer(self) -> Any:
        """Return the tokenizer of transformers."""
        assert self.config
        file = Path(self._where) / "tokenizer.json"
        if file.is_file():
            read_tokenizer_file(file)  # refuses what a tokenizer may not ask for
        what = f"the tokenizer of {self._name} cannot be loaded"
        with self._reading(what), no_panics(what):
            tokenizer = self._reader(AutoTokenizer.from_pretrained)()
            if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
                backend.no_padding()
                backend.no_truncation()
            return tokenizer

    def model(self, tokens: int, files: ModelFiles | None = None) -> HFModel:
        """Return the model; its tokenizer has so many tokens. ``files`` are those of a
        Llama-shaped model.
        """
        model = HFModel(self._name, self._module(files), tokens)
        check_forward(model)
        return model

    def _module(self, files: ModelFiles | None) -> torch.nn.Module:
        threads()  # those asked for are torch's from now on
        if files is not None and not is_readable(files):
            return load_module(files, self._dtype, self._device)
        self._check_files()
        is_quantized = getattr(self.config, "quantization_config", None) is not None
        with self._reading(f"{self._name} cannot be loaded as a causal language model"):
            read = self._reader(AutoModelForCausalLM.from_pretrained)
            if is_quantized:
                # Packed weights cannot be moved once they are there.
                return read(dtype=self._dtype, device_map={"": self._device})
            return read(dtype=self._dtype).to(self._device)

    def _reader(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of transformers that reads the checkpoint's files. Code that comes with
        a checkpoint is never run.
        """
        return partial(
            read,
            self._where,
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=self._is_unreached,
        )

    def _check_files(self) -> None:
        """Compare a folder's weights with its configuration before anything is allocated.

        Raises:
            BadFile: if there are none but pickled ones, an index names a file elsewhere, or the
                sizes in the configuration are not those of the tensors.
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
        """Whether the checkpoint is on the model hub, and the hub does not have it or does not
        answer. It is asked once: its client would retry each file for most of a minute.
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
        """Convert any error of the libraries for files and formats to a UserError with one line."""
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
            elif reason.endswith(":"):  # it only announces a list
                reason = "its files are missing or of no known form"
            raise UserError(f"{failed}: {reason}") from None


def check_sizes(config: dict[str, Any]) -> None:
    """Raise ``UserError`` if a size in a ``config.json`` is beyond any model, before a library
    builds it.
    """
    for name, value in config.items():
        if isinstance(value, dict):
            check_sizes(value)
        elif isinstance(value, int | float) and name in _MOST and not value <= _MOST[name]:
            raise UserError(f"{name} is {value} in its config: expected at most {_MOST[name]}")


def check_config(name: str, config: PreTrainedConfig) -> None:
    """Raise ``UserError`` if a config shows that its model cannot be decoded here."""
    kind = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    if config.is_encoder_decoder or kind is None:
        what = (
            "an encoder-decoder model"
            if config.is_encoder_decoder
            else f"a model of the type {config.model_type}"
        )
        raise UserError(
            f"{name} is {what}: only causal (decoder-only) language models can be decoded here"
        )
    foreign = layer_kinds(config.get_text_config(decoder=True)) - {FULL, SLIDING, CHUNKED}
    if foreign or getattr(kind, "_is_stateful", False):
        what = ", ".join(sorted(foreign)) or config.model_type
        raise UserError(
            f"{name} keeps a state that cannot be rolled back ({what}): speculative decoding needs "
            "attention layers"
        )


@torch.inference_mode()
def check_forward(model: HFModel, session: Session | None = None) -> None:
    """Raise ``UserError`` if the rows of a session (default: one of the model's own) differ from
    those of the model's own forward pass. Three forward passes of a few tokens: the model by itself
    over a short text, and a session that reads half of it and has the other half in a tree between
    other drafts. This detects what a config does not show: attention that looks ahead, positions or
    masks that a model makes itself.
    """
    half = _PROBE // 2
    stride = max(1, model.vocab_size // (3 * _PROBE))
    tokens = [(1 + stride * k) % model.vocab_size for k in range(_PROBE + half)]
    text = tokens[:_PROBE]
    others = tokens[_PROBE:]
    # At each depth another token, and then the text's, which is the parent of the next two.
    drafted: list[int] = []
    parents: list[int] = []
    for depth, (other, own_token) in enumerate(zip(others, text[half:], strict=True)):
        drafted += [other, own_token]
        parents += [2 * depth - 1, 2 * depth - 1]
    try:
        own = (
            model.logits(text, range(_PROBE), _PROBE, options={"use_cache": False})[half:]
            .double()
            .cpu()
            .numpy()
        )
        session = model.session() if session is None else session
        session.feed(text[:half])
        rows = session.forward(drafted, len(drafted), parents)[1::2]
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        why = f"its forward does not take a cache, a mask and positions ({first_line(error)})"
        raise UserError(f"{model.name} cannot be decoded here: {why}") from None
    head = getattr(model.module, "lm_head", None)
    if isinstance(head, ReducedHead):
        # The logits of all other tokens are -inf.
        in_head = head.tokens.cpu().numpy()
        own = own[:, in_head]
        rows = rows[:, in_head]
    if not np.isfinite(own).all():
        raise UserError(
            f"{model.name} gives logits that are not finite in {model.dtype}: try another dtype"
        )
    # The mean over the rows of ‖rows − own‖ / ‖own − its mean‖: about 1.4 for rows of other texts.
    # Half precision alone moves a row by a few per cent, in mixtures of experts and deep models by
    # more, and their worst logit by as much as a wrong mask does.
    spread = np.linalg.norm(own - own.mean(-1, keepdims=True), axis=-1)
    distance = (np.linalg.norm(rows - own, axis=-1) / np.maximum(spread, 1e-9)).mean()
    if not distance <= (0.02 if model.dtype in ("float32", "float64") else 0.3):
        raise UserError(
            f"{model.name} cannot be decoded here: in a tree of drafts its rows are not those of "
            f"the text itself ({model.module.config.model_type} makes its own mask or positions, "
            "or looks ahead)"
        )
