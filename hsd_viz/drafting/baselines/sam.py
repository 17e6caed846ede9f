"""SAM-Decoding: copy what followed the longest suffix of the text that occurred before, the longer the match the more of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from heapq import heappop, heappush

from hsd_viz.drafting.baselines.automaton import BREAK, StaticAutomaton, SuffixAutomaton
from hsd_viz.drafting.tree import DraftTree, as_eos_set


class SAMDecoding:
    """SAM-Decoding by itself (without Token Recycling or EAGLE to fall back on), for one run.

    Source: Hu et al., "SAM Decoding: Speculative Decoding via Suffix Automaton", ACL 2025, arXiv 2411.10666 (repository
    hyx1999/SAM-Decoding), re-implemented from its description. A suffix automaton of the text (``dynamic``) and one of other
    texts (``static``, where one is given) each tell the longest suffix of the text they know, of any length. After a match of m
    tokens up to min(``most``, 1 + ``alpha`` · m) tokens are drafted (60 and 4):

    * from the text, a chain: the copy that begins after the **earliest** place of the match. Where fewer than the wanted
      tokens follow that place, the next shorter suffix that occurs elsewhere is tried, with its own wanted number; the shortest
      one takes what there is.
    * from the static texts, if their match is longer than the text's by more than ``bias`` (5): a tree of what followed there,
      best first by the share of times it did, at most ``width`` (8) nodes of one depth.

    As cold as the text itself: without a ``static`` automaton nothing is known before the prompt. Nothing is drafted after an
    end-of-text token.
    """

    name = "sam"

    def __init__(
        self,
        *,
        static: StaticAutomaton | None = None,
        eos: int | Collection[int] | None = None,
        most: int = 60,
        alpha: int = 4,
        bias: int = 5,
        width: int = 8,
    ) -> None:
        if most < 1 or alpha < 0 or bias < 0 or width < 1:
            raise ValueError(f"drafts of {most} tokens, alpha {alpha}, bias {bias} and width {width} are out of range")
        self.ends = as_eos_set(eos)
        self.static = static
        self.most = self.nodes = most
        self.alpha = alpha
        self.bias = bias
        self.width = width
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt."""
        self._text = SuffixAutomaton()
        self._match = (0, 0)
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted: the text grew by them."""
        for token in tokens:
            self._text.append(token)
            if self.static is not None:
                self._match = self.static.automaton.step(*self._match, token)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """A chain or tree of at most ``budget`` nodes that may follow ``text``."""
        tree = DraftTree()
        if budget < 1:
            tree.why_empty = "no room"
            return tree
        ahead = text[len(self._text.tokens) :]
        state, matched = self._local(ahead)
        if self.static is not None:
            theirs = self._match
            for token in ahead:
                theirs = self.static.automaton.step(*theirs, token)
            if theirs[1] - self.bias > matched:
                self._grow(tree, *theirs, budget)
        if not tree.tokens and matched:
            self._copy(tree, state, matched, budget)
        if not tree.tokens:
            tree.why_empty = "no match"
        return tree

    def _local(self, ahead: Sequence[int]) -> tuple[int, int]:
        """The state and length of the longest suffix of the text and ``ahead`` that the text holds with something after it."""
        text = self._text
        state, matched = text.last, len(text.tokens)
        for token in ahead:
            state, matched = text.step(state, matched, token)
        while state and text.first[state] == len(text.tokens) - 1:
            state = text.link[state]
            matched = text.length[state]
        return state, matched

    def _wanted(self, matched: int, budget: int) -> int:
        return min(self.most, 1 + self.alpha * matched, budget)

    def _copy(self, tree: DraftTree, state: int, matched: int, budget: int) -> None:
        """The chain after the earliest place of the match."""
        text = self._text
        while len(text.tokens) - 1 - text.first[state] < self._wanted(matched, budget) and text.link[state] > 0:
            state = text.link[state]
            matched = text.length[state]
        start = text.first[state] + 1
        for i, token in enumerate(text.tokens[start : start + self._wanted(matched, budget)]):
            tree.add(token, i - 1, self.name, key_length=matched, position=start + i)
            if token in self.ends:
                break

    def _grow(self, tree: DraftTree, state: int, matched: int, budget: int) -> None:
        """The tree of what followed the match in the static texts, best first; the lower token first among equals."""
        follow, counts = self.static.automaton.follow, self.static.counts
        total, wanted = counts[state], self._wanted(matched, budget)
        at_depth: Counter[int] = Counter()
        queue: list[tuple] = []
        grow: tuple[int, int, int] | None = (state, 0, -1)
        while len(tree) < wanted:
            if grow is not None:
                state, depth, node = grow
                for token, to in follow[state].items():
                    if token != BREAK:
                        heappush(queue, (-counts[to], depth + 1, token, node, to))
            while queue and at_depth[queue[0][1]] == self.width:
                heappop(queue)
            if not queue:
                return
            negative, depth, token, parent, state = heappop(queue)
            at_depth[depth] += 1
            node = tree.add(token, parent, self.name, key_length=matched, count=-negative, score=-negative / total)
            grow = None if token in self.ends else (state, depth, node)
