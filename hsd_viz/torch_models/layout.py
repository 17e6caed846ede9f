"""The layout of a decode in device memory: the shape of its stack, and its tensors.

The levels are 0 (lowest) to ``top``. The draft of level i for level i + 1 is the text from
``base[i]`` to the end. Level i may write up to ``limit - (top - i)``, because each level above adds
a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from hsd_viz.torch_models.sampling import Shaping

#: The indices in ``State.marks`` of the integers of a decode: the end of the text, the number of
#: used single-use random numbers, the largest length of the text, the length of the prompt, the
#: next line of the report, and top-k. From ``CACHED`` on follow the number of cached tokens of each
#: level, then the start of each level's draft.
END, USED, LIMIT, PROMPT, LINE, TOP_K, CACHED = range(7)
#: The indices of values in ``State.settings``.
TEMPERATURE, TOP_P, MIN_P, WARM = range(4)


@dataclass(slots=True)
class State:
    """The state of a decode in device memory, which the steps read and write.

    Attributes:
        text: the token ids by place, int64 ``[places]``.
        marks: the integers of the decode, int64.
        settings: temperature, top-p, min-p, and the temperature of the probabilities from which a
            drafter learns, float64 ``[4]``.
        fresh: the single-use random numbers, float64; those from index ``marks[USED]`` on are not
            used yet.
        placed: the random numbers of the target's own tokens by position in the text, float64
            ``[places]``.
        eos: the tokens that end a text, int64; -1 if there is none.
        parents: the parent of each node of a draft tree, int64 ``[nodes]``.
        path: the node that moves to the place of each node in the cache, int64 ``[nodes]``.
        report: a line of numbers per verification, float64 ``[lines, n]``.
        rows: the rows of each level's draft ``[n, V]``; empty for drafts without rows.
    """

    text: Tensor
    marks: Tensor
    settings: Tensor
    fresh: Tensor
    placed: Tensor
    eos: Tensor
    parents: Tensor
    path: Tensor
    report: Tensor
    rows: list[Tensor] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StackPlan:
    """The shape of a stack, for which its graphs are compiled.

    Attributes:
        lookaheads: the least number of tokens in a proposal of each level below the target; 0 for a
            drafter at level 0.
        drafter: the largest number of nodes in a drafter's draft; 0 if level 0 is a model.
        shaping: the operations that convert logits to probabilities.
        rule: the rule for chains that were sampled from rows.
        details: the number of likeliest tokens to report for the rows of the target; 0 for no
            details.
        observe: the number of likeliest tokens to report for every row.
        warm: whether these are reported with probabilities at the temperature ``WARM``; otherwise
            only their order matters.
    """

    lookaheads: tuple[int, ...]
    drafter: int
    shaping: Shaping
    rule: str
    details: int
    observe: int
    warm: bool

    @property
    def top(self) -> int:
        """The level of the target."""
        return len(self.lookaheads)

    def most(self, level: int) -> int:
        """Return the largest number of tokens in a proposal of ``level``.

        The last round of a proposal may exceed the lookahead.
        """
        if level == 0:
            return self.drafter or self.lookaheads[0]
        return self.lookaheads[level] + self.most(level - 1)

    def places(self, level: int) -> int:
        """Return the number of places for draft tokens in a verification by ``level``."""
        return self.most(level - 1) if level else 0

    def places_for(self, level: int, n: int) -> int:
        """Return the number of places in the graph that verifies ``n`` tokens.

        It depends on ``n`` for a drafter, whose drafts differ in size. With the token before the
        draft, the places fill a forward pass whose width is a power of two.
        """
        if not self.is_tree(level):
            return self.places(level)
        return min(self.places(level), (1 << n.bit_length()) - 1)

    def rounds(self) -> int:
        """Return the largest number of verifications in a round of the target."""
        rounds = 0
        for level in range(1, self.top):
            rounds = self.lookaheads[level] * (rounds + 1)
        return rounds + 1

    def by_points(self, level: int) -> bool:
        """Return whether ``level`` verifies point masses, which are drafts without rows."""
        return self.shaping.greedy or level == 0 or (level == 1 and self.drafter > 0)

    def is_tree(self, level: int) -> bool:
        """Return whether the drafts for ``level`` may be trees."""
        return level == 1 and self.drafter > 0


def cached_mark(level: int) -> int:
    """Return the index in ``marks`` of the number of tokens cached for ``level``."""
    return CACHED + level


def base_mark(plan: StackPlan, level: int) -> int:
    """Return the index in ``marks`` of the start of a level's draft."""
    return CACHED + plan.top + 1 + level


def level_count(plan: StackPlan) -> int:
    """Return the number of integers in ``State.marks``."""
    return CACHED + 2 * (plan.top + 1)


def integers(plan: StackPlan, values: dict[int, int], lengths: Sequence[int]) -> list[int]:
    """Return the integers of ``State.marks``.

    They are 0 except for ``values`` (by index) and the cached ``lengths`` (by level).
    """
    marks = [0] * level_count(plan)
    for place, value in values.items():
        marks[place] = value
    for level, length in enumerate(lengths):
        marks[cached_mark(level)] = length
    return marks
