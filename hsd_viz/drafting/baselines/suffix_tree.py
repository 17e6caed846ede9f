"""A suffix tree of growing texts with counts: how often was each sequence of up to ``depth`` tokens seen, and what followed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    """A sequence of tokens that two suffixes or more begin with (before removals): ``count`` of them, ends of texts included.

    ``children`` maps the next token to a node, or to a leaf: the (text, start) of the only suffix that goes on that way, whose
    further tokens are read off its text. ``place`` is where the sequence's last token stands in the text that had it first.
    """

    count: int
    place: int
    children: dict[int, Node | tuple[int, int]] = field(default_factory=dict)


#: A place in the tree: a node, or a leaf, and how many tokens lead to it.
Spot = tuple[Node | tuple[int, int], int]


class SuffixTree:
    """The suffixes of texts, each to at most ``depth`` tokens. Texts grow one at a time: :meth:`begin` closes the one before.

    Only the suffixes that have occurred before are touched by a new token: as many as the longest match is long, ``depth`` at
    most. Of more than ``most`` texts the oldest is removed (``None``: never).
    """

    __slots__ = ("_active", "current", "depth", "most", "root", "texts")

    def __init__(self, depth: int = 64, most: int | None = None) -> None:
        if depth < 1 or (most is not None and most < 1):
            raise ValueError(f"a suffix tree of depth {depth} for {most} texts is out of range: both are at least 1")
        self.depth = depth
        self.most = most
        self.root = Node(0, -1)
        self.texts: dict[int, list[int]] = {}
        self.current = -1
        #: The suffixes of the current text that end within the tree: their starts and nodes, longest first.
        self._active: list[tuple[int, Node]] = []

    def begin(self) -> int:
        """A new, empty text begins; returns its number, ``current`` until the next one begins."""
        self.current += 1
        self._active = []
        self.texts[self.current] = []
        while self.most is not None and len(self.texts) > self.most:
            self._remove(next(iter(self.texts)))
        return self.current

    def append(self, token: int) -> None:
        """The current text grew by ``token``."""
        text, current = self.texts[self.current], self.current
        text.append(token)
        end = len(text)
        self.root.count += 1
        active: list[tuple[int, Node]] = []
        for start, node in [*self._active, (end - 1, self.root)]:
            reached = end - start
            child = node.children.get(token)
            if child is None:
                node.children[token] = (current, start)
                continue
            if type(child) is tuple:
                # Two suffixes now: what was the only one's moves one token down, if it goes on.
                which, begin = child
                theirs, onward = self.texts[which], begin + reached
                node.children[token] = inner = Node(2, onward - 1)
                if onward < len(theirs) and reached < self.depth:
                    inner.children[theirs[onward]] = child
                child = inner
            else:
                child.count += 1
            if reached < self.depth:
                active.append((start, child))
        self._active = active

    def _remove(self, which: int) -> None:
        """Forget a finished text."""
        text = self.texts.pop(which)
        for start in range(len(text)):
            self.root.count -= 1
            node = self.root
            for token in text[start : start + self.depth]:
                child = node.children[token]
                if type(child) is tuple:
                    del node.children[token]
                    break
                child.count -= 1
                if child.count == 0:
                    del node.children[token]
                    break
                node = child

    def locate(self, key: Sequence[int]) -> Spot | None:
        """Where ``key`` leads to from the root, ``None`` where it was never seen or is longer than the tree is deep."""
        if len(key) > self.depth:
            return None
        at: Node | tuple[int, int] = self.root
        for done, token in enumerate(key):
            if type(at) is tuple:
                # The rest of the way is one text's own.
                begin = at[1]
                return (
                    (at, len(key)) if self.texts[at[0]][begin + done : begin + len(key)] == list(key[done:]) else None
                )
            following = at.children.get(token)
            if following is None:
                return None
            at = following
        return at, len(key)

    def count(self, spot: Spot) -> int:
        """How often the sequence that leads to ``spot`` was seen."""
        return 1 if type(spot[0]) is tuple else spot[0].count

    def children(self, spot: Spot) -> Iterator[tuple[int, int, int, Spot]]:
        """(token, count, place, spot) of what followed, the earliest seen first."""
        at, reached = spot
        if type(at) is tuple:
            which, begin = at
            text = self.texts[which]
            if begin + reached < len(text) and reached < self.depth:
                yield text[begin + reached], 1, begin + reached, (at, reached + 1)
            return
        for token, child in at.children.items():
            if type(child) is tuple:
                yield token, 1, child[1] + reached, (child, reached + 1)
            else:
                yield token, child.count, child.place, (child, reached + 1)
