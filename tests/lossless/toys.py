"""Language models small enough to know exactly: look-up tables behind the engine's own interface."""

from __future__ import annotations

import numpy as np
import torch

from hsd_viz.backends.host import HostBackend
from hsd_viz.decoding import sampling as reference
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting.tree import DraftTree

V = 6
HOST = HostBackend()


def distribution(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """The rows ``[n, V]`` that are sampled, by the reference."""
    return HOST.rows(logits, sampling)


def draw(p: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """One token per row of ``p`` ``[n, V]`` for ``r`` ``[n]``, by the reference."""
    return torch.tensor([reference.draw(row, number) for row, number in zip(p.numpy(), r.tolist(), strict=True)])


class Markov:
    """The next token depends on the last one alone: ``logits[v]`` is the row after token v. Checks how it is fed."""

    can_sample = can_verify = False

    def __init__(self, logits: torch.Tensor) -> None:
        self.logits = logits
        self.cached: list[int] = []

    @property
    def length(self) -> int:
        return len(self.cached)

    def forward(self, tokens, rows, parents=None):
        assert 1 <= rows <= len(tokens)
        self.cached += tokens
        return self.logits[torch.tensor(tokens[len(tokens) - rows :])]

    def truncate(self, length):
        del self.cached[length:]

    def keep(self, base, places):
        self.cached[base:] = [self.cached[p] for p in places]


class Launching(Markov):
    """The same model with its whole draft in one launch: it draws without looking at what it drew, an end token included."""

    can_sample = True

    def forward(self, tokens, rows, parents=None, tail=None):
        return super().forward(tokens + ([] if tail is None else tail.tolist()), rows, parents)

    def sample(self, tokens, n, sampling, chances, eos):
        ids, rows = [], []
        for k in range(n):
            logits = self.forward(tokens if k == 0 else ids[-1].tolist(), 1)
            if sampling.greedy:
                ids.append(logits.argmax(-1))
            else:
                rows.append(distribution(logits, sampling))
                ids.append(draw(rows[-1], torch.tensor([chances[k]], dtype=torch.float64)))
        return torch.cat(ids), torch.cat(rows) if rows else None


class Guesser:
    """A database of sorts: a random tree of plausible continuations, sometimes none. Looks at the text's last token only."""

    name = "db"
    nodes = 16

    def __init__(self, logits: torch.Tensor, seed: int = 0) -> None:
        self.order = logits.argsort(dim=-1, descending=True).tolist()
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


def models(n: int, seed: int = 0, spread: float = 1.0) -> list[torch.Tensor]:
    """``n`` random tables; neighbours resemble each other, so that drafts are accepted often but not always."""
    torch.manual_seed(seed)
    tables = [torch.randn(V, V, dtype=torch.float64) * 1.5]
    for _ in range(n - 1):
        tables.append(tables[-1] + torch.randn(V, V, dtype=torch.float64) * 0.6 * spread)
    return tables


def loop_of(
    tables, lookaheads, sampling: Sampling, tokens: int, drafter=None, cls=Loop, eos=frozenset(), model=Markov
) -> Loop:
    """The engine's loop over table models; the last table is the target's."""
    levels = [
        Level("target" if k == len(tables) - 1 else f"m{k}", model(table), look)
        for k, (table, look) in enumerate(zip(tables, [*lookaheads, None], strict=True))
    ]
    loop = cls(levels, drafter, sampling, [0], max_new_tokens=tokens, eos=eos, backend=HOST)
    for _ in loop.prefill():
        pass
    return loop


def sample(loop: Loop) -> list[int]:
    """Run to the end; returns the emitted tokens."""
    for _ in loop.rounds():
        loop.log.take()
    return loop.text[1:]
