"""The figures of a stack in a report: of all prompts, of those with little repetition, and by
category.

In JSON data a figure is two fields, its value and ``..._ci: [low, high]``, null where it is not
defined; a block has the figures of all its prompts beside ``low_repetition``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hsd_viz.disk import object_at
from hsd_viz.results.estimate import UNKNOWN, Estimate, estimate_data

#: Timings of an idle machine differ by a few percent between repeats.
NOISE = 0.05


def impossible(speedup: float | None, length: float | None) -> bool:
    """Return whether a speed-up exceeds the acceptance length, which bounds it, by more than timing
    noise.
    """
    return speedup is not None and length is not None and speedup > length * (1 + NOISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of some prompts. Speeds are tokens per second, times seconds, shares 0-1.

    Attributes:
        outputs: the number of the prompts.
        tokens_per_second: from the end of prefill.
        tokens_per_second_with_prefill: from the start.
        mean_acceptance_length: tokens per forward pass of the target.
        draft_seconds_per_round: spent on look-ups and updates.
        draft_seconds_p99: its 99th percentile over rounds.
        speedup_over_plain: tokens per second over those of plain decoding.
        acceptance_rate: accepted draft tokens over verified ones.
        repetition_share: see :func:`hsd_viz.trace.metrics.repetition_share`.
        first_token_seconds: until the first token; old reports do not have it, nor what follows.
        inter_token_seconds_median: between two tokens. The tokens of a round appear together: they
            share its time evenly.
        inter_token_seconds_p99: its 99th percentile.
    """

    outputs: int
    tokens_per_second: Estimate
    tokens_per_second_with_prefill: Estimate
    mean_acceptance_length: Estimate
    draft_seconds_per_round: Estimate
    draft_seconds_p99: Estimate
    speedup_over_plain: Estimate
    acceptance_rate: Estimate
    repetition_share: Estimate
    first_token_seconds: Estimate = UNKNOWN
    inter_token_seconds_median: Estimate = UNKNOWN
    inter_token_seconds_p99: Estimate = UNKNOWN

    @property
    def is_possible(self) -> bool:
        """Whether the speed-up over plain decoding is not :func:`impossible`."""
        return not impossible(self.speedup_over_plain.value, self.mean_acceptance_length.value)

    @property
    def speedup(self) -> Estimate:
        """The speed-up over plain decoding; unknown where it is not possible."""
        return self.speedup_over_plain if self.is_possible else UNKNOWN

    def figure(self, name: str) -> Estimate:
        """Return the figure of a name of :data:`FIGURES`."""
        return getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON data."""
        data: dict[str, Any] = {"outputs": self.outputs}
        for name in FIGURES:
            data |= self.figure(name).named(name)
        return data


#: The names of the figures.
FIGURES = tuple(field.name for field in fields(Figures) if field.name != "outputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFigures:
    """The figures of some prompts, and of a part of them.

    Attributes:
        whole: the figures of all these prompts.
        low_repetition: those of the prompts whose *plain* output repeats itself little; None
            without such a prompt.
    """

    whole: Figures
    low_repetition: Figures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the block as JSON data."""
        data = self.whole.to_dict()
        data["low_repetition"] = None
        if self.low_repetition is not None:
            data["low_repetition"] = self.low_repetition.to_dict()
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPart:
    """A part of the rounds of a stack.

    Attributes:
        median_us: its median in a round, in microseconds.
        share: its share of the time of all rounds, 0-1.
    """

    median_us: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundProfile:
    """Where the time of the rounds of a stack goes.

    Attributes:
        rounds: their number; None where an old report does not hold it.
        round_us: the median of a round, in microseconds.
        parts: its parts by name.
    """

    rounds: int | None = None
    round_us: float
    parts: dict[str, RoundPart]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFigures(PromptFigures):
    """A stack of a report; old reports lack what has a default.

    Attributes:
        stack: the stack as text.
        by_category: its blocks by the category of the prompts.
        token_identical_to_plain: outputs that equal the plain ones, and all outputs; None above
            temperature 0.
        state: ``cold`` or ``warm`` for drafters that learn.
        runtime: what ran the models.
        profile: the parts of its rounds.
    """

    stack: str
    by_category: dict[str, PromptFigures]
    token_identical_to_plain: tuple[int, int] | None = None
    state: str | None = None
    runtime: str | None = None
    profile: RoundProfile | None = None

    def at_little_repetition(self) -> StackFigures | None:
        """Return the stack with the figures of the prompts with little repetition alone."""
        if self.low_repetition is None:
            return None
        return replace(
            self,
            whole=self.low_repetition,
            low_repetition=None,
            token_identical_to_plain=None,
            runtime=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the stack as JSON data."""
        identical = self.token_identical_to_plain
        return {
            "stack": self.stack,
            **PromptFigures.to_dict(self),
            "by_category": {name: block.to_dict() for name, block in self.by_category.items()},
            "token_identical_to_plain": None if identical is None else list(identical),
            "state": self.state,
            "runtime": self.runtime,
            "profile": None if self.profile is None else asdict(self.profile),
        }


# --- reading ------------------------------------------------------------------------------------


def _figures_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON data of figures by the fields of :class:`Figures`."""
    outputs = data.get("outputs")
    by_field: dict[str, Any] = {"outputs": outputs}
    for name in FIGURES:
        if name in data:
            by_field[name] = estimate_data(data, name, outputs)
    return by_field


def _block_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON data of a block by the fields of :class:`PromptFigures`."""
    low = None
    if data.get("low_repetition") is not None:
        low = _figures_data(object_at(data, "low_repetition"))
    return {"whole": _figures_data(data), "low_repetition": low}


def stack_data(data: Any) -> dict[str, Any]:
    """Return the JSON data of a stack by the fields of :class:`StackFigures`.

    Raises:
        UserError: if they are not those of a stack.
    """
    categories = object_at(data, "by_category")
    by_category = {name: _block_data(object_at(categories, name)) for name in categories}
    return {**data, **_block_data(data), "by_category": by_category}
