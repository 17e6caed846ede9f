"""The base class of decodes, with their levels, limits and clock.

:class:`~hsd_viz.decoding.loop.Loop` is a decode in Python, for any sessions;
:class:`~hsd_viz.native.loop.NativeLoop` is the same decode in C++, for native sessions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from time import perf_counter_ns
from typing import Any

from hsd_viz.decoding.drafter_level import DrafterLevel
from hsd_viz.decoding.level_stack import LevelStack
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting.tree import Drafter
from hsd_viz.trace.tables import Columns

#: The largest number of prompt tokens in a forward pass of the prefill.
PREFILL_CHUNK = 512
#: The number of likeliest tokens that a trace records for each row.
RECORDED_TOP = 5


@dataclass(frozen=True, slots=True)
class LoopInputs:
    """The models of a decode, and what they decode.

    Attributes:
        levels: the levels of the models, the target last.
        drafter: the database or baseline below the models; ``None`` if there is none.
        sampling: the sampling settings.
        prompt: the tokens of the prompt.
        max_new_tokens: the largest number of tokens to emit.
        positions: the largest length of the text in tokens; ``None`` means unlimited.
        eos: the tokens that end the text.
        budget: the largest number of nodes in a draft of the drafter; ``None`` means the default
            of the drafter.
        details: the number of likeliest tokens that are recorded for each row of the target;
            0 records none.
    """

    levels: Sequence[Level]
    drafter: Drafter | None
    sampling: Sampling
    prompt: Sequence[int]
    _: KW_ONLY
    max_new_tokens: int
    positions: int | None = None
    eos: frozenset[int] = frozenset()
    budget: int | None = None
    details: int = 0


class BaseLoop(ABC):
    """The decode of a prompt. Times are in nanoseconds from its start.

    Which models take part depends only on the length of the text
    (:class:`~hsd_viz.decoding.level_stack.LevelStack`).

    Attributes:
        drafter: the level of the database or baseline; ``None`` if there is none.
        sampling: the sampling settings.
        text: the tokens of the prompt and the emitted tokens.
        limit: the largest length of the text in tokens.
        eos: the tokens that end the text.
        details: the number of likeliest tokens that are recorded for each row of the target.
        written: the levels of all models in the stack, the target last.
        levels: the levels that take part.
    """

    def __init__(self, inputs: LoopInputs) -> None:
        prompt = inputs.prompt
        assert prompt and inputs.levels and inputs.max_new_tokens > 0
        self.drafter: DrafterLevel | None = None
        if inputs.drafter is not None:
            target = inputs.levels[-1].session
            self.drafter = DrafterLevel(inputs.drafter, inputs.budget, target)
        self.sampling = inputs.sampling
        self.text = list(prompt)
        self.eos = inputs.eos
        self.details = inputs.details
        longest = len(prompt) + inputs.max_new_tokens
        self.limit = min(longest, inputs.positions or longest)
        self._zero = perf_counter_ns()
        self.written = list(inputs.levels)
        has_drafter = self.drafter is not None
        self.levels = LevelStack(self.written, has_drafter=has_drafter, limit=self.limit)
        self.levels.leave_full(len(prompt))

    @abstractmethod
    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed the prompt except its last token to each model.

        Yields:
            The name of the model, the number of tokens fed so far, and the number to feed.
        """

    @abstractmethod
    def rounds(self) -> Iterator[Any]:
        """Decode until EOS or a limit, yielding after one or more rounds."""

    @abstractmethod
    def take(self) -> Callable[[], dict[str, Columns]]:
        """Return a function that builds the tables of the rounds since the last call, without the
        texts of tokens.
        """

    def elapsed(self) -> int:
        """Return the nanoseconds since the start."""
        return perf_counter_ns() - self._zero

    def now(self) -> int:
        """Return the time of the decode in nanoseconds, as the trace records it."""
        return self.elapsed()

    def resume_at(self, now: int) -> None:
        """Set the clock back to ``now``, a result of :meth:`now`, to exclude the time since then
        from the decode.
        """
        self._zero = perf_counter_ns() - now
