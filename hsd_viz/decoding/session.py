"""The interface between the loop and the runtimes of models: sessions, which read a sequence.

The lowest level drafts (:class:`DraftSession`); each level above it also verifies
(:class:`VerifySession`). A runtime that returns logits implements :class:`Session`, which does both
in numpy. A runtime that also provides the states of a layer implements :class:`StateSource`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from hsd_viz.decoding.draft import Draft, SampledChain
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.rejection_sampling import judge
from hsd_viz.decoding.sampling import UniformNumbers, chance_of, distribution, draw
from hsd_viz.decoding.verdict import RecordOptions, Verdict


class DraftSession(ABC):
    """A model that reads a sequence and drafts a continuation.

    Attributes:
        length: the number of tokens that were read and are in the cache.
    """

    length: int

    @abstractmethod
    def feed(self, tokens: Sequence[int]) -> None:
        """Feed ``tokens``, which follow those read so far."""

    def truncate(self, length: int) -> None:
        """Keep only the first ``length`` tokens; no effect if there are fewer."""
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
        """Feed ``pending`` (at least one token) and decode up to ``n`` tokens.

        The chain ends early after a token of ``eos``. Each token except the last is fed. See
        :func:`sample_chain` for the other arguments.
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
        """Feed ``pending`` (at least one token) and the draft in one forward pass, and verify the
        draft as :func:`~hsd_viz.decoding.rejection_sampling.judge` does.

        The caller then calls :meth:`keep` or :meth:`truncate`.
        """

    @abstractmethod
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """Keep only these nodes (ascending) of the draft that was fed after ``base`` tokens.

        ``length`` becomes ``base + len(nodes)``.
        """


class Session(VerifySession):
    """A session whose runtime returns logits.

    Sampling and verification in numpy, by :meth:`forward`, are the reference for all runtimes.
    Native and compiled sessions do them in a single call, with the same result.
    """

    @abstractmethod
    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        """Feed ``tokens`` and return the logits after the last ``rows`` of them.

        Args:
            tokens: the tokens to feed.
            rows: the number of rows to return.
            parents: for each fed token, the index in ``tokens`` of the token that it continues; -1
                is the last cached token. ``None`` means a chain.

        Returns:
            The logits ``[rows, V]`` in float32 or float64.
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
    """A session whose runtime provides the states of a layer."""

    def watch(self, depth: float) -> None:
        """Keep the states of the layer at the relative depth ``depth``, between 0 and 1, from the
        next forward pass on.
        """

    def states(self, places: Sequence[int]) -> np.ndarray:
        """Return the inputs of the watched layer in the last forward pass.

        Args:
            places: indices ``[n]`` into the tokens that were fed.

        Returns:
            The states as int8 ``[n, width]``, quantized by
            :func:`~hsd_viz.drafting.semantic_database.quantize_states`.
        """


class DraftModel(Protocol):
    """The weights of a model that drafts, shared by all decodes.

    Attributes:
        name: the name of the model.
        vocab_size: the number V of tokens in a row.
        parameters: the number of parameters.
        runtime: the runtime of its forward passes: ``native``, ``eager``, ``compiled``,
            ``strict`` or ``numpy``.
        dtype: the number type of its weights.
    """

    name: str
    vocab_size: int
    parameters: int
    runtime: str
    dtype: str

    @property
    def positions(self) -> int | None:
        """The longest text in tokens that the model can read; ``None`` means unlimited."""

    def session(self, room: int | None = None) -> DraftSession:
        """Open an empty sequence; buffers of a fixed size hold a text of ``room`` tokens."""


class Model(DraftModel, Protocol):
    """The weights of a model that drafts and verifies."""

    def session(self, room: int | None = None) -> Session:
        """Open an empty sequence; buffers of a fixed size hold a text of ``room`` tokens."""


def sample_chain(
    logits_after: Callable[[Sequence[int]], np.ndarray],
    pending: Sequence[int],
    n: int,
    sampling: Sampling,
    numbers: UniformNumbers | None,
    eos: frozenset[int],
    confidence: float,
) -> SampledChain:
    """Decode up to ``n`` tokens after ``pending``.

    Args:
        logits_after: a function that feeds tokens and returns the logits ``[V]`` after the last.
        pending: the tokens of the text that were not fed yet, at least one.
        n: the largest number of tokens.
        sampling: the sampling settings.
        numbers: the uniform numbers: ``numbers.r[k]`` draws token k. ``None`` takes the arg-max.
        eos: tokens that end the chain; the end token is part of it.
        confidence: a probability below which the chain ends. The token with which the joint
            probability of the chain falls below it is part of the chain.
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
