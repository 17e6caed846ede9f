"""REST's rule on a statistics database: the trie of what followed the longest known suffix of the text in a corpus."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.expand import trie
from hsd_viz.drafting.hierarchy import Database
from hsd_viz.drafting.tree import DraftTree, as_eos_set


class Retrieval:
    """Retrieval-based speculative decoding for one run.

    Source: He et al., "REST: Retrieval-Based Speculative Decoding", NAACL 2024, arXiv 2311.08252 (repository FasterDecoding/REST,
    Apache-2.0), re-implemented from its description: the longest suffix of the text, from ``longest`` (16) tokens down to
    ``shortest`` (2), that the corpus holds; of what followed it there, to a depth of ``depth`` (10) tokens, the ``most`` (64)
    most frequent prefixes, as a trie.

    ``corpus`` is a statistics database instead of a suffix array, which sets two limits: keys are as long as the index has
    them (six tokens as shipped, and none that says no more than its suffix), and counts beyond them are worked out as
    :mod:`.expand` says. Frozen: it learns nothing. Nothing is drafted after an end-of-text token.
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
        if not 1 <= shortest <= longest or most < 1 or depth < 1:
            raise ValueError(
                f"suffixes of {longest} down to {shortest} tokens, {most} nodes and depth {depth} are out of range"
            )
        self.corpus = corpus
        self.ends = as_eos_set(eos)
        self.longest = longest
        self.shortest = shortest
        self.most = self.nodes = most
        self.depth = depth

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins; nothing depends on what came before the text's end."""

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted; see :meth:`start`."""

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """The most frequent continuations of ``text`` as a tree of at most ``budget`` nodes."""
        tree = DraftTree()
        match = self.corpus.lookup(spell(text[-self.longest :])) if budget > 0 and len(text) else None
        if match is not None and match[0] >= self.shortest:
            self._grow(tree, text, match[0], match[1], budget)
        if not tree.tokens:
            tree.why_empty = "no room" if budget < 1 else "no match"
        return tree

    def _grow(self, tree: DraftTree, text: Sequence[int], length: int, total: int, budget: int) -> None:
        nodes = trie(self.corpus.lookup, spell(text[-length:]), nodes=min(self.most, budget), depth=self.depth)
        place: list[int | None] = []
        for token, parent, count in nodes:
            above = -1 if parent < 0 else place[parent]
            if above is None or (above >= 0 and tree.tokens[above] in self.ends):
                place.append(None)
                continue
            place.append(tree.add(token, above, self.name, length, round(count), min(1.0, count / total)))
