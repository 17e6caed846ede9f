"""The draft tree, and the protocol of the drafters that propose one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

#: Number of most probable tokens that an observer receives for each verified row.
TOP = 8
#: Lowest temperature of the probabilities for a :class:`LogitsObserver`: in a similar context,
#: greedy decoding may accept another token than the most probable one here.
MIN_TEMPERATURE = 0.5

#: By row: token ids, most probable first, and their probabilities.
Ids = Sequence[Sequence[int]]
Probabilities = Sequence[Sequence[float]]


def spell(tokens: Iterable[int]) -> str:
    """Return tokens as a string, one character per token id (up to 1 114 111): the form in which
    databases store and compare text. String search finds tokens in a text of a thousand in less
    than a microsecond without an index.
    """
    return "".join(map(chr, tokens))


class Origin(NamedTuple):
    """Where a draft token comes from; ``None`` where it is unknown.

    Attributes:
        source: the proposer: ``context``, ``lookup``.
        key_length: how many tokens were matched.
        count: how often the token was seen there.
        score: the estimated probability that the verifier accepts the token.
        position: the place in the text that it was copied from.
        cosine: the similarity of the target's states by which the semantic database found it.
    """

    source: str
    key_length: int | None = None
    # ``tuple.count`` is a method, which nothing calls on an origin.
    count: int | None = None  # type: ignore[assignment]
    score: float | None = None
    position: int | None = None
    cosine: float | None = None


#: ``_origin_of(fields)`` is ``Origin(*fields)`` in half the time.
_origin_of: Callable[[tuple[Any, ...]], Origin] = partial(tuple.__new__, Origin)


@dataclass(slots=True)
class DraftTree:
    """Draft tokens as a tree, parents before children; siblings differ.

    What verification reads of each node are columns; the rest is a record, :class:`Origin`.

    Attributes:
        tokens: of the nodes.
        parents: the node that each follows; -1: the text.
        origins: where each token comes from.
        why_empty: of an empty tree: one of the names of ``why_no_draft`` in ``trace/tables.toml``.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    why_empty: str | None = None
    _depths: list[int] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def chain(
        cls, tokens: list[int], source: str, key_length: int | None = None, start: int | None = None
    ) -> DraftTree:
        """Return a chain of tokens of one source, those of the text from ``start`` on, without
        counts and scores.
        """
        n = len(tokens)
        if start is None:
            origins = [Origin(source, key_length)] * n
        else:
            origins = []
            for position in range(start, start + n):
                origins.append(_origin_of((source, key_length, None, None, position, None)))
        return cls(tokens, list(range(-1, n - 1)), origins)

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
        cosine: float | None = None,
    ) -> int:
        """Add one node below an existing ``parent`` and return its number; the other arguments are
        its :class:`Origin`.
        """
        assert -1 <= parent < len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        origin = (source, key_length, count, score, position, cosine)
        self.origins.append(_origin_of(origin))
        return len(self.tokens) - 1

    def _take(self, nodes: Sequence[int], parents: list[int]) -> DraftTree:
        """Return a tree of these nodes, with other parents."""
        return DraftTree(
            tokens=[self.tokens[node] for node in nodes],
            parents=parents,
            origins=[self.origins[node] for node in nodes],
        )

    def path(self, nodes: Sequence[int]) -> DraftTree:
        """Return the nodes of one path, in its order, as a chain."""
        return self._take(nodes, list(range(-1, len(nodes) - 1)))

    def within(self, depth: int) -> DraftTree:
        """Return the tree without the nodes deeper than ``depth``, itself if there are none."""
        if max(self.depths(), default=0) <= depth:
            return self
        nodes = [node for node, d in enumerate(self.depths()) if d <= depth]
        number = {-1: -1, **{node: k for k, node in enumerate(nodes)}}
        return self._take(nodes, [number[self.parents[node]] for node in nodes])

    def append(self, chain: DraftTree) -> None:
        """Append a chain to this tree, which must be a chain itself."""
        self.parents += range(len(self) - 1, len(self) + len(chain) - 1)
        self.tokens += chain.tokens
        self.origins += chain.origins

    def or_reason(self, budget: int, reason: str = "no match") -> DraftTree:
        """Return the tree; if it is empty, ``why_empty`` is ``no room`` for a ``budget`` below 1,
        else ``reason``.
        """
        if not self.tokens:
            self.why_empty = "no room" if budget < 1 else reason
        return self

    def expected_tokens(self) -> float:
        """Return the sum of the scores: how many of its tokens are expected to be accepted."""
        return sum(origin.score or 0.0 for origin in self.origins)

    def origin_columns(self) -> dict[str, Sequence[Any]]:
        """Return the fields of the origins by name, each as a column of the nodes, of which there
        are some.
        """
        columns = zip(*self.origins, strict=True)
        return dict(zip(Origin._fields, columns, strict=True))

    def depths(self) -> list[int]:
        """Return the depth of each node, 1 for those that follow the text. The list is cached: do
        not modify it.
        """
        depths = self._depths  # nodes are only ever added
        for parent in self.parents[len(depths) :]:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return depths

    @property
    def is_chain(self) -> bool:
        """Whether each node follows the one before it."""
        return self.parents == list(range(-1, len(self.tokens) - 1))


class Drafter(Protocol):
    """A source of point-mass drafts. One object serves one run; constructors take the state shared
    between runs.
    """

    name: str = ""  # in the stack text, set by :func:`~hsd_viz.drafting.make_drafter` if empty
    nodes: int = 16  # default budget: those of its largest draft
    #: The layer whose states of the text it learns from, as a share of the target's layers;
    #: ``None``: it needs none.
    state_depth: float | None = None

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with this prompt."""
        return None

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return a tree of at most ``budget`` nodes that may follow ``text``: what :meth:`start`
        and :meth:`extend` received, and the tokens that a middle level of the stack accepted and
        the target has not verified yet.
        """

    def observe_states(self, states: np.ndarray) -> None:
        """Process the target's states ``[n, width]`` (int8) of the next ``n`` places of the text,
        if the drafter has a :attr:`state_depth`: after the prompt was fed, those of all its tokens
        but the last; then of each verification those of the token before the draft and of the
        accepted ones, before :meth:`extend`.
        """
        return None

    def extend(self, tokens: Sequence[int]) -> None:
        """Append these emitted tokens to the text."""
        return None


@runtime_checkable
class Observer(Drafter, Protocol):
    """A drafter that learns from the target's most probable tokens: Token Recycling, HD's
    window.
    """

    def observe(self, text: Sequence[int], tree: DraftTree, top: Ids) -> None:
        """Process a verification by the target, before :meth:`extend`. ``top`` has ``1 +
        len(tree)`` rows of up to :data:`TOP` token ids, most probable first: row 0 after ``text``,
        row 1 + i after node i. ``tree`` is the verified one: it may be a truncated draft, or
        proposed by a middle level of the stack.
        """


@runtime_checkable
class LogitsObserver(Drafter, Protocol):
    """A drafter that learns from the target's probabilities, which cost a softmax that an
    :class:`Observer` saves.
    """

    def observe_probabilities(
        self, text: Sequence[int], tree: DraftTree, top: Ids, probabilities: Probabilities
    ) -> None:
        """Process a verification like :meth:`Observer.observe`; ``probabilities`` of the tokens in
        ``top`` are before top-k and top-p, at the temperature of the sampling but at least
        :data:`MIN_TEMPERATURE`.
        """
