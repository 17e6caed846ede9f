"""A causal language model whose cache can roll back: the only requirement of the loop.

:class:`CachedModel` is the interface; :class:`HFModel` has the weights of any Hugging Face causal model and opens
:class:`HFSession`s over it, one per decode.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from hsd_viz.decoding.backend import Notes
from hsd_viz.decoding.cache import Masks, RollingCache, positions_of
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.suitable import check_module, context
from hsd_viz.decoding.verify import Verdict


@dataclass(slots=True)
class ForwardResult:
    """One forward pass: its ``scores``, logits ``[rows, V]`` (none where several rounds were one call) and, where the
    model verified the draft in it, the verdict.

    Where asked for, ``details`` describe the walked rows (see :meth:`hsd_viz.decoding.backend.Backend.describe`), and
    ``left`` what a sampled correction was drawn from: the probability of all tokens that were not drafted, then id and
    share of each of the likeliest ones; ``q`` has the same of the row of a sampled draft there. ``p`` are the rows
    ``[k, V]`` of the walked places, where asked for. ``notes`` are what the backend is to find with the verdict.
    """

    scores: Tensor | np.ndarray | None
    verdict: Verdict | None = None
    details: Sequence[float] | None = None
    left: Sequence[float] | None = None
    q: Sequence[float] | None = None
    p: Tensor | None = None
    notes: Notes | None = None

    @property
    def logits(self) -> Tensor:
        """The scores as a tensor, which is made when it is asked for: most native rounds need none."""
        return torch.as_tensor(self.scores)


class SampledDraft(NamedTuple):
    """A chain that was sampled from ``rows`` ``[n, V]``; ``u`` ``[n]`` are the uniform numbers by which ``rule`` of
    :data:`~hsd_viz.decoding.verify.CHAIN_RULES` decides on its tokens.
    """

    rows: Tensor
    u: Sequence[float]
    rule: str


class DecodedRun(NamedTuple):
    """Tokens of plain decoding: ``times`` (ns, any origin) are the start and the end of each one's forward pass."""

    tokens: list[int]
    times: list[int]
    details: Sequence[float] | None


class CachedModel(Protocol):
    """One model reading one sequence. ``length`` tokens of it are in the cache.

    ``can_sample``: it also is a :class:`Launcher`; ``can_verify``: it also is a :class:`Verifier`.
    """

    length: int
    can_sample: bool
    can_verify: bool

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None
    ) -> Tensor:
        """Feed ``tokens`` after the cached ones and return the logits ``[rows, V]`` of the last ``rows`` of those fed.

        ``parents`` gives each fed token the index (among the fed) of the token before it, -1 for the last cached one;
        ``None`` means a chain. ``tail``, ids ``[k]`` on the device that the host may not know yet, is fed after
        ``tokens``; only what a :class:`Launcher` drafted is passed this way. Adds the number of fed tokens to
        ``length``.
        """

    def truncate(self, length: int) -> None:
        """Remove all but the first ``length`` tokens (no effect when there are no more)."""

    def keep(self, base: int, places: Sequence[int]) -> None:
        """Of the places from ``base`` on keep only ``places`` (ascending): ``length`` becomes ``base +
        len(places)``.
        """


class Verifier(CachedModel, Protocol):
    """A model that verifies drafts in its forward pass, and decodes several tokens in one call.

    Both give the very tokens that the reference draws. Where rounding could decide otherwise they leave the token open.
    They do not take top-p below 1.
    """

    def forward_verified(
        self,
        tokens: Sequence[int],
        rows: int,
        parents: Sequence[int] | None,
        sampling: Sampling,
        chances: Sequence[float],
        details: int = 0,
        drafted: SampledDraft | None = None,
        keep_rows: bool = False,
        tail: Tensor | None = None,
        notes: Notes | None = None,
    ) -> ForwardResult:
        """Feed tokens and :func:`~hsd_viz.decoding.verify.walk` the last ``rows - 1`` of them, the draft; one that was
        ``drafted`` from rows is a chain, verified by its rule.

        ``chances`` are the uniform numbers by depth (none for greedy decoding). With ``details`` > 0 the walked rows
        are described, with so many of their likeliest tokens; with ``keep_rows`` those that were sampled from are
        returned. On a device the draft may be its own ``tail``, and ``notes`` are filled. The verdict is ``None`` where
        a token was left open.
        """

    def decode(
        self,
        tokens: Sequence[int],
        n: int,
        sampling: Sampling,
        chances: Sequence[float],
        eos: frozenset[int],
        details: int = 0,
    ) -> DecodedRun:
        """Feed ``tokens`` and decode up to ``n`` tokens after them, fewer after one of ``eos`` or before an open one.

        Each is fed but the last; where the first one is open, the last of ``tokens`` is to be fed again.
        """


class Launcher(CachedModel, Protocol):
    """A model that samples a whole draft in one call.

    One with another tokenizer (:mod:`~hsd_viz.decoding.bridge`) also has ``forwards``, the forward passes of its last
    draft, and ``recut``: its tokens are not those that were sampled.
    """

    def sample(
        self, tokens: Sequence[int], n: int, sampling: Sampling, chances: Sequence[float], eos: frozenset[int]
    ) -> tuple[Tensor | list[int], Tensor | None]:
        """Feed ``tokens`` and decode ``n`` tokens after them: ids ``[k]`` and the rows ``[k, V]`` they were drawn from.

        The ids are a tensor where they are on a device that works on its own, a list where the host knows them. Token j
        is the arg-max (rows ``None``) or drawn with ``chances[j]`` by :func:`~hsd_viz.decoding.sampling.draw` from
        :func:`~hsd_viz.decoding.sampling.distribution`; each is fed but the last: ``length`` grows by ``len(tokens) + k
        - 1``. ``k`` is ``n``, or less where the model detects a token of ``eos`` and stops after it. Nothing is fetched
        from the device.
        """


class Model(Protocol):
    """The weights of a model in some runtime, shared by all decodes.

    ``positions`` is the longest text it can read (``None``: not limited), ``parameters`` their number, ``runtime`` what
    runs its forward passes: ``eager``, ``native`` or ``cuda-graphs``.
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
        """Open an empty sequence."""


class HFModel:
    """The weights of a Hugging Face causal language model, shared by all decodes (batch size 1, evaluation mode).

    ``tokens`` is how many token ids its tokenizer has: rows that a checkpoint has beyond them (padded embeddings) are
    cut off, so that models of one tokenizer have rows of one width, ``vocab_size``, and every id that is drawn is a
    token.

    Raises:
        ValueError: if the model's state cannot roll back (recurrent) or it is not a causal decoder.
    """

    runtime = "eager"

    def __init__(self, name: str, module: torch.nn.Module, tokens: int | None = None) -> None:
        check_module(name, module)
        config = module.config.get_text_config(decoder=True)
        self.name = name
        self.module = module.eval()
        self.layers: int = config.num_hidden_layers
        self.vocab_size: int = min(config.vocab_size, tokens or config.vocab_size)
        self.positions: int | None = context(config)
        self.device = _input_device(module)
        self.dtype = module.dtype
        self._masks = Masks(config, self.device, self.dtype)
        accepted = inspect.signature(module.forward).parameters
        self._rows_only = "logits_to_keep" in accepted
        self._placed = "position_ids" in accepted
        #: The model that this one is the first layers of, with the same weights, if any.
        self.prefix_of: str | None = None

    @property
    def parameters(self) -> int:
        """Number of parameters, shared ones counted once."""
        return sum(p.numel() for p in self.module.parameters())

    def session(self) -> HFSession:
        """Open an empty sequence."""
        return HFSession(self)

    def mask(self, cached: int, parents: Sequence[int] | None, n: int) -> Tensor | dict[str, Tensor] | None:
        """Return the attention masks of ``n`` fed tokens; see :meth:`~hsd_viz.decoding.cache.Masks.make`."""
        return self._masks.make(cached, parents, n)

    def options(self, places: Tensor, rows: int) -> dict[str, Tensor | int]:
        """Return the options that the module's forward accepts: positions ``[1, n]`` and the number of rows."""
        accepted: dict[str, Tensor | int] = {"position_ids": places} if self._placed else {}
        return accepted | ({"logits_to_keep": rows} if self._rows_only else {})


def _input_device(module: torch.nn.Module) -> torch.device:
    """Return the device of the input ids: layers whose weights are on disk run on the first accelerator, if any."""
    spread = getattr(module, "hf_device_map", None)
    if not spread:
        return module.device
    found = [
        torch.device("cuda", place) if isinstance(place, int) else torch.device(place)
        for place in spread.values()
        if place != "disk"
    ]
    return next((device for device in found if device.type != "cpu"), torch.device("cpu"))


class HFSession:
    """One sequence in an :class:`HFModel`: its cache and how much of it is valid."""

    can_sample = can_verify = False

    def __init__(self, model: HFModel) -> None:
        self._model = model
        self._cache = RollingCache(model.layers)

    @property
    def length(self) -> int:
        return self._cache.length

    @torch.inference_mode()
    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None
    ) -> Tensor:
        model, cached, n = self._model, self._cache.length, len(tokens) + (0 if tail is None else len(tail))
        places = positions_of(n, cached, parents)
        ids = torch.tensor([list(tokens)], device=model.device)
        logits = model.module(
            input_ids=ids if tail is None else torch.cat([ids, tail[None]], dim=1),
            attention_mask=model.mask(cached, parents, n),
            past_key_values=self._cache,
            use_cache=True,
            **model.options(torch.tensor([places], device=model.device), rows),
        ).logits
        self._cache.length = cached + n
        return logits[0, -rows:, : model.vocab_size]

    def truncate(self, length: int) -> None:
        self._cache.length = min(self._cache.length, length)

    @torch.inference_mode()
    def keep(self, base: int, places: Sequence[int]) -> None:
        self._cache.gather(base, list(places))
        self._cache.length = base + len(places)


class PrefixSession(HFSession):
    """One sequence in a model that is the first layers of the target: it reads and fills the target's own cache.

    What the target has read is known to it; ``length`` is beyond that while it drafts.
    """

    borrows = True

    def __init__(self, model: HFModel, target: HFSession) -> None:
        super().__init__(model)
        self._target, self._ahead = target, 0
        self._cache = target._cache.first(model.layers)

    @property
    def length(self) -> int:
        return max(self._ahead, self._target.length)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None
    ) -> Tensor:
        read, cached = self._target.length, self.length
        try:
            self._cache.length = cached
            return super().forward(tokens, rows, parents, tail)
        finally:
            self._ahead, self._cache.length = self._cache.length, read

    def truncate(self, length: int) -> None:
        self._ahead = min(self._ahead, length)

    def keep(self, base: int, places: Sequence[int]) -> None:
        self._cache.gather(base, list(places))
        self._ahead = base + len(places)
