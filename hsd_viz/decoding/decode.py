"""What every decode has: its levels, its limits and its clock.

:class:`~hsd_viz.decoding.loop.Loop` is a decode in Python, for any sessions;
:class:`~hsd_viz.native.decode.NativeDecode` is the same in C++, for native ones.
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

#: The most tokens of the prompt that are fed at a time.
PREFILL_CHUNK = 512
#: How many of the likeliest tokens are recorded for a row.
LIKELIEST = 5


class Decode(ABC):
    """One decode. Times are nanoseconds from its start.

    Once the text fills the context of a draft model, decoding continues without that model: the
    level below it then drafts for the level above. Which models take part depends on the length of
    the text only.

    Args:
        levels: the models, the target last.
        drafter: a database or baseline below them; ``None``: there is none.
        sampling: how tokens are drawn.
        prompt: the tokens to continue.
        max_new_tokens: so many emitted tokens end the text.
        positions: so many tokens of text end it, too.
        eos: the tokens that end it.
        budget: the most nodes of a drafter's draft; ``None``: the drafter's own default.
        details: so many of the likeliest tokens describe each row of the target; 0: none.

    Attributes:
        text: the prompt and the emitted tokens.
        written: the models of the stack, the target last.
        models: those that take part, the target last.
        lowest: the level of the first of them: 1 above a drafter, which is level 0, else 0.
        top: the level of the target.
        places: the places of all levels in the stack, as the record has them.
        limit: the most tokens of text.
        reach: the length of text up to which all levels can draft.
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
        """Have the session of the target keep the states of the layer at this depth.

        Raises:
            Unsupported: if its runtime does not give the states of layers.
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
        """Make what this kind of decode needs beside its levels and limits: the end of the
        construction.
        """

    @abstractmethod
    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed all of the prompt but its last token to every model; yields (name, tokens done,
        tokens in all).
        """

    @abstractmethod
    def rounds(self) -> Iterator[Any]:
        """Decode to EOS or a limit; yields after some rounds."""

    @abstractmethod
    def take(self) -> Callable[[], dict[str, Columns]]:
        """Return what makes the tables of the rounds since the last call, without the texts of
        tokens.
        """

    def model(self, i: int) -> Level:
        """Return level ``i``, which is one of a model."""
        assert i >= self.lowest
        return self.models[i - self.lowest]

    def elapsed(self) -> int:
        """Return the nanoseconds since the start."""
        return perf_counter_ns() - self._zero

    def now(self) -> int:
        """Return the time of the decode in nanoseconds, as the record has it."""
        return self.elapsed()

    def resume_at(self, now: int) -> None:
        """Set the time to ``now`` (from :meth:`now`): what passed since then is not the
        decode's.
        """
        self._zero = perf_counter_ns() - now

    def leave_full_levels(self) -> None:
        """Remove the draft models whose context the text fills, and set ``reach``: the length of
        text up to which all others can draft.
        """
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
