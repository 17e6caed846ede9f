"""The draft tree, and the protocols of drafters, which propose draft trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

#: The number of likeliest tokens that an observer receives for each verified row.
OBSERVED_TOP = 8
#: The lowest temperature of the probabilities for a :class:`LogitsObserver`. They are not too
#: peaked, because in a similar context greedy decoding may accept a less probable token.
MIN_TEMPERATURE = 0.5

#: The token ids of each row, likeliest first.
Ids = Sequence[Sequence[int]]
#: The probabilities of these tokens.
Probabilities = Sequence[Sequence[float]]


def spell(tokens: Iterable[int]) -> str:
    """Return tokens as a string with one character per token id (up to 1 114 111).

    Databases store and compare text in this form. Without an index, string search finds tokens in a
    text of a thousand tokens in less than a microsecond.
    """
    return "".join(map(chr, tokens))


class Origin(NamedTuple):
    """The origin of a draft token. A field is ``None`` if it is unknown or does not apply.

    Attributes:
        source: the database, baseline or model that proposed it, such as ``context``.
        key_length: the number of matched tokens before it.
        count: the number of times that the source has seen it after the key.
        score: the estimated probability that the verifier accepts it.
        position: the position in the text from which it was copied.
        cosine: the similarity of the target's states by which the semantic database found it.
    """

    source: str
    key_length: int | None = None
    # This hides the method ``tuple.count``, which is never called on an origin.
    count: int | None = None  # type: ignore[assignment]
    score: float | None = None
    position: int | None = None
    cosine: float | None = None


#: ``_origin_of(fields)`` equals ``Origin(*fields)``, and takes half the time.
_origin_of: Callable[[tuple[Any, ...]], Origin] = partial(tuple.__new__, Origin)


@dataclass(slots=True)
class DraftTree:
    """A tree of draft tokens. Parents come before their children; siblings have different tokens.

    Attributes:
        tokens: the token of each node.
        parents: the index of each node's parent; -1 for a node that follows the text.
        origins: the origin of each token.
        why_empty: the reason for an empty tree: a value of ``why_no_draft`` in
            ``trace/tables.toml``.
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
        """Return a chain of tokens from a source, without counts and scores.

        ``start`` is the position in the text that the first token was copied from, if any.
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
        """Add a node with an existing ``parent`` (-1: the text), and return its index.

        The arguments from ``source`` on are the fields of its :class:`Origin`.
        """
        assert -1 <= parent < len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        origin = (source, key_length, count, score, position, cosine)
        self.origins.append(_origin_of(origin))
        return len(self.tokens) - 1

    def _take(self, nodes: Sequence[int], parents: list[int]) -> DraftTree:
        """Return a tree of these nodes, with new parents."""
        return DraftTree(
            tokens=[self.tokens[node] for node in nodes],
            parents=parents,
            origins=[self.origins[node] for node in nodes],
        )

    def path(self, nodes: Sequence[int]) -> DraftTree:
        """Return a path, given by its nodes in order, as a chain."""
        return self._take(nodes, list(range(-1, len(nodes) - 1)))

    def within(self, depth: int) -> DraftTree:
        """Return the tree without nodes deeper than ``depth``; this tree if there are none."""
        if max(self.depths(), default=0) <= depth:
            return self
        nodes = [node for node, d in enumerate(self.depths()) if d <= depth]
        number = {-1: -1, **{node: k for k, node in enumerate(nodes)}}
        return self._take(nodes, [number[self.parents[node]] for node in nodes])

    def append(self, chain: DraftTree) -> None:
        """Append a chain to this tree, which must be a chain, too."""
        self.parents += range(len(self) - 1, len(self) + len(chain) - 1)
        self.tokens += chain.tokens
        self.origins += chain.origins

    def or_reason(self, budget: int, reason: str = "no match") -> DraftTree:
        """Return this tree, after setting ``why_empty`` if it is empty.

        It is set to ``no room`` for a ``budget`` below 1, else to ``reason``.
        """
        if not self.tokens:
            self.why_empty = "no room" if budget < 1 else reason
        return self

    def expected_tokens(self) -> float:
        """Return the expected number of accepted tokens, which is the sum of the scores."""
        return sum(origin.score or 0.0 for origin in self.origins)

    def origin_columns(self) -> dict[str, Sequence[Any]]:
        """Return the fields of the origins by name, each as a column with an entry per node.

        The tree must not be empty.
        """
        columns = zip(*self.origins, strict=True)
        return dict(zip(Origin._fields, columns, strict=True))

    def depths(self) -> list[int]:
        """Return the depth of each node, 1 for a node that follows the text.

        The list is cached: do not modify it.
        """
        depths = self._depths  # stays valid, because nodes are only ever added
        for parent in self.parents[len(depths) :]:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return depths

    @property
    def is_chain(self) -> bool:
        """Whether each node is the child of the node before it."""
        return self.parents == list(range(-1, len(self.tokens) - 1))


class Drafter(Protocol):
    """A source of point-mass drafts.

    An instance serves one run. State that is shared between runs is passed to the constructor.

    Attributes:
        name: the name in the text of a stack; if it is empty,
            :func:`~hsd_viz.drafting.make_drafter` sets it.
        nodes: the default budget, the number of nodes in its largest draft.
        state_depth: the relative depth of the target's layer whose states the drafter learns from;
            ``None`` if it needs no states.
    """

    name: str = ""
    nodes: int = 16
    state_depth: float | None = None

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with a prompt."""
        return None

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return a tree of at most ``budget`` nodes that may follow ``text``.

        The text consists of the tokens that :meth:`start` and :meth:`extend` received, and of those
        that a middle level of the stack accepted and the target has not verified yet.
        """

    def observe_states(self, states: np.ndarray) -> None:
        """Process the target's states at the next positions of the text.

        It is called only for a drafter with a :attr:`state_depth`: after the prefill, with the
        states at all tokens of the prompt except the last; and after each verification, before
        :meth:`extend`, with the states at the token before the draft and at the accepted tokens.

        Args:
            states: the states as int8 ``[n, width]``.
        """
        return None

    def extend(self, tokens: Sequence[int]) -> None:
        """Append emitted tokens to the text."""
        return None


@runtime_checkable
class Observer(Drafter, Protocol):
    """A drafter that learns from the target's likeliest tokens, such as Token Recycling."""

    def observe(self, text: Sequence[int], tree: DraftTree, top: Ids) -> None:
        """Process a verification by the target, before :meth:`extend` is called.

        Args:
            text: the text before the draft.
            tree: the verified tree, which may be a truncated draft, or a draft of a middle level of
                the stack.
            top: ``1 + len(tree)`` rows of up to :data:`OBSERVED_TOP` token ids, likeliest first:
                row 0 after ``text``, row 1 + i after node i.
        """


@runtime_checkable
class LogitsObserver(Drafter, Protocol):
    """A drafter that learns from the target's probabilities.

    Computing them takes a softmax that an :class:`Observer` does not need.
    """

    def observe_probabilities(
        self, text: Sequence[int], tree: DraftTree, top: Ids, probabilities: Probabilities
    ) -> None:
        """Process a verification, as :meth:`Observer.observe` does.

        ``probabilities`` are those of the tokens in ``top`` before top-k and top-p, at the sampling
        temperature or :data:`MIN_TEMPERATURE`, whichever is higher.
        """
