"""Lookahead's window: guesses about tokens far ahead, made better by every forward, from which n-grams are read off.

Source: Fu et al. 2024, "Break the Sequential Dependency of LLM Inference Using Lookahead Decoding" (arXiv 2402.02057), with the
settings that Hierarchy Drafting runs it with: n-grams of 5 tokens, a window of 7.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from hsd_viz.drafting.tree import DraftTree

SOURCE = "lookahead"


class JacobiWindow:
    """The window of one run: ``length - 1`` levels of ``width`` columns, the last token of the text being column 0 of level 0.

    Level 0 is a chain of guesses after the text; the token of level l in column j follows that of level l - 1 in the same column.
    All of it is a tree, and the target's forward over that tree says for each column which token comes next: level by
    level the window fills (``length - 2`` rounds), and then every round reads one n-gram off each column, drops the oldest level
    and moves on by one place, however many tokens were accepted. Full, it holds (width - 1) + width · (length - 2) tokens: 27.

    Differences from the published method: the guesses stand in the draft tree, so equal ones are verified once and one that is
    right is accepted; the first guesses are drawn from the prompt with a fixed seed.
    """

    def __init__(self, width: int = 7, length: int = 5) -> None:
        if width < 1 or length < 3:
            raise ValueError(
                f"a window of {width} columns for n-grams of {length} tokens is out of range: at least 1 and 3"
            )
        self.width = width
        self.length = length
        self.levels: list[list[int]] = []

    @property
    def nodes(self) -> int:
        """Tokens of a full window, and of the fullest one while it fills."""
        return max(self.width - 1 + self.width * (self.length - 2), self.width + self.length - 3)

    def start(self, prompt: Sequence[int]) -> None:
        """Begin with guesses drawn from the prompt; an empty prompt leaves the window empty for good."""
        size = self.width + self.length - 3
        self.levels = [random.Random(0).choices(prompt, k=size)] if len(prompt) else []

    def paths(self) -> list[list[int]]:
        """The tokens from the text to the top of each column, leftmost column first; while only level 0 is there, its first k tokens."""
        base = self.levels[0] if self.levels else []
        if len(self.levels) < 2:
            return [base[: j + 1] for j in range(len(base))]
        return [base[:j] + [level[j] for level in self.levels[1:]] for j in range(len(self.levels[1]))]

    def plant(self, tree: DraftTree, budget: int) -> bool:
        """Add the window to ``tree``, or nothing of it where it does not fit into ``budget`` nodes; says which."""
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
        """The target's likeliest tokens after the text's ``last`` token and ``tree``: move on; the n-grams read off, if any.

        Where a column is missing from the tree, cut for want of room, the window stands still.
        """
        rows = [_row(_children(tree), path) for path in self.paths()]
        if not rows or None in rows:
            return []
        new = [top[row][0] for row in rows]
        levels = self.levels
        if len(levels) < self.length - 1:
            # The text moved on by one place, so each level loses its first column, and so does what the columns said.
            self.levels = [level[1:] for level in levels] + [new if len(levels) == 1 else new[1:]]
            return []
        heads = [last, *levels[0]]
        grams = [(heads[j], *(level[j] for level in levels[1:]), token) for j, token in enumerate(new)]
        self.levels = [levels[1][1:], *levels[2:], new]
        return grams


def _children(tree: DraftTree) -> dict[tuple[int, int], int]:
    return {(parent, token): node for node, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True))}


def _row(children: Mapping[tuple[int, int], int], path: Sequence[int]) -> int | None:
    """The row behind the end of ``path`` in the tree, ``None`` where the tree lacks it."""
    node: int | None = -1
    for token in path:
        node = children.get((node, token))
        if node is None:
            return None
    return node + 1
