"""The suffix automaton of a growing text: the smallest automaton that knows all its substrings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Stands between texts; no token has this number, so nothing matches across it.
BREAK = -1


class SuffixAutomaton:
    """Built token by token, amortised constant time each (Blumer et al. 1985), at most two states a token.

    A state stands for substrings that end at the same places. ``length[s]`` is that of its longest, ``link[s]`` the state of
    its longest suffix that ends at more places (-1 for the root, state 0), ``follow[s]`` maps a token to the next state,
    ``first[s]`` is the place of its earliest end. ``last`` is the state of the whole text, ``tokens`` the text.
    """

    __slots__ = ("_own", "first", "follow", "last", "length", "link", "tokens")

    def __init__(self, tokens: Iterable[int] = ()) -> None:
        self.tokens: list[int] = []
        self.length = [0]
        self.link = [-1]
        self.follow: list[dict[int, int]] = [{}]
        self.first = [-1]
        #: Whether a state was made by a token of its own and not as a copy: it then ends at one place more than its children.
        self._own = [False]
        self.last = 0
        for token in tokens:
            self.append(token)

    def append(self, token: int) -> None:
        """The text grew by ``token``."""
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
                # Only the shorter substrings of ``to`` end here too: they get a state of their own.
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
        """Where the longest matching suffix stands after one more token: from ``matched`` tokens in ``state`` to the same two."""
        while state and token not in self.follow[state]:
            state = self.link[state]
            matched = self.length[state]
        following = self.follow[state].get(token)
        return (0, 0) if following is None else (following, matched + 1)

    def occurrences(self) -> list[int]:
        """How often the substrings of each state occur; for the root, 0."""
        counts = [int(own) for own in self._own]
        for state in sorted(range(1, len(counts)), key=self.length.__getitem__, reverse=True):
            if self.link[state] > 0:
                counts[self.link[state]] += counts[state]
        return counts


class StaticAutomaton:
    """The automaton of finished texts (a corpus, outputs of a model), with how often each state occurs. Read-only, to be shared."""

    __slots__ = ("automaton", "counts")

    def __init__(self, texts: Iterable[Sequence[int]]) -> None:
        self.automaton = SuffixAutomaton()
        for text in texts:
            for token in text:
                self.automaton.append(token)
            self.automaton.append(BREAK)
        self.counts = self.automaton.occurrences()
