"""What the loop asks of a level: one model reading one sequence. The loop knows no runtime.

A level below all others drafts (:class:`DraftSession`); each level above it also verifies
(:class:`VerifySession`). A runtime that returns logits implements :class:`Session`, which does both
in numpy. States of a layer, which few runtimes give, are :class:`StateSource`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from hsd_viz.decoding.rejection_sampling import (
    Draft,
    RecordOptions,
    SampledChain,
    UniformNumbers,
    Verdict,
    judge,
)
from hsd_viz.decoding.sampling import Sampling, chance_of, distribution, draw


class DraftSession(ABC):
    """A model reading one sequence and drafting after it; ``length`` tokens of it are read, and
    ``pending``, at least one, follow.
    """

    length: int

    @abstractmethod
    def feed(self, tokens: Sequence[int]) -> None:
        """Feed ``tokens`` after those that are read."""

    def truncate(self, length: int) -> None:
        """Remove all but the first ``length`` tokens; no effect when there are no more."""
        self.length = min(self.length, length)

    @abstractmethod
    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        """Feed ``pending`` and decode up to ``n`` tokens, fewer after one of ``eos``; each is fed
        but the last: :func:`sample_chain`.
        """


class VerifySession(DraftSession):
    """A model that also verifies drafts."""

    @abstractmethod
    def verify(
        self,
        pending: Sequence[int],
        draft: Draft,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        record: RecordOptions,
    ) -> Verdict:
        """Feed ``pending`` and the draft in one forward pass and verify it:
        :func:`~hsd_viz.decoding.rejection_sampling.judge`. The caller then keeps or truncates what
        was fed.
        """

    @abstractmethod
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """After ``base`` tokens keep only these nodes (ascending) of the draft fed there:
        ``length`` becomes ``base + len(nodes)``.
        """


class Session(VerifySession):
    """A model whose runtime returns logits; ``length`` tokens are in the cache.

    Sampling and verification by :meth:`forward` in numpy are the reference for all runtimes; native
    and compiled sessions do them in one call, with the same result.
    """

    @abstractmethod
    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        """Feed ``tokens`` and return the logits ``[rows, V]`` after the last ``rows`` of them, in
        float32 or float64.

        ``parents`` gives for each fed token the index (among the fed) of the token before it, -1
        for the last cached one; ``None`` means a chain.
        """

    def feed(self, tokens: Sequence[int]) -> None:
        self.forward(tokens, 1)

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        def logits_after(tokens: Sequence[int]) -> np.ndarray:
            return self.forward(tokens, 1)[0]

        return sample_chain(logits_after, pending, n, sampling, numbers, eos, confidence)

    def verify(
        self,
        pending: Sequence[int],
        draft: Draft,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        record: RecordOptions,
    ) -> Verdict:
        tree = draft.tree
        n = len(pending)
        parents: list[int] | None = None
        if not tree.is_chain:
            parents = [*range(-1, n - 1), *(n + parent for parent in tree.parents)]
        scores = self.forward([*pending, *tree.tokens], len(tree) + 1, parents)
        return judge(scores, draft, sampling, numbers, record)


@runtime_checkable
class StateSource(Protocol):
    """A session whose runtime gives the states of a layer."""

    def watch(self, depth: float) -> None:
        """Keep the states of the layer at this share of the depth, from the next forward pass
        on.
        """

    def states(self, places: Sequence[int]) -> np.ndarray:
        """Return what the watched layer read at these places of the tokens fed last: int8 ``[n,
        width]`` (:func:`~hsd_viz.drafting.semantic_database.quantise_states`).
        """


class DraftModel(Protocol):
    """The weights of a model that drafts, shared by all decodes.

    Attributes:
        name: its name.
        vocab_size: how many tokens its rows have.
        parameters: how many it has.
        runtime: what runs its forward passes: ``native``, ``eager``, ``compiled``, ``strict``,
            ``numpy``.
        dtype: the type of its weights.
    """

    name: str
    vocab_size: int
    parameters: int
    runtime: str
    dtype: str

    @property
    def positions(self) -> int | None:
        """The longest text that it can read; ``None``: not limited."""

    def session(self, room: int | None = None) -> DraftSession:
        """Open an empty sequence; buffers of a fixed size are made for a text of ``room``
        tokens.
        """


class Model(DraftModel, Protocol):
    """The weights of a model that drafts and verifies."""

    def session(self, room: int | None = None) -> Session:
        """Open an empty sequence; buffers of a fixed size are made for a text of ``room``
        tokens.
        """


def sample_chain(
    logits_after: Callable[[Sequence[int]], np.ndarray],
    pending: Sequence[int],
    n: int,
    sampling: Sampling,
    numbers: UniformNumbers | None,
    eos: frozenset[int],
    confidence: float,
) -> SampledChain:
    """Decode up to ``n`` tokens after ``pending``, fewer after one of ``eos``.

    Token k is the arg-max (``numbers`` is ``None``), or drawn with ``numbers.r[k]``. The chain also
    ends after the token with which its own probability falls below ``confidence``: that token is
    part of it. ``logits_after`` feeds tokens and returns the row ``[V]`` after the last of them.
    """
    tokens: list[int] = []
    rows: list[np.ndarray] = []
    reach = 1.0
    while len(tokens) < n and not (tokens and tokens[-1] in eos) and reach >= confidence:
        scores = logits_after(tokens[-1:] or pending)
        row: np.ndarray | None = None
        if numbers is None:
            tokens.append(int(scores.argmax()))
        else:
            row = distribution(scores, sampling)
            rows.append(row)
            tokens.append(draw(row, numbers.r[len(tokens)]))
        if confidence:
            reach *= chance_of(tokens[-1], row, scores)
    return SampledChain(tokens, np.stack(rows) if rows else None, len(tokens))
