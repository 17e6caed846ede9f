"""REST on a statistics database: the trie of what followed the longest known suffix of the text in a corpus."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush

from hsd_viz.drafting.context import Database, Match, spell
from hsd_viz.drafting.tree import DraftTree, as_eos_set
from hsd_viz.words import check_range

Lookup = Callable[[str], Match | None]


def _followers(lookup: Lookup, tail: str, count: float) -> list[tuple[int, float]]:
    """Return (token, count) of what followed ``tail``, a path seen ``count`` times; most frequent first."""
    match = lookup(tail)
    if match is None:
        return []
    length, total, continuations = match
    if length == len(tail):
        return [(token, float(c)) for token, c, _ in continuations]
    return [(token, count * c / total) for token, c, _ in continuations]


def continuation_trie(lookup: Lookup, key: str, *, nodes: int, depth: int) -> list[tuple[int, int, float]]:
    """Return the ``nodes`` most frequent prefixes of what followed ``key``, as (token, parent, count).

    Parent -1 is ``key``. Prefixes have at most ``depth`` tokens. Most frequent first, then shorter, then the lower
    token; parents come before children. The published methods count every continuation in the corpus; an index holds
    the most frequent followers of short keys. A count is exact while key and path together are a key of the index;
    beyond, the path's count is divided as the longest known suffix suggests. Prefixes with an estimate below 1 are
    omitted.
    """
    out: list[tuple[int, int, float]] = []
    queue: list[tuple] = []
    match = lookup(key)
    if match is None or match[0] != len(key):
        return out
    # The serial number ends the comparison of equals.
    serial, reached, parent, path, count = 0, 0, -1, key, float(match[1])
    while True:
        if reached < depth:
            for token, c in _followers(lookup, path, count):
                if c >= 1:
                    serial += 1
                    heappush(queue, (-c, reached + 1, token, serial, parent, path))
        if not queue or len(out) == nodes:
            return out
        negative, reached, token, _, above, before = heappop(queue)
        parent, path, count = len(out), before + chr(token), -negative
        out.append((token, above, count))


class Retrieval:
    """Retrieval-based speculative decoding for one run.

    Source: He et al., "REST: Retrieval-Based Speculative Decoding", NAACL 2024, arXiv 2311.08252 (repository
    FasterDecoding/REST, Apache-2.0), re-implemented from its description: find the longest suffix of the text, from
    ``longest`` (16) tokens down to ``shortest`` (2), in the corpus; of what followed it, to a depth of ``depth`` (10)
    tokens, draft the ``most`` (64) most frequent prefixes as a trie.

    ``corpus`` is a statistics database instead of a suffix array, which has two limits: keys are those of the index (up
    to six tokens as shipped, without keys that add nothing to their suffix), and counts beyond them are estimates (see
    :func:`continuation_trie`). Frozen. Nothing is drafted after an end-of-text token.
    """

    name = "retrieval"

    def __init__(
        self,
        corpus: Database,
        *,
        eos: int | Collection[int] | None = None,
        longest: int = 16,
        shortest: int = 2,
        most: int = 64,
        depth: int = 10,
    ) -> None:
        check_range("the shortest suffix", shortest, 1)
        check_range("the longest suffix", longest, shortest)
        check_range("the number of nodes", most, 1)
        check_range("the depth", depth, 1)
        self.corpus = corpus
        self.eos = as_eos_set(eos)
        self.longest = longest
        self.shortest = shortest
        self.most = self.nodes = most
        self.depth = depth

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run; only the end of the text matters."""

    def extend(self, tokens: Sequence[int]) -> None:
        """Do nothing: only the end of the text matters."""

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the most frequent continuations of ``text`` as a tree of at most ``budget`` nodes."""
        tree = DraftTree()
        match = self.corpus.lookup(spell(text[-self.longest :])) if budget > 0 and len(text) else None
        if match is not None and match[0] >= self.shortest:
            self._grow(tree, text, match[0], match[1], budget)
        if not tree.tokens:
            tree.why_empty = "no room" if budget < 1 else "no match"
        return tree

    def _grow(self, tree: DraftTree, text: Sequence[int], length: int, total: int, budget: int) -> None:
        nodes = min(self.most, budget)
        found = continuation_trie(self.corpus.lookup, spell(text[-length:]), nodes=nodes, depth=self.depth)
        place: list[int | None] = []
        for token, parent, count in found:
            above = -1 if parent < 0 else place[parent]
            if above is None or (above >= 0 and tree.tokens[above] in self.eos):
                place.append(None)
                continue
            place.append(tree.add(token, above, self.name, length, round(count), min(1.0, count / total)))
