"""A causal language model whose cache can roll back: the one thing the loop asks of a model.

:class:`CachedModel` is the interface; :class:`HFModel` holds the weights of any Hugging Face causal model and opens
:class:`HFSession`s over it, one per decode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from hsd_viz.decoding.cache import RollingCache
from hsd_viz.decoding.settings import Sampling


class CachedModel(Protocol):
    """One model reading one sequence. ``length`` tokens of it are in the cache.

    A model that can decode several tokens in one launch also is a :class:`Launcher`.
    """

    length: int

    def forward(self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None) -> Tensor:
        """Feed ``tokens`` behind the cached ones and return the logits ``[rows, V]`` of the last ``rows`` of those fed.

        ``parents`` gives each fed token the index (among the fed) of the token before it, -1 for the last cached one; ``None``
        means a chain. ``tail``, ids ``[k]`` on the device that the host may not have seen yet, is fed behind ``tokens``; only
        what a :class:`Launcher` drafted comes this way. Adds the number of fed tokens to ``length``.
        """

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens (nothing happens when there are no more)."""

    def keep(self, base: int, places: Sequence[int]) -> None:
        """Of the places from ``base`` on keep only ``places`` (ascending): ``length`` becomes ``base + len(places)``."""


class Launcher(CachedModel, Protocol):
    """A model whose whole draft is one launch, sampling inside."""

    def sample(
        self, tokens: Sequence[int], n: int, sampling: Sampling, chances: Sequence[float], eos: frozenset[int]
    ) -> tuple[Tensor, Tensor | None]:
        """Feed ``tokens`` and decode ``n`` tokens behind them: ids ``[k]`` and the rows ``[k, V]`` they were drawn from.

        Token j is the arg-max (rows ``None``) or drawn with ``chances[j]`` by
        :func:`~hsd_viz.decoding.sampling.draw` from :func:`~hsd_viz.decoding.sampling.distribution`; each is fed but the last:
        ``length`` grows by ``len(tokens) + k - 1``. ``k`` is ``n``, or less where the model sees a token of ``eos`` and stops
        behind it; a model that does not look goes on. Nothing is fetched from the device.
        """


class Model(Protocol):
    """The weights of a model in some runtime, shared by all decodes.

    ``positions`` is the longest text it can read (``None``: not limited), ``parameters`` their number, ``runtime`` what runs
    its forwards: ``eager``, ``native`` or ``cuda-graphs``.
    """

    name: str
    vocab_size: int
    positions: int | None
    device: torch.device
    dtype: torch.dtype
    runtime: str

    @property
    def parameters(self) -> int: ...

    def session(self) -> CachedModel:
        """A fresh, empty sequence."""


class HFModel:
    """The weights of a Hugging Face causal language model, shared by all decodes (batch size 1, evaluation mode).

    Raises ``ValueError`` with one sentence for models whose state cannot roll back (recurrent) or that are no causal
    decoders.
    """

    runtime = "eager"

    def __init__(self, name: str, module: torch.nn.Module) -> None:
        config = module.config.get_text_config(decoder=True)
        if getattr(config, "is_encoder_decoder", False):
            raise ValueError(f"{name} is an encoder-decoder model: only causal (decoder-only) language models can be decoded here")
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        foreign = kinds - {"full_attention", "sliding_attention"}
        if foreign or getattr(module, "_is_stateful", False):
            what = ", ".join(sorted(foreign)) or config.model_type
            raise ValueError(f"{name} keeps a state that cannot be rolled back ({what}): speculative decoding needs attention layers")
        self.name = name
        self.module = module.eval()
        self.layers: int = config.num_hidden_layers
        self.vocab_size: int = config.vocab_size
        self.positions: int | None = getattr(config, "max_position_embeddings", None)
        self._window: int | None = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
        self._mixed = len(kinds) > 1
        self._windowed = "sliding_attention" in kinds or (self._window is not None and not hasattr(config, "layer_types"))
        self.device = module.device
        self.dtype = module.dtype

    @property
    def parameters(self) -> int:
        """Number of parameters, shared ones counted once."""
        return sum(p.numel() for p in self.module.parameters())

    def session(self) -> HFSession:
        """A fresh, empty sequence."""
        return HFSession(self)

    def mask(self, cached: int, parents: Sequence[int] | None, n: int) -> Tensor | dict | None:
        """What each of ``n`` fed tokens may attend to: bool ``[1, 1, n, cached + n]``, or one per layer type."""
        if n == 1 and not self._windowed:
            return None
        if parents is None:
            seen = torch.ones(n, cached + n, dtype=torch.bool).tril(cached)
            place = torch.arange(n)
        else:
            seen = torch.zeros(n, cached + n, dtype=torch.bool)
            seen[:, :cached] = True
            depth = [0] * n
            for i, parent in enumerate(parents):
                if parent >= 0:
                    seen[i] = seen[parent]
                    depth[i] = depth[parent] + 1
                seen[i, cached + i] = True
            place = torch.tensor(depth)
        full = seen.to(self.device)[None, None]
        if not self._windowed:
            return full
        # Fed tokens are never more than a chunk, so only keys in the cache can fall out of the window by more than their place.
        keys = torch.cat([torch.arange(cached), cached + place])
        near = (cached + place)[:, None] - keys[None, :] < self._window
        windowed = (seen & near).to(self.device)[None, None]
        return {"full_attention": full, "sliding_attention": windowed} if self._mixed else windowed


class HFSession:
    """One sequence in an :class:`HFModel`: its cache and how much of it is valid."""

    def __init__(self, model: HFModel) -> None:
        self._model = model
        self._cache = RollingCache(model.layers)

    @property
    def length(self) -> int:
        return self._cache.length

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None) -> Tensor:
        model, cached, n = self._model, self._cache.length, len(tokens) + (0 if tail is None else len(tail))
        if parents is None:
            places = range(cached, cached + n)
        else:
            places = []
            for parent in parents:
                places.append(cached if parent < 0 else places[parent] + 1)
        ids = torch.tensor([list(tokens)], device=model.device)
        logits = model.module(
            input_ids=ids if tail is None else torch.cat([ids, tail[None]], dim=1),
            position_ids=torch.tensor([list(places)], device=model.device),
            attention_mask=model.mask(cached, parents, n),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=rows,
        ).logits
        self._cache.length = cached + n
        return logits[0]

    def truncate(self, length: int) -> None:
        self._cache.length = min(self._cache.length, length)

    @torch.inference_mode()
    def keep(self, base: int, places: Sequence[int]) -> None:
        self._cache.gather(base, list(places))
        self._cache.length = base + len(places)
