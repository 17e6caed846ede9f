"""Lookahead's window: guesses of tokens far ahead, refined by every forward pass, that yield n-grams.

Source: Fu et al. 2024, "Break the Sequential Dependency of LLM Inference Using Lookahead Decoding" (arXiv 2402.02057),
with the settings that Hierarchy Drafting runs it with: n-grams of 5 tokens, a window of 7.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from hsd_viz.drafting.tree import DraftTree
from hsd_viz.words import check_range

SOURCE = "lookahead"


class JacobiWindow:
    """The window of one run: ``length - 1`` levels of ``width`` columns.

    The last token of the text is column 0 of level 0. Level 0 is a chain of guesses after the text; the token of level
    l in column j follows that of level l - 1 in the same column. All of it is a tree, and the target's forward pass
    over it yields the next token of each column: the window fills level by level (``length - 2`` rounds); then every
    round yields one n-gram per column, drops the oldest level and moves one place ahead, regardless of the number of
    accepted tokens. A full window has (width - 1) + width · (length - 2) tokens: 27.

    Differences from the published method: the guesses are part of the draft tree, so equal ones are verified once and
    correct ones are accepted; the first guesses are drawn from the prompt with a fixed seed.
    """

    def __init__(self, width: int = 7, length: int = 5) -> None:
        check_range("the width of the window", width, 1)
        check_range("the length of the n-grams", length, 3)
        self.width = width
        self.length = length
        self.levels: list[list[int]] = []

    @property
    def nodes(self) -> int:
        """The largest number of tokens, full or while the window fills."""
        return max(self.width - 1 + self.width * (self.length - 2), self.width + self.length - 3)

    def start(self, prompt: Sequence[int]) -> None:
        """Begin with guesses drawn from the prompt; with an empty prompt the window stays empty."""
        size = self.width + self.length - 3
        self.levels = [random.Random(0).choices(prompt, k=size)] if len(prompt) else []

    def paths(self) -> list[list[int]]:
        """Return the tokens from the text to the top of each column, from the left; of level 0 alone, its prefixes."""
        base = self.levels[0] if self.levels else []
        if len(self.levels) < 2:
            return [base[: j + 1] for j in range(len(base))]
        return [base[:j] + [level[j] for level in self.levels[1:]] for j in range(len(self.levels[1]))]

    def plant(self, tree: DraftTree, budget: int) -> bool:
        """Add the window to ``tree`` and return whether it fits into ``budget`` nodes; if not, add nothing."""
        if not self.levels or sum(map(len, self.levels)) > budget - len(tree):
            return False
        children = _children(tree)
        for path in self.paths():
            node = -1
            for token in path:
                if (node, token) not in children:
                    children[node, token] = tree.add(token, node, SOURCE)
                node = children[node, token]
        return True

    def advance(self, last: int, tree: DraftTree, top: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Advance by the target's most probable tokens ``top``; return the n-grams.

        ``top`` has a row after the text's ``last`` token and one per node of ``tree``. If a column is missing from the
        tree, truncated for lack of room, the window does not advance.
        """
        found = [_row(_children(tree), path) for path in self.paths()]
        rows = [row for row in found if row is not None]
        if not rows or len(rows) < len(found):
            return []
        new = [top[row][0] for row in rows]
        levels = self.levels
        if len(levels) < self.length - 1:
            # The text advanced by one place, so each level loses its first column.
            self.levels = [level[1:] for level in levels] + [new if len(levels) == 1 else new[1:]]
            return []
        heads = [last, *levels[0]]
        grams = [(heads[j], *(level[j] for level in levels[1:]), token) for j, token in enumerate(new)]
        self.levels = [levels[1][1:], *levels[2:], new]
        return grams


def _children(tree: DraftTree) -> dict[tuple[int, int], int]:
    return {(parent, token): node for node, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True))}


def _row(children: Mapping[tuple[int, int], int], path: Sequence[int]) -> int | None:
    """Return the row after the end of ``path`` in the tree, ``None`` if the path is not in it."""
    node = -1
    for token in path:
        if (node, token) not in children:
            return None
        node = children[node, token]
    return node + 1
