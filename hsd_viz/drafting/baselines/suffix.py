"""SuffixDecoding: speculation trees from suffix trees of the text and of earlier outputs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from operator import itemgetter

from hsd_viz.drafting.make import Baseline, drafter
from hsd_viz.drafting.tree import DraftTree

#: The number of outputs that are kept between runs.
OUTPUTS = 10_000
#: A sum of probabilities may exceed its bound by the rounding of floats.
_ROUNDING = 1 + 1e-9


@dataclass(slots=True, eq=False)
class Node:
    """A node of a suffix tree: a sequence of tokens with which suffixes begin.

    Attributes:
        which: the number of the text with the first of these suffixes.
        start: the position in that text at which the suffix begins.
        count: the number of suffixes that begin with the sequence.
        children: the child nodes by next token; ``None`` for a leaf, whose only continuation is
            read from the text.
    """

    which: int
    start: int
    count: int = 1
    children: dict[int, Node] | None = None


class SuffixTree:
    """A suffix tree of growing texts, with counts.

    :meth:`begin` starts the next text. A new token updates only the suffixes that occurred before,
    as many as the longest match has tokens.

    Args:
        depth: the largest number of tokens in a suffix.
        most: the largest number of texts, beyond which the oldest is removed; ``None`` means
            unlimited.

    Attributes:
        root: the root node.
        texts: the texts by number.
        current: the number of the text that grows; -1 before the first.
    """

    def __init__(self, depth: int = 64, most: int | None = None) -> None:
        self.depth = depth
        self.most = most
        self.root = Node(-1, 0, 0, {})
        self.texts: dict[int, list[int]] = {}
        self.current = -1
        #: The start and the node of each suffix of the current text that ends at an inner node, the
        #: longest first.
        self._active: list[tuple[int, Node]] = []

    def begin(self) -> int:
        """Begin a new text, and return its number."""
        self.current += 1
        self._active = []
        self.texts[self.current] = []
        while self.most is not None and len(self.texts) > self.most:
            self._remove(next(iter(self.texts)))
        return self.current

    def append(self, token: int) -> None:
        """Append ``token`` to the current text."""
        text = self.texts[self.current]
        self.root.count += 1
        suffixes = [*self._active, (len(text), self.root)]
        self._active = []
        text.append(token)
        for start, node in suffixes:
            depth = len(text) - start
            assert node.children is not None
            child = node.children.get(token)
            if child is None:
                node.children[token] = Node(self.current, start)
                continue
            if child.children is None:
                # A second suffix reaches the leaf, which moves one token down if its text
                # continues.
                followers = self.children(child, depth)
                child.children = {t: Node(child.which, child.start) for t, _ in followers}
            child.count += 1
            if depth < self.depth:
                self._active.append((start, child))

    def _remove(self, which: int) -> None:
        """Remove a finished text."""
        text = self.texts.pop(which)
        for start in range(len(text)):
            self.root.count -= 1
            node = self.root
            for token in text[start : start + self.depth]:
                assert node.children is not None
                child = node.children[token]
                child.count -= 1
                if child.count == 0:
                    del node.children[token]
                    break
                node = child

    def locate(self, key: Sequence[int]) -> Node | None:
        """Return the node of ``key``, or the leaf whose text continues with it; ``None`` if the key
        does not occur.
        """
        node: Node | None = self.root
        for depth, token in enumerate(key):
            if node is None:
                break
            if node.children is None:
                rest = self.texts[node.which][node.start + depth : node.start + len(key)]
                return node if rest == list(key[depth:]) else None
            node = node.children.get(token)
        return node

    def matched(self, key: Sequence[int]) -> int:
        """Return the length of the longest suffix of ``key`` that has followers.

        Bisection finds it, because then every shorter suffix has followers, too.
        """

        def is_new(length: int) -> bool:
            node = self.locate(key[len(key) - length :])
            return node is None or not self.children(node, length)

        return bisect_left(range(1, len(key) + 1), True, key=is_new)

    def children(self, node: Node, depth: int) -> Collection[tuple[int, Node]]:
        """Return the tokens that followed the first ``depth`` tokens of a node, in the order in
        which they were first seen, each with its node. The node after a leaf is the leaf itself.
        """
        if node.children is not None:
            return node.children.items()
        rest = self.texts[node.which][node.start + depth : node.start + self.depth]
        return [(token, node) for token in rest[:1]]


@drafter("suffix", remembers=lambda: SuffixTree(most=OUTPUTS))
class SuffixDecoding(Baseline):
    """SuffixDecoding for one run.

    There are two suffix trees of sequences of up to 64 tokens: one of the prompt and output of this
    run, and ``outputs`` of the latest 10 000 outputs, including that of this run. For **each**
    length p of a matching suffix of the text, a speculation tree is grown best-first. The
    probability of a path is the product of count(child) / count(node), which must be at least
    ``least`` (0.1). The tree has at most MAX_SPEC = alpha · p tokens, with alpha 1.

    The tree with the highest score is drafted, where the score is the sum of the probabilities, the
    expected number of accepted tokens. Of trees with equal scores that of the longer match is
    drafted, then that of the run's own suffix tree. As in the published code, a count includes the
    end of the text itself, which has no follower yet. Unlike there, of equally probable tokens the
    first candidate comes first.

    Source: Oliaro et al., "SuffixDecoding: Extreme Speculative Decoding for Emerging AI
    Applications", NeurIPS 2025, arXiv 2411.04975 (repository snowflakedb/ArcticInference,
    Apache-2.0), re-implemented from its description.
    """

    least = 0.1

    def start(self, prompt: Sequence[int]) -> None:
        self.outputs: SuffixTree = self.run.state
        self.depth = self.nodes = self.outputs.depth
        self._text = SuffixTree(self.depth)
        self._text.begin()
        self._output: int | None = None
        for token in prompt:
            self._text.append(token)

    def extend(self, tokens: Sequence[int]) -> None:
        if self.outputs.current != self._output:
            self._output = self.outputs.begin()
        for token in tokens:
            self._text.append(token)
            self.outputs.append(token)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        # The key is shorter than the text, and at least one token shorter than the tree is deep.
        key = list(text[max(1, len(text) - self.depth + 1) :])
        best = DraftTree()
        score = 0.0
        reason = "no match"
        for trie in (self._text, self.outputs):
            longest = trie.matched(key)
            first = len(key) + 1
            # Matches with the highest bounds come first, so that the rest can often be skipped.
            for matched, bound in _by_bound(longest, trie.depth, budget):
                if bound * _ROUNDING < score:
                    break
                if matched < first and min(budget, matched) <= score:
                    continue
                tree = self._speculate(trie, key[len(key) - matched :], min(budget, matched))
                total = tree.expected_tokens()
                if (total, matched) > (score, first):
                    best = tree
                    score = total
                    first = matched
            if longest:
                reason = "not worth it"
        return best.or_reason(budget, reason)

    def _speculate(self, trie: SuffixTree, key: list[int], size: int) -> DraftTree:
        """Return a tree of up to ``size`` tokens, the likeliest ones after ``key``."""
        tree = DraftTree()
        queue = list[tuple]()
        serial = 0
        node = trie.locate(key)
        parent = -1
        probability = 1.0
        depth = len(key)
        assert node is not None, "every suffix of a match matches"
        while len(tree) < size:
            is_end = parent >= 0 and tree.tokens[parent] in self.eos
            followers = () if is_end else trie.children(node, depth)
            for token, child in followers:
                p = probability * child.count / node.count
                if p >= self.least:
                    serial += 1
                    heappush(queue, (-p, serial, parent, token, child, depth))
            if not queue:
                break
            negative, _, above, token, node, depth = heappop(queue)
            probability = -negative
            position = node.start + depth if trie is self._text else None
            parent = tree.add(token, above, self.name, len(key), node.count, probability, position)
            depth += 1
        return tree


def _by_bound(longest: int, depth: int, budget: int) -> list[tuple[int, int]]:
    """Return each match length up to ``longest`` with an upper bound of its tree's score.

    The highest bound comes first; of equal bounds, that of the longest match. The probabilities at
    a depth sum to at most 1, so a score is at most the number of levels below the match in a suffix
    tree of this ``depth``, and at most the size of the tree.
    """
    bounds = []
    for matched in range(longest, 0, -1):
        bounds.append((matched, min(budget, matched, depth - matched)))
    return sorted(bounds, key=itemgetter(1), reverse=True)
