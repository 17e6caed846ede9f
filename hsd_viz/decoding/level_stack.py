"""The levels of a decode that take part, and how far they can draft."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.decoding.levels import Level


class LevelStack:
    """The levels of a decode, by index from the bottom.

    Index 0 is the drafter, if there is one; the models follow, the target last. Once the text
    fills the context of a draft model, decoding continues without that model: the level below it
    then drafts for the level above it, and the indices close up.

    Attributes:
        models: the levels of the models that still take part, the target last.
        first_model: the index of the first model: 1 above a drafter, else 0.
        top: the index of the target.
        reach: the length of the text up to which all levels can draft.
    """

    def __init__(self, models: Sequence[Level], *, has_drafter: bool, limit: int) -> None:
        """Start with all models; the text never exceeds ``limit`` tokens."""
        self.models = list(models)
        self.first_model = 1 if has_drafter else 0
        self._limit = limit
        #: The index in the stack as written, by index.
        self._written = list(range(self.first_model + len(self.models)))
        self.top = len(self._written) - 1
        self.reach = limit

    def __getitem__(self, i: int) -> Level:
        """Return level ``i``, which must be a model."""
        assert i >= self.first_model
        return self.models[i - self.first_model]

    def below(self, i: int) -> list[Level]:
        """Return the models below level ``i``."""
        return self.models[: i - self.first_model]

    def written_index(self, i: int) -> int:
        """Return the index of level ``i`` in the stack as written, which a trace records."""
        return self._written[i]

    @property
    def has_drafts(self) -> bool:
        """Whether the stack as written has a level below the target."""
        return self._written[self.top] > 0

    def leave_full(self, length: int) -> None:
        """Remove the draft models whose context a text of ``length`` tokens fills."""
        contexts = [self._limit]
        for k in reversed(range(len(self.models) - 1)):
            level = self.models[k]
            if level.positions is None:
                continue
            if level.positions > length:
                contexts.append(level.positions)
            else:
                del self.models[k]
                del self._written[self.first_model + k]
        self.top = len(self._written) - 1
        self.reach = min(contexts)
