"""The layout of a decode in device memory: the shape of its stack, and what its tensors hold.

With levels 0 (lowest) to ``top``, level i drafts for level i + 1 the text from ``base[i]`` to the
end. A level may write up to ``limit - (top - i)``, because each level above adds a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from hsd_viz.torch_models.sampling import Shaping

#: Integers of a decode by their places in ``State.marks``: the end of the text, how many of the
#: numbers that never repeat are used, the most tokens of text, the tokens of the prompt, the next
#: line of the report, top-k. Then follow how many tokens each level has cached, and where each
#: level's draft starts.
END, USED, LIMIT, PROMPT, LINE, TOP_K, CACHED = range(7)
#: Values of ``State.settings``.
TEMPERATURE, TOP_P, MIN_P, WARM = range(4)


@dataclass(slots=True)
class State:
    """What the steps of a decode read and write, on the device.

    Attributes:
        text: token ids by place, int64 ``[places]``.
        marks: the integers of the decode, int64.
        settings: temperature, top-p, min-p, and the temperature of what a drafter learns from,
            float64 ``[4]``.
        fresh: numbers that never repeat, float64: those from the place ``marks[USED]`` on are not
            used yet.
        placed: the numbers of the target's own tokens by place in the text, float64 ``[places]``.
        eos: the tokens that end a text, int64; -1 where there is none.
        parents: the parent of each node of a draft tree, int64 ``[nodes]``.
        path: for each node the node that takes its place in the cache, int64 ``[nodes]``.
        report: a line of numbers for each verification, float64 ``[lines, n]``.
        rows: by level the rows of its draft ``[n, V]``, empty where it has none.
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
    """The shape of a stack: what its graphs are compiled for.

    Attributes:
        lookaheads: the tokens that each level proposes at least, 0 for a drafter at level 0.
        drafter: the most nodes of a drafter's draft, 0 where level 0 is a model.
        shaping: how logits become probabilities.
        rule: the rule for chains that were sampled from rows.
        details: how many of the likeliest tokens are reported for the rows of the target, 0: no
            details.
        observe: how many of them are reported for every row.
        warm: whether these are probabilities at the temperature ``WARM``; else their order is
            enough.
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
        """Return the most tokens that level ``level`` can propose: the last round may bring more
        than is needed.
        """
        if level == 0:
            return self.drafter or self.lookaheads[0]
        return self.lookaheads[level] + self.most(level - 1)

    def places(self, level: int) -> int:
        """Return how many draft tokens a verification by this level has places for."""
        return self.most(level - 1) if level else 0

    def places_for(self, level: int, n: int) -> int:
        """Return how many places the graph has that verifies ``n`` tokens: a drafter's drafts
        differ in size.

        With the token before them, the places fill a forward pass whose width is a power of two.
        """
        if not self.is_tree(level):
            return self.places(level)
        return min(self.places(level), (1 << n.bit_length()) - 1)

    def rounds(self) -> int:
        """Return the most verifications in a round of the target."""
        rounds = 0
        for level in range(1, self.top):
            rounds = self.lookaheads[level] * (rounds + 1)
        return rounds + 1

    def by_points(self, level: int) -> bool:
        """Return whether this level verifies point masses: drafts without rows."""
        return self.shaping.greedy or level == 0 or (level == 1 and self.drafter > 0)

    def is_tree(self, level: int) -> bool:
        """Return whether the drafts for this level may branch."""
        return level == 1 and self.drafter > 0


def cached_mark(level: int) -> int:
    """Return the place in ``marks`` of how many tokens are cached for ``level``."""
    return CACHED + level


def base_mark(plan: StackPlan, level: int) -> int:
    """Return the place in ``marks`` of where a level's draft starts."""
    return CACHED + plan.top + 1 + level


def level_count(plan: StackPlan) -> int:
    """Return how many integers ``State.marks`` has."""
    return CACHED + 2 * (plan.top + 1)


def integers(plan: StackPlan, values: dict[int, int], lengths: Sequence[int]) -> list[int]:
    """Return the values of ``State.marks``, of which only ``values`` and the cached ``lengths``
    are not 0.
    """
    marks = [0] * level_count(plan)
    for place, value in values.items():
        marks[place] = value
    for level, length in enumerate(lengths):
        marks[cached_mark(level)] = length
    return marks
