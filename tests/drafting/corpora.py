"""A database that counts by looking: slow, exact, and no approximation to hide behind."""

from __future__ import annotations

from collections import Counter


class Exact:
    """What followed the longest suffix of a tail in ``texts``, by scanning them; the lower token first among equals."""

    def __init__(self, texts, longest=99):
        self.texts = ["".join(map(chr, text)) for text in texts]
        self.longest = longest
        self.asked = []

    def lookup(self, tail, longest=None):
        self.asked.append(tail)
        most = self.longest if longest is None else min(longest, self.longest)
        for n in range(min(most, len(tail)), 0, -1):
            key = tail[len(tail) - n :]
            after = Counter(t[i + n] for t in self.texts for i in range(len(t) - n) if t[i : i + n] == key)
            if after:
                ranked = sorted(after.items(), key=lambda item: (-item[1], item[0]))
                return n, sum(after.values()), [(ord(c), count, None) for c, count in ranked]
        return None


def paths(tree):
    """The tokens from the text to each node."""
    out = []
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        out.append((*out[parent], token) if parent >= 0 else (token,))
    return out
