"""The draft tree: what every database and rival hands to a verifier."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class DraftTree:
    """Draft tokens as a tree, parents before children; node ``i`` follows ``parents[i]`` (-1: it follows the text).

    All lists have one entry per node: ``sources`` who proposed it (``context``, ``model``, ``statistics``, ``lookup``, ...),
    ``key_lengths`` how many tokens of the text it was looked up by, ``counts`` how often it was seen there, ``scores`` the
    estimated probability that the verifier walks to this node, ``positions`` the place in the text it was copied from (``None``
    where there is none). No two children of a node carry the same token. A tree without nodes means: no draft; ``why_empty``
    then says why (one of :data:`hsd_viz.trace.records.NO_DRAFT`).
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    key_lengths: list[int | None] = field(default_factory=list)
    counts: list[int | None] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    positions: list[int | None] = field(default_factory=list)
    why_empty: str | None = None
    _depths: list[int] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def chain(cls, tokens: list[int], source: str) -> DraftTree:
        """A chain of tokens of one source that has nothing more to say about them."""
        n = len(tokens)
        return cls(tokens, list(range(-1, n - 1)), [source] * n, [None] * n, [None] * n, [None] * n, [None] * n)

    def __len__(self) -> int:
        return len(self.tokens)

    def add(
        self,
        token: int,
        parent: int,
        source: str,
        key_length: int | None = None,
        count: int | None = None,
        score: float | None = None,
        position: int | None = None,
    ) -> int:
        """Add one node and return its number. The parent must be there already."""
        assert -1 <= parent < len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.sources.append(source)
        self.key_lengths.append(key_length)
        self.counts.append(count)
        self.scores.append(score)
        self.positions.append(position)
        return len(self.tokens) - 1

    def path(self, nodes: Sequence[int]) -> DraftTree:
        """The nodes of one path, in its order, as a chain of their own."""
        n = len(nodes)
        if not n or nodes[-1] == n - 1:  # the first ones
            return DraftTree(
                self.tokens[:n],
                list(range(-1, n - 1)),
                self.sources[:n],
                self.key_lengths[:n],
                self.counts[:n],
                self.scores[:n],
                self.positions[:n],
            )
        return DraftTree(
            [self.tokens[k] for k in nodes],
            list(range(-1, n - 1)),
            [self.sources[k] for k in nodes],
            [self.key_lengths[k] for k in nodes],
            [self.counts[k] for k in nodes],
            [self.scores[k] for k in nodes],
            [self.positions[k] for k in nodes],
        )

    def first(self, n: int) -> DraftTree:
        """The tree of the first ``n`` nodes (itself when there are no more). Parents come before children, so it is one."""
        if n >= len(self.tokens):
            return self
        return DraftTree(
            self.tokens[:n],
            self.parents[:n],
            self.sources[:n],
            self.key_lengths[:n],
            self.counts[:n],
            self.scores[:n],
            self.positions[:n],
        )

    def append(self, chain: DraftTree) -> None:
        """Put a chain behind this one, which is a chain itself."""
        first = len(self.tokens) - 1
        self.tokens += chain.tokens
        self.parents += range(first, first + len(chain.tokens))
        self.sources += chain.sources
        self.key_lengths += chain.key_lengths
        self.counts += chain.counts
        self.scores += chain.scores
        self.positions += chain.positions

    def within(self, depth: int) -> DraftTree:
        """The tree without the nodes deeper than ``depth`` (itself when there are none)."""
        # So few nodes reach no deeper, whatever their shape.
        if len(self.tokens) <= depth:
            return self
        depths = self.depths()
        if max(depths, default=0) <= depth:
            return self
        out, place = DraftTree(), {-1: -1}
        for node, d in enumerate(depths):
            if d <= depth:
                place[node] = out.add(
                    self.tokens[node],
                    place[self.parents[node]],
                    self.sources[node],
                    self.key_lengths[node],
                    self.counts[node],
                    self.scores[node],
                    self.positions[node],
                )
        return out

    def depths(self) -> list[int]:
        """The depth of each node, 1 for those that follow the text. The list is the tree's own: read it only."""
        depths = self._depths
        # Nodes are only ever added, so what was found before stays true.
        for parent in self.parents[len(depths) :]:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return depths

    @property
    def is_chain(self) -> bool:
        """Whether each node follows the one before it."""
        return self.parents == list(range(-1, len(self.tokens) - 1))


def as_eos_set(eos: int | Collection[int] | None) -> frozenset[int]:
    """End-of-text token ids, however they are given: none, one or several."""
    return frozenset() if eos is None else frozenset((eos,) if isinstance(eos, int) else eos)


class Drafter(Protocol):
    """A source of point-mass drafts. One object serves one run; what may be shared between runs (the model and statistics
    databases) is shared read-only behind it."""

    #: Its name in the stack text: ``db``, ``lookup``, ...
    name: str
    #: Nodes of its largest draft, unless a budget says otherwise.
    nodes: int

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt."""

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted: the text grew by them."""

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """A tree of at most ``budget`` nodes that may follow ``text`` (prompt + emitted tokens + tokens that a level in the
        middle of the stack has kept but the target has not seen: these end ``text`` but were not given to :meth:`extend`)."""
