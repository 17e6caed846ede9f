"""SAM-Decoding: copy what followed the longest suffix of the text that occurred before."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from heapq import heappop, heappush

from hsd_viz.drafting.tree import DraftTree, as_eos_set

#: Separates texts; no token has this id, so nothing matches across it.
BREAK = -1


class SuffixAutomaton:
    """The smallest automaton of all substrings of a growing text (Blumer et al. 1985).

    Appending takes amortized constant time. A state represents substrings that end at the same places. ``length[s]`` is
    the length of its longest, ``link[s]`` the state of its longest suffix that ends at more places (-1 for the root,
    state 0), ``follow[s]`` maps a token to the next state, ``first[s]`` is its earliest end. ``last`` is the state of
    the whole text.
    """

    __slots__ = ("_own", "first", "follow", "last", "length", "link", "tokens")

    def __init__(self, tokens: Iterable[int] = ()) -> None:
        self.tokens: list[int] = []
        self.length = [0]
        self.link = [-1]
        self.follow: list[dict[int, int]] = [{}]
        self.first = [-1]
        #: Whether a state was created by a token, not as a copy: it then ends at one more place than its children.
        self._own = [False]
        self.last = 0
        for token in tokens:
            self.append(token)

    def append(self, token: int) -> None:
        """Append ``token`` to the text."""
        length, link, follow = self.length, self.link, self.follow
        at, new = self.last, len(length)
        length.append(length[at] + 1)
        link.append(0)
        follow.append({})
        self.first.append(len(self.tokens))
        self._own.append(True)
        self.tokens.append(token)
        while at >= 0 and token not in follow[at]:
            follow[at][token] = new
            at = link[at]
        if at >= 0:
            to = follow[at][token]
            if length[at] + 1 == length[to]:
                link[new] = to
            else:
                # Only the shorter substrings of ``to`` end here, too: split them off.
                copy = len(length)
                length.append(length[at] + 1)
                link.append(link[to])
                follow.append(dict(follow[to]))
                self.first.append(self.first[to])
                self._own.append(False)
                while at >= 0 and follow[at].get(token) == to:
                    follow[at][token] = copy
                    at = link[at]
                link[to] = link[new] = copy
        self.last = new

    def step(self, state: int, matched: int, token: int) -> tuple[int, int]:
        """Return (state, length) of the longest matching suffix after one more token, given those before it."""
        while state and token not in self.follow[state]:
            state = self.link[state]
            matched = self.length[state]
        following = self.follow[state].get(token)
        return (0, 0) if following is None else (following, matched + 1)

    def occurrences(self) -> list[int]:
        """Return the number of occurrences of each state's substrings; 0 for the root."""
        counts = [int(own) for own in self._own]
        for state in sorted(range(1, len(counts)), key=self.length.__getitem__, reverse=True):
            if self.link[state] > 0:
                counts[self.link[state]] += counts[state]
        return counts


class StaticAutomaton(SuffixAutomaton):
    """The automaton of finished texts (a corpus, outputs of a model), with the occurrences of each state. Read-only."""

    __slots__ = ("counts",)

    def __init__(self, texts: Iterable[Sequence[int]]) -> None:
        super().__init__(token for text in texts for token in (*text, BREAK))
        self.counts = self.occurrences()


class SAMDecoding:
    """SAM-Decoding alone (without Token Recycling or EAGLE as fall-back), for one run.

    Source: Hu et al., "SAM Decoding: Speculative Decoding via Suffix Automaton", ACL 2025, arXiv 2411.10666 (repository
    hyx1999/SAM-Decoding), re-implemented from its description. A suffix automaton of the text (``dynamic``) and one of
    other texts (``static``, optional) find the longest suffix of the text, of any length. After a match of m tokens, up
    to min(60, 1 + ``alpha`` · m) tokens are drafted (alpha 4):

    * from the text, a chain: the copy after the **earliest** occurrence of the match. If fewer tokens than that follow
      it, the next shorter suffix with another earliest occurrence is tried; the shortest one takes what exists.
    * from the static texts, if their match is longer than the text's by more than ``bias`` (5): a tree of what
      followed, best first by relative frequency, at most ``width`` (8) nodes of one depth.

    Nothing is drafted after an end-of-text token.
    """

    name = "sam"
    nodes, alpha, bias, width = 60, 4, 5, 8

    def __init__(self, *, static: StaticAutomaton | None = None, eos: int | Collection[int] | None = None) -> None:
        self.eos = as_eos_set(eos)
        self.static = static
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        self._text = SuffixAutomaton()
        self._match = (0, 0)
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._text.append(token)
            if self.static is not None:
                self._match = self.static.step(*self._match, token)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        if budget < 1:
            return tree.or_reason(budget)
        ahead = text[len(self._text.tokens) :]
        state, matched = self._local(ahead)
        if self.static is not None:
            match = self._match
            for token in ahead:
                match = self.static.step(*match, token)
            if match[1] - self.bias > matched:
                self._grow(tree, *match, budget)
        if not tree.tokens and matched:
            self._copy(tree, state, matched, budget)
        return tree.or_reason(budget)

    def _local(self, ahead: Sequence[int]) -> tuple[int, int]:
        """Return state and length of the longest suffix of text + ``ahead`` that occurs in the text with a follower."""
        text = self._text
        state, matched = text.last, len(text.tokens)
        for token in ahead:
            state, matched = text.step(state, matched, token)
        while state and text.first[state] == len(text.tokens) - 1:
            state = text.link[state]
            matched = text.length[state]
        return state, matched

    def _draft_length(self, matched: int, budget: int) -> int:
        return min(self.nodes, 1 + self.alpha * matched, budget)

    def _copy(self, tree: DraftTree, state: int, matched: int, budget: int) -> None:
        """Add the chain after the earliest occurrence of the match."""
        text = self._text
        while len(text.tokens) - 1 - text.first[state] < self._draft_length(matched, budget) and text.link[state] > 0:
            state = text.link[state]
            matched = text.length[state]
        start = text.first[state] + 1
        for i, token in enumerate(text.tokens[start : start + self._draft_length(matched, budget)]):
            tree.add(token, i - 1, self.name, key_length=matched, position=start + i)
            if token in self.eos:
                break

    def _grow(self, tree: DraftTree, state: int, matched: int, budget: int) -> None:
        """Add the tree of what followed the match in the static texts, best first, then the lower token."""
        assert self.static is not None
        follow, counts = self.static.follow, self.static.counts
        total, most = counts[state], self._draft_length(matched, budget)
        at_depth: Counter[int] = Counter()
        queue: list[tuple] = []
        grow: tuple[int, int, int] | None = (state, 0, -1)
        while len(tree) < most:
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
            grow = None if token in self.eos else (state, depth, node)
