"""SuffixDecoding: speculation trees from suffix trees of this text and of earlier outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from hsd_viz.drafting.make import drafter
from hsd_viz.drafting.tree import Drafter, DraftTree, as_eos_set
from hsd_viz.words import check_range

#: Outputs stored from run to run.
OUTPUTS = 10_000


@dataclass(slots=True, eq=False)
class Node:
    """A sequence of tokens with which ``count`` (before removals, at least two) suffixes begin.

    ``children`` maps the next token to a node, or to a leaf: the (text, start) of the only suffix that continues with
    it, whose further tokens are read from its text. ``place`` is the position of the sequence's last token in the first
    text that had it.
    """

    count: int
    place: int
    children: dict[int, Node | tuple[int, int]] = field(default_factory=dict)


#: A sum of probabilities may exceed its bound by the rounding of floats.
_ROUNDING = 1 + 1e-9

#: A position in the tree: a node or a leaf, and its depth in tokens.
Spot = tuple[Node | tuple[int, int], int]


class SuffixTree:
    """The suffixes of growing texts with counts, each to at most ``depth`` tokens. :meth:`begin` starts the next text.
    A new token updates only the suffixes that occurred before: as many as the longest match has tokens. If there are
    more than ``most`` texts, the oldest is removed (``None``: never).
    """

    __slots__ = ("_active", "current", "depth", "most", "root", "texts")

    def __init__(self, depth: int = 64, most: int | None = None) -> None:
        check_range("the depth", depth, 1)
        if most is not None:
            check_range("the number of texts", most, 1)
        self.depth = depth
        self.most = most
        self.root = Node(0, -1)
        self.texts: dict[int, list[int]] = {}
        self.current = -1
        #: The suffixes of the current text that end within the tree: their starts and nodes, longest first.
        self._active: list[tuple[int, Node]] = []

    def begin(self) -> int:
        """Begin a new text and return its number, which is ``current`` until the next one begins."""
        self.current += 1
        self._active = []
        self.texts[self.current] = []
        while self.most is not None and len(self.texts) > self.most:
            self._remove(next(iter(self.texts)))
        return self.current

    def append(self, token: int) -> None:
        """Append ``token`` to the current text."""
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
            if isinstance(child, tuple):
                # Now two suffixes: the leaf moves one token down if its text continues.
                which, begin = child
                other, after = self.texts[which], begin + reached
                node.children[token] = inner = Node(2, after - 1)
                if after < len(other) and reached < self.depth:
                    inner.children[other[after]] = child
                child = inner
            else:
                child.count += 1
            if reached < self.depth:
                active.append((start, child))
        self._active = active

    def _remove(self, which: int) -> None:
        """Remove a finished text."""
        text = self.texts.pop(which)
        for start in range(len(text)):
            self.root.count -= 1
            node = self.root
            for token in text[start : start + self.depth]:
                child = node.children[token]
                if isinstance(child, tuple):
                    del node.children[token]
                    break
                child.count -= 1
                if child.count == 0:
                    del node.children[token]
                    break
                node = child

    def locate(self, key: Sequence[int]) -> Spot | None:
        """Return the position of ``key``, ``None`` if it was never seen or is longer than ``depth``."""
        if len(key) > self.depth:
            return None
        at: Node | tuple[int, int] = self.root
        for done, token in enumerate(key):
            if isinstance(at, tuple):
                # The rest must match the text of the leaf.
                which, begin = at
                rest = self.texts[which][begin + done : begin + len(key)]
                return (at, len(key)) if rest == list(key[done:]) else None
            following = at.children.get(token)
            if following is None:
                return None
            at = following
        return at, len(key)

    def count(self, spot: Spot) -> int:
        """Return how often the sequence at ``spot`` was seen."""
        return 1 if isinstance(spot[0], tuple) else spot[0].count

    def children(self, spot: Spot) -> Iterator[tuple[int, int, int, Spot]]:
        """Yield (token, count, place, spot) of what followed, the first seen first."""
        at, reached = spot
        if isinstance(at, tuple):
            which, begin = at
            text = self.texts[which]
            if begin + reached < len(text) and reached < self.depth:
                yield text[begin + reached], 1, begin + reached, (at, reached + 1)
            return
        for token, child in at.children.items():
            if isinstance(child, tuple):
                yield token, 1, child[1] + reached, (child, reached + 1)
            else:
                yield token, child.count, child.place, (child, reached + 1)


@drafter(
    "suffix",
    words="baseline: SuffixDecoding (suffix trees)",
    remembers=lambda: SuffixTree(most=OUTPUTS),
    make=lambda run: SuffixDecoding(outputs=run.state, eos=run.eos),
)
class SuffixDecoding(Drafter):
    """SuffixDecoding for one run.

    Source: Oliaro et al., "SuffixDecoding: Extreme Speculative Decoding for Emerging AI Applications", NeurIPS 2025,
    arXiv 2411.04975 (repository snowflakedb/ArcticInference, Apache-2.0), re-implemented from its description.

    There are two suffix trees of sequences up to 64 tokens (the depth of ``outputs``): one of this run's prompt and
    output, and ``outputs``, of the outputs of earlier runs and this one. For **every** length p of a matching suffix of
    the text, a speculation tree is grown best-first: a path's probability is the product of count(child) / count(node),
    at least ``least`` (0.1), and the tree has at most MAX_SPEC = alpha · p tokens, with alpha 1. The tree with the
    highest score (the sum of its probabilities: the expected number of accepted tokens) is drafted; among equals that
    of the longer match, and that of the run's own tree. As published, a count includes the end of the text itself,
    after which nothing was seen yet.

    ``outputs`` is the state that outlives a run: passed from run to run it is warm, a new one (the default) cold; it
    holds the latest 10 000 outputs and serves one run at a time. Unlike the published code, nothing is drafted after an
    end-of-text token, and among equally probable tokens the first candidate comes first.
    """

    least = 0.1

    def __init__(self, *, outputs: SuffixTree | None = None, eos: int | Collection[int] | None = None) -> None:
        self.eos = as_eos_set(eos)
        self.outputs = outputs if outputs is not None else SuffixTree(most=OUTPUTS)
        self.depth = self.nodes = self.outputs.depth
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        self._text = SuffixTree(self.depth)
        self._text.begin()
        for token in prompt:
            self._text.append(token)
        self._output: int | None = None

    def extend(self, tokens: Sequence[int]) -> None:
        if self.outputs.current != self._output:
            self._output = self.outputs.begin()
        for token in tokens:
            self._text.append(token)
            self.outputs.append(token)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        if budget < 1:
            return DraftTree(why_empty="no room")
        # A key is shorter than the text, and leaves the tree one token of depth.
        size = min(self.depth, len(text)) - 1
        key = list(text[-size:]) if size > 0 else []
        tree, score, matched = self._best(self._text, key, budget, 0.0, True)
        other, better, matched_outputs = self._best(self.outputs, key, budget, score, False)
        if better > score:
            tree = other
        return tree.or_reason(budget, "not worth it" if matched or matched_outputs else "no match")

    def _best(
        self, trie: SuffixTree, key: list[int], budget: int, floor: float, local: bool
    ) -> tuple[DraftTree, float, bool]:
        """Return the tree with the highest score above ``floor``, its score, and whether anything matched."""
        best, score = DraftTree(), floor
        low, high = 0, len(key)
        # If a sequence has followers, so has every suffix of it: the longest match is found by bisection.
        while low < high:
            middle = (low + high + 1) // 2
            spot = trie.locate(key[len(key) - middle :])
            if spot is not None and next(trie.children(spot), None) is not None:
                low = middle
            else:
                high = middle - 1
        # The probabilities of a level sum to at most 1, so a score is at most the number of levels that are left in the
        # trie, and at most the tree's size. The most promising matches come first; the rest often cannot win.
        bound = lambda matched: min(budget, matched, trie.depth - matched)
        first = len(key) + 1
        for matched in sorted(range(low, 0, -1), key=bound, reverse=True):
            if bound(matched) * _ROUNDING < score:
                break
            if matched < first and min(budget, matched) <= score:
                continue
            spot = trie.locate(key[len(key) - matched :])
            assert spot is not None, "every suffix of a match matches"
            tree = self._speculate(trie, spot, matched, min(budget, matched), local)
            total = sum(score for score in tree.scores if score is not None)
            if total > score or (total == score and matched > first):
                best, score, first = tree, total, matched
        return best, score, low > 0

    def _speculate(self, trie: SuffixTree, spot: Spot, matched: int, most: int, local: bool) -> DraftTree:
        """Return the up to ``most`` most probable tokens after ``spot`` as a tree."""
        tree = DraftTree()
        queue: list[tuple] = []
        serial, node, probability = 0, -1, 1.0
        grow: Spot | None = spot
        while len(tree) < most:
            if grow is not None:
                seen = trie.count(grow)
                for token, count, place, child in trie.children(grow):
                    p = probability * count / seen
                    if p >= self.least:
                        serial += 1
                        heappush(queue, (-p, serial, node, token, count, place, child))
            if not queue:
                break
            negative, _, parent, token, count, place, child = heappop(queue)
            probability = -negative
            node = tree.add(token, parent, self.name, matched, count, probability, place if local else None)
            grow = None if token in self.eos else child
        return tree
