"""REST on a statistics database: the trie of what followed the longest known suffix of the text in a corpus."""

from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush

from hsd_viz.drafting.context import Database, Match, spell
from hsd_viz.drafting.tree import DraftTree, as_eos_set

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
    16 tokens down to 2, in the corpus; of what followed it, to a depth of 10 tokens, draft the 64 most frequent
    prefixes as a trie.

    ``corpus`` is a statistics database instead of a suffix array, which has two limits: keys are those of the index (up
    to six tokens as shipped, without keys that add nothing to their suffix), and counts beyond them are estimates (see
    :func:`continuation_trie`). Frozen. Nothing is drafted after an end-of-text token.
    """

    name = "retrieval"
    longest, shortest, nodes, depth = 16, 2, 64, 10

    def __init__(self, corpus: Database, *, eos: int | Collection[int] | None = None) -> None:
        self.corpus = corpus
        self.eos = as_eos_set(eos)

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run; only the end of the text matters."""

    def extend(self, tokens: Sequence[int]) -> None:
        """Do nothing: only the end of the text matters."""

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        match = self.corpus.lookup(spell(text[-self.longest :])) if budget > 0 and len(text) else None
        if match is None or match[0] < self.shortest:
            return tree.or_reason(budget)
        length, total, _ = match
        key, nodes = spell(text[-length:]), min(self.nodes, budget)
        found = continuation_trie(self.corpus.lookup, key, nodes=nodes, depth=self.depth)
        place: list[int | None] = []
        for token, parent, count in found:
            above = -1 if parent < 0 else place[parent]
            if above is None or (above >= 0 and tree.tokens[above] in self.eos):
                place.append(None)
                continue
            place.append(tree.add(token, above, self.name, length, round(count), min(1.0, count / total)))
        return tree.or_reason(budget)
