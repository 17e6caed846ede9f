"""What the levels of a stack pass to each other: drafts, and what a verification made of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from hsd_viz.decoding.model import CachedModel, ForwardResult
from hsd_viz.decoding.verify import Verdict
from hsd_viz.drafting.tree import DraftTree


@dataclass(slots=True)
class Level:
    """A model in the stack; it proposes at least ``lookahead`` tokens at a time (``None`` at the target).

    ``rule`` verifies the drafts it gets, where they were sampled from rows (``None``: the sampling's rule).
    """

    name: str
    model: CachedModel
    lookahead: int | None = None
    rule: str | None = None


@dataclass(slots=True)
class Draft:
    """Tokens proposed to a verifier, with where they come from and the rows they were sampled from.

    ``paths`` are the levels that each token has passed, its source's first. ``rows`` ``[n, V]`` is q; ``None`` means
    point masses. ``ids`` ``[n]`` are the tokens while only the device knows them: the verification transfers them
    together with its verdict, so that a round waits for the device once.
    """

    tree: DraftTree = field(default_factory=DraftTree)
    paths: list[tuple[int, ...]] = field(default_factory=list)
    rows: Tensor | None = None
    ids: Tensor | None = None

    def __len__(self) -> int:
        return len(self.tree)


@dataclass(slots=True)
class Verification:
    """One verification by a level, and the ``tokens`` it emits: the ``accepted`` nodes', then its own.

    ``accepted`` are the verdict's nodes up to an end token. ``p`` are the level's rows where the tokens were drawn;
    ``None`` for greedy decoding and at the target. ``forward`` is the forward pass that verified.
    """

    level: int
    name: str
    draft: Draft
    verdict: Verdict
    accepted: list[int]
    outcome: str
    tokens: list[int]
    p: Tensor | None
    forward: ForwardResult

    @property
    def rows(self) -> list[int]:
        """The row of the logits that each emitted token was drawn from."""
        return [0, *(node + 1 for node in self.accepted)][: len(self.tokens)]

    @property
    def proposal(self) -> Draft:
        """The tokens as a draft for the next level: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [(*self.draft.paths[node], self.level) for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append((self.level,))
        return Draft(tree, paths, self.p)


def joined(parts: list[Draft]) -> Draft:
    """Return one or more chains, each after the one before, as one."""
    whole, *rest = parts
    for part in rest:
        whole.tree.append(part.tree)
        whole.paths += part.paths
    if rest and whole.rows is not None:
        whole.rows = torch.cat([part.rows for part in parts])
    return whole


def until_eos(accepted: list[int], tokens: list[int], eos: frozenset[int]) -> tuple[list[int], bool]:
    """Return the accepted nodes up to the first end token, and whether there is one."""
    for k, node in enumerate(accepted):
        if tokens[node] in eos:
            return accepted[: k + 1], True
    return accepted, False
