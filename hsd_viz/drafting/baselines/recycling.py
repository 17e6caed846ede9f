"""Token Recycling: the latest most probable successors of each token, drafted as a fixed tree."""

from collections.abc import Iterator, Sequence

from hsd_viz.drafting.make import Baseline, drafter
from hsd_viz.drafting.tree import DraftTree, Ids, Observer

#: The published tree of 80 nodes: for each depth, the numbers of children of the nodes one level
#: up, beginning with the text's last token. The k-th child of a node is its k-th most probable
#: successor.
TEMPLATE: tuple[tuple[int, ...], ...] = (
    (8,),
    (8, 4, 3, 2, 1, 1, 1, 1),
    (8, 3, 2, 1, 1, 1, 1, 1, 2, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0),
    (5, 2, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0),
    (3, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0),
    (2, 0, 0, 1, 0, 0, 0, 0),
)

#: The adjacency matrix: a token's successors, most probable first. Tokens without an observation
#: have no row.
Successors = dict[int, tuple[int, ...]]


def unfold(template: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield (parent, rank) of each node of a template, breadth first; parent -1 is the text's last
    token.
    """
    above = [-1]
    number = 0
    for level in template:
        here = []
        for parent, children in zip(above, level, strict=True):
            for rank in range(children):
                yield parent, rank
                here.append(number)
                number += 1
        above = here


@drafter("recycling", remembers=dict)
class TokenRecycling(Baseline, Observer):
    """Token Recycling for one run.

    Source: Luo et al., "Turning Trash into Treasure: Accelerating Inference of Large Language
    Models with Token Recycling", ACL 2025, arXiv 2408.08696 (tree 2.2.2 of Spec-Bench,
    hemingkx/Spec-Bench, Apache-2.0), re-implemented from its description. After each verification
    by the target, the row of every verified token, including rejected ones, is replaced by its 8
    most probable successors (of several occurrences the deepest counts). A draft is a fixed tree of
    80 nodes, breadth first, where the child of rank k is the k-th successor of its parent. The
    prompt is not used.

    The paper never resets ``successors``. A token without an observation has no children (the
    published matrix begins as zeros, so token 0 is drafted).
    """

    _template = tuple(unfold(TEMPLATE))
    nodes = len(_template)

    def start(self, prompt: Sequence[int]) -> None:
        self.successors: Successors = self.run.state

    def observe(self, text: Sequence[int], tree: DraftTree, top: Ids) -> None:
        for token, row in zip((text[-1], *tree.tokens), top, strict=True):
            self.successors[token] = tuple(row)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        place = list[int | None]()
        for parent, rank in self._template:
            if len(tree) >= budget or not len(text):
                break
            above = -1 if parent < 0 else place[parent]
            node = None
            if above is not None:
                token = text[-1] if above < 0 else tree.tokens[above]
                row = self.successors.get(token, ())
                if rank < len(row) and (above < 0 or token not in self.eos):
                    node = tree.add(row[rank], above, self.name, key_length=1)
            place.append(node)
        return tree.or_reason(budget)
