"""REST on a statistics database: the trie of what followed the longest known suffix of the text in a corpus."""

from collections.abc import Collection, Sequence

from hsd_viz.drafting.context import Database, continuation_trie, spell
from hsd_viz.drafting.make import drafter
from hsd_viz.drafting.tree import Drafter, DraftTree, as_eos_set


@drafter(
    "retrieval",
    words="baseline: REST (retrieval from a corpus)",
    make=lambda run: Retrieval(run.database("statistics"), eos=run.eos),
)
class Retrieval(Drafter):
    """Retrieval-based speculative decoding for one run.

    Source: He et al., "REST: Retrieval-Based Speculative Decoding", NAACL 2024, arXiv 2311.08252 (repository
    FasterDecoding/REST, Apache-2.0), re-implemented from its description: find the longest suffix of the text, from
    16 tokens down to 2, in the corpus; of what followed it, to a depth of 10 tokens, draft the 64 most frequent
    prefixes as a trie.

    ``corpus`` is a statistics database instead of a suffix array, which has two limits: keys are those of the index (up
    to six tokens as shipped, without keys that add nothing to their suffix), and counts beyond them are estimates (see
    :func:`~hsd_viz.drafting.context.continuation_trie`). Frozen. Nothing is drafted after an end-of-text token.
    """

    longest, shortest, nodes, depth = 16, 2, 64, 10

    def __init__(self, corpus: Database, *, eos: int | Collection[int] | None = None) -> None:
        self.corpus = corpus
        self.eos = as_eos_set(eos)

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
