"""Hugging Face causal models by their own forward pass, over a cache that rolls back."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np
import torch

from hsd_viz.decoding.session import Session
from hsd_viz.torch_models.cache import Masks, move, positions_of, rolling_cache
from hsd_viz.torch_models.suitable import context


def dtype_name(dtype: torch.dtype) -> str:
    """Return a name as in ``float32``."""
    return str(dtype).removeprefix("torch.")


def settle_arithmetic(device: torch.device) -> None:
    """Choose, for the whole process, how a CUDA device computes: the same for our forward passes and for others'.

    cuDNN's attention, first choice of torch 2.11 on Hopper, plans again for every length of text, which takes tens of
    milliseconds each. Sums of products stay in float32 between the parts of a split.
    """
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


class HFModel:
    """The weights of a Hugging Face causal language model, shared by all decodes (batch size 1, evaluation mode): a
    :class:`~hsd_viz.decoding.session.Model`.

    ``tokens`` is how many token ids its tokenizer has: rows that a checkpoint has beyond them (padded embeddings) are
    cut off, so that models of one tokenizer have rows of one width, ``vocab_size``, and every id that is drawn is a
    token.
    """

    runtime = "eager"

    def __init__(self, name: str, module: torch.nn.Module, tokens: int | None = None) -> None:
        config = module.config.get_text_config(decoder=True)
        self.name = name
        self.module = module.eval()
        self.layers: int = config.num_hidden_layers
        self.vocab_size: int = min(config.vocab_size, tokens or config.vocab_size)
        self.positions: int | None = context(config)
        self.device = module.device
        self.dtype = dtype_name(module.dtype)
        #: Shared parameters are counted once.
        self.parameters = sum(p.numel() for p in module.parameters())
        self.masks = Masks(config, self.device, module.dtype)
        accepted = inspect.signature(module.forward).parameters
        self._rows_only = "logits_to_keep" in accepted
        self._placed = "position_ids" in accepted

    def session(self, room: int | None = None) -> Session:
        """Open an empty sequence."""
        return HFSession(self)

    def logits(self, ids: Sequence[int], places: Sequence[int], rows: int, **options) -> torch.Tensor:
        """Run the module's forward pass for token ``ids`` at ``places`` in the text; return the last ``rows`` of its
        logits ``[rows, V]``, on its device.
        """
        if self._placed:
            options["position_ids"] = torch.tensor([list(places)], device=self.device)
        if self._rows_only:
            options["logits_to_keep"] = rows
        found = self.module(input_ids=torch.tensor([list(ids)], device=self.device), **options)
        return found.logits[0, -rows:, : self.vocab_size]


def to_numpy(values: torch.Tensor) -> np.ndarray:
    """Return values on the host, shared where numpy has their type, else in float32."""
    return (values.float() if values.dtype.itemsize <= 2 else values).cpu().numpy()


class HFSession(Session):
    """One sequence in an :class:`HFModel`."""

    def __init__(self, model: HFModel) -> None:
        self._model, self._cache, self.length = model, rolling_cache(), 0

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None) -> np.ndarray:
        model, cached, n = self._model, self.length, len(tokens)
        logits = model.logits(
            tokens,
            positions_of(n, cached, parents),
            rows,
            attention_mask=model.masks.make(cached, parents, n),
            past_key_values=self._cache,
            use_cache=True,
        )
        self.length = cached + n
        return to_numpy(logits)

    def truncate(self, length: int) -> None:
        if length < self.length:
            self._cache.crop(length - self.length)
            self.length = length

    @torch.inference_mode()
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        move(self._cache.layers, base, [base + node for node in nodes])
        self.truncate(base + len(nodes))
