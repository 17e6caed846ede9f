"""What the loop asks of the arithmetic: one model reading one sequence. The loop knows no
runtime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

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
from hsd_viz.errors import Unsupported


class Session(ABC):
    """One model reading one sequence; ``length`` tokens of it are in the cache, and ``pending``, at
    least one, follow.

    Sampling and verification by :meth:`forward` in numpy are the reference for all runtimes; native
    and compiled sessions do them in one call, with the same result.
    """

    length: int

    def watch(self, depth: float) -> None:
        """Keep the states of the layer at this share of the depth, from the next forward pass on.

        Raises:
            Unsupported: if the runtime does not give the states of its layers.
        """
        raise Unsupported(
            "the semantic database compares states of the target, which this runtime does not "
            "give: use a model that runs natively or with '--runtime eager', or leave out "
            "'semantic'"
        )

    def states(self, places: Sequence[int]) -> np.ndarray:
        """Return what the watched layer read at these places of the tokens fed last: int8 ``[n,
        width]`` (:func:`~hsd_viz.drafting.semantic_database.quantise_states`).
        """
        raise NotImplementedError

    @abstractmethod
    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        """Feed ``tokens`` and return the logits ``[rows, V]`` after the last ``rows`` of them, in
        float32 or float64.

        ``parents`` gives for each fed token the index (among the fed) of the token before it, -1
        for the last cached one; ``None`` means a chain.
        """

    def truncate(self, length: int) -> None:
        """Remove all but the first ``length`` tokens; no effect when there are no more."""
        self.length = min(self.length, length)

    @abstractmethod
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """After ``base`` tokens keep only these nodes (ascending) of the draft fed there:
        ``length`` becomes ``base + len(nodes)``.
        """

    def feed(self, tokens: Sequence[int]) -> None:
        """Feed ``tokens`` after the cached ones."""
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
        """Feed ``pending`` and decode up to ``n`` tokens, fewer after one of ``eos``; each is fed
        but the last.

        Token k is the arg-max (``numbers`` is ``None``), or drawn with ``numbers.r[k]``. The chain
        also ends after the token with which its own probability falls below ``confidence``: that
        token is part of it.
        """
        tokens: list[int] = []
        rows: list[np.ndarray] = []
        reach = 1.0
        while len(tokens) < n and not (tokens and tokens[-1] in eos) and reach >= confidence:
            scores = self.forward(tokens[-1:] or pending, 1)[0]
            if numbers is None:
                tokens.append(int(scores.argmax()))
            else:
                rows.append(distribution(scores, sampling))
                tokens.append(draw(rows[-1], numbers.r[len(tokens)]))
            if confidence:
                row = None if numbers is None else rows[-1]
                reach *= chance_of(tokens[-1], row, scores)
        return SampledChain(tokens, np.stack(rows) if rows else None, len(tokens))

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
        tree = draft.tree
        n = len(pending)
        parents = (
            None if tree.is_chain else [*range(-1, n - 1), *(n + parent for parent in tree.parents)]
        )
        scores = self.forward([*pending, *tree.tokens], len(tree) + 1, parents)
        return judge(scores, draft, sampling, numbers, record)


class Model(Protocol):
    """The weights of a model, shared by all decodes. ``positions`` is the longest text it can read
    (``None``: not limited), ``runtime`` what runs its forward passes (``native``, ``eager``,
    ``compiled``, ``strict``, ``numpy``).
    """

    name: str
    vocab_size: int
    parameters: int
    runtime: str
    dtype: str

    @property
    def positions(self) -> int | None:
        """The longest text that it can read; ``None``: not limited."""

    def session(self, room: int | None = None) -> Session:
        """Open an empty sequence; buffers of a fixed size are made for a text of ``room``
        tokens.
        """
