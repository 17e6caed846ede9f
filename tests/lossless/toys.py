"""Language models small enough to know exactly: look-up tables behind the loop's own interface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import Session
from hsd_viz.drafting.tree import Drafter, DraftTree

V = 6


class Markov(Session):
    """The next token depends on the last one alone: ``logits[v]`` is the row after token v.
    Checks how it is fed.
    """

    def __init__(self, logits: np.ndarray) -> None:
        self.logits = logits
        self.cached: list[int] = []

    @property
    def length(self) -> int:
        return len(self.cached)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        assert 1 <= rows <= len(tokens)
        self.cached += tokens
        return self.logits[list(tokens[len(tokens) - rows :])]

    def truncate(self, length: int) -> None:
        del self.cached[length:]

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        assert len(self.cached) > max(nodes, default=-1) + base
        self.cached[base:] = [self.cached[base + node] for node in nodes]


class Guesser(Drafter):
    """A database of sorts: a random tree of plausible continuations, sometimes none. Looks at
    the text's last token only.
    """

    name = "db"
    nodes = 16

    def __init__(self, logits: np.ndarray, seed: int = 0) -> None:
        self.order = (-logits).argsort(axis=-1).tolist()
        self.random = np.random.default_rng(seed)

    def start(self, prompt):
        pass

    def extend(self, tokens):
        pass

    def draft(self, text, budget):
        tree = DraftTree()
        if self.random.random() < 0.2:
            tree.why_empty = "no match"
            return tree
        frontier = [(-1, text[-1])]
        for _ in range(int(self.random.integers(1, 7))):
            parent, last = frontier[int(self.random.integers(len(frontier)))]
            taken = {t for t, p in zip(tree.tokens, tree.parents, strict=True) if p == parent}
            free = [t for t in self.order[last] if t not in taken]
            token = free[min(int(self.random.geometric(0.6)) - 1, len(free) - 1)] if free else None
            if token is not None:
                frontier.append((tree.add(token, parent, "context"), token))
        return tree


def models(n: int, seed: int = 0) -> list[np.ndarray]:
    """``n`` random tables; neighbours resemble each other, so that drafts are accepted often but
    not always.
    """
    random = np.random.default_rng(seed)
    tables = [random.normal(size=(V, V)) * 1.5]
    for _ in range(n - 1):
        tables.append(tables[-1] + random.normal(size=(V, V)) * 0.6)
    return tables


def loop_of(
    tables,
    lookaheads,
    sampling: Sampling,
    tokens: int,
    drafter=None,
    cls=Loop,
    eos=frozenset(),
    session=Markov,
    positions: int | None = None,
    budget: int | None = None,
    details: int = 0,
) -> Loop:
    """The loop over table models, after its prefill; the last table is the target's."""
    levels = levels_of(map(session, tables), lookaheads)
    loop = cls(
        LoopInputs(
            levels,
            drafter,
            sampling,
            [0],
            max_new_tokens=tokens,
            positions=positions,
            eos=eos,
            budget=budget,
            details=details,
        )
    )
    list(loop.prefill())
    return loop


def levels_of(sessions, lookaheads) -> list[Level]:
    """The levels of these sessions, the target's last."""
    levels = []
    for k, (session, look) in enumerate(zip(sessions, [*lookaheads, None], strict=True)):
        levels.append(Level(f"m{k}" if look else "target", session, look))
    return levels


def sample(loop: Loop) -> list[int]:
    """Run to the end; returns the emitted tokens."""
    start = len(loop.text)
    for _ in loop.rounds():
        loop.log.take()
    return loop.text[start:]
