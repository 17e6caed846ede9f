"""Drafts, which levels propose to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.drafting.tree import DraftTree

#: Probabilities ``[n, V]`` after temperature, top-k and top-p: a numpy array, or an array of the
#: session's runtime that ``len``, slices, ``numpy.asarray`` and ``numpy.concatenate`` accept.
Rows = Any


class SampledChain(NamedTuple):
    """A chain of tokens that a session decoded by itself.

    Attributes:
        tokens: the decoded tokens ``[n]``.
        rows: the rows ``[n, V]`` that they were drawn from; ``None`` for point masses, which greedy
            decoding and SLEM give.
        forwards: the number of forward passes.
    """

    tokens: list[int]
    rows: Rows | None
    forwards: int


@dataclass(slots=True)
class Draft:
    """Tokens proposed to a verifier: a chain sampled from rows, or a tree of point masses.

    Attributes:
        tree: the draft tokens.
        paths: the levels that proposed or accepted each token, the proposing level first.
        rows: the rows q ``[n, V]`` of a sampled chain; ``None`` for point masses.
        end: why the draft of a model with a confidence ended, a value of ``draft_end`` in the
            trace.
    """

    tree: DraftTree = field(default_factory=DraftTree)
    paths: list[list[int]] = field(default_factory=list)
    rows: Rows | None = None
    end: str | None = None

    def __len__(self) -> int:
        return len(self.tree)


def join_chains(chains: Sequence[Draft]) -> Draft:
    """Join consecutive chains: extend the first in place with the others, and return it."""
    joined, *rest = chains
    for chain in rest:
        joined.tree.append(chain.tree)
        joined.paths += chain.paths
    if rest and joined.rows is not None:
        joined.rows = np.concatenate([chain.rows for chain in chains if chain.rows is not None])
    return joined
