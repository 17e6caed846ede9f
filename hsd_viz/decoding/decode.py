"""The base class of decodes, with their levels, limits and clock.

:class:`~hsd_viz.decoding.loop.Loop` is a decode in Python, for any sessions;
:class:`~hsd_viz.native.decode.NativeDecode` is the same decode in C++, for native sessions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns
from typing import Any

from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import StateSource
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import Unsupported
from hsd_viz.trace.tables import Columns

#: The largest number of prompt tokens in a forward pass of the prefill.
PREFILL_CHUNK = 512
#: The number of most likely tokens that a trace records for each row.
LIKELIEST = 5


class Decode(ABC):
    """The decode of a prompt. Times are in nanoseconds from its start.

    Once the text fills the context of a draft model, decoding continues without that model: the
    level below it then drafts for the level above it. Which models take part depends only on the
    length of the text.

    Args:
        levels: the levels of the models, the target last.
        drafter: the database or baseline below the models; ``None`` if there is none.
        sampling: the sampling settings.
        prompt: the tokens of the prompt.
        max_new_tokens: the largest number of tokens to emit.
        positions: the largest length of the text in tokens; ``None`` means unlimited.
        eos: the tokens that end the text.
        budget: the largest number of nodes in a draft of the drafter; ``None`` means the default
            of the drafter.
        details: the number of most likely tokens that are recorded for each row of the target;
            0 records none.

    Attributes:
        text: the tokens of the prompt and the emitted tokens.
        written: the levels of all models in the stack, the target last.
        models: the levels of the models that still take part, the target last.
        lowest: the level of the first model: 1 above a drafter, which is level 0, else 0.
        top: the level of the target.
        places: the index in the stack of each level that takes part, as in the trace.
        limit: the largest length of the text in tokens.
        reach: the length of the text up to which all levels can draft.
        watched: the session of the target, if the drafter needs the states of a layer.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        drafter: Drafter | None,
        sampling: Sampling,
        prompt: Sequence[int],
        *,
        max_new_tokens: int,
        positions: int | None = None,
        eos: frozenset[int] = frozenset(),
        budget: int | None = None,
        details: int = 0,
    ) -> None:
        assert prompt and levels and max_new_tokens > 0
        self.drafter = drafter
        self.sampling = sampling
        self.text = list(prompt)
        self.eos = eos
        self.details = details
        longest = len(prompt) + max_new_tokens
        self.limit = min(longest, positions or longest)
        self.budget = budget
        if budget is None and drafter is not None:
            self.budget = drafter.nodes
        self._zero = perf_counter_ns()
        self.written = list(levels)
        self.models = list(levels)
        self.lowest = 0 if drafter is None else 1
        self.places = list(range(self.lowest + len(self.models)))
        self.leave_full_levels()
        self.watched: StateSource | None = None
        if drafter is not None and drafter.state_depth is not None:
            self.watched = self._watch(levels[-1].session, drafter.state_depth)
        self.prepare()

    @staticmethod
    def _watch(target: object, depth: float) -> StateSource:
        """Make the target's session keep the states of the layer at a relative depth, and return
        the session.

        Raises:
            Unsupported: if its runtime does not provide the states of layers.
        """
        if not isinstance(target, StateSource):
            raise Unsupported(
                "the semantic database compares states of the target, which this runtime does not "
                "give: use a model that runs natively or with '--runtime eager', or leave out "
                "'semantic'"
            )
        target.watch(depth)
        return target

    def prepare(self) -> None:  # noqa: B027 (most decodes need it, not all)
        """Finish the construction: create what a subclass needs beside its levels and limits."""

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

    def model(self, i: int) -> Level:
        """Return level ``i``, which must be a model."""
        assert i >= self.lowest
        return self.models[i - self.lowest]

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

    def leave_full_levels(self) -> None:
        """Remove the draft models whose context is full, and set ``top`` and ``reach``."""
        length = len(self.text)
        contexts = [self.limit]
        for k in reversed(range(len(self.models) - 1)):
            level = self.models[k]
            if level.positions is None:
                continue
            if level.positions > length:
                contexts.append(level.positions)
            else:
                del self.models[k]
                del self.places[self.lowest + k]
        self.top = len(self.places) - 1
        self.reach = min(contexts)
