"""Token Recycling: a fixed tree of the likeliest successors that each token had last."""

from collections.abc import Iterator, Sequence

from hsd_viz.drafting.make import Baseline, drafter
from hsd_viz.drafting.tree import DraftTree, Ids, Observer

#: The published tree of 80 nodes: for each depth, the number of children of each node one level up,
#: beginning with the last token of the text. The k-th child of a node is its k-th likeliest
#: successor.
TEMPLATE: tuple[tuple[int, ...], ...] = (
    (8,),
    (8, 4, 3, 2, 1, 1, 1, 1),
    (8, 3, 2, 1, 1, 1, 1, 1, 2, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0),
    (5, 2, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0),
    (3, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0),
    (2, 0, 0, 1, 0, 0, 0, 0),
)

#: The adjacency matrix: the successors of each token, likeliest first. Tokens that were not
#: observed have no row.
Successors = dict[int, tuple[int, ...]]


def unfold(template: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield the parent and rank of each node of a template, breadth first.

    Parent -1 is the last token of the text.
    """
    parents = [-1]
    number = 0
    for level in template:
        numbers = []
        for parent, children in zip(parents, level, strict=True):
            for rank in range(children):
                yield parent, rank
                numbers.append(number)
                number += 1
        parents = numbers


@drafter("recycling", remembers=dict)
class TokenRecycling(Baseline, Observer):
    """Token Recycling for one run.

    After each verification by the target, the row of every verified token, including rejected ones,
    is replaced by its 8 likeliest successors; if a token occurs several times, the deepest
    occurrence counts. A draft is a fixed tree of 80 nodes in which the child of rank k is the k-th
    successor of its parent. The prompt is not used.

    The paper never resets ``successors``. A token that was not observed has no children; the
    published matrix begins with zeros, so that token 0 is drafted there.

    Source: Luo et al., "Turning Trash into Treasure: Accelerating Inference of Large Language
    Models with Token Recycling", ACL 2025, arXiv 2408.08696 (tree 2.2.2 of Spec-Bench,
    hemingkx/Spec-Bench, Apache-2.0), re-implemented from its description.
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
        nodes = list[int | None]()
        for parent, rank in self._template:
            if len(tree) >= budget or not len(text):
                break
            above = -1 if parent < 0 else nodes[parent]
            node = None
            if above is not None:
                token = text[-1] if above < 0 else tree.tokens[above]
                row = self.successors.get(token, ())
                if rank < len(row) and (above < 0 or token not in self.eos):
                    node = tree.add(row[rank], above, self.name, key_length=1)
            nodes.append(node)
        return tree.or_reason(budget)
