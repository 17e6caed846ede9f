"""The figures of a stack in a report: over all prompts, over those with little repetition, and by
category.

In JSON, a figure is two fields: its value, and ``..._ci: [low, high]``, null if undefined. A block
has the figures over all its prompts, and ``low_repetition``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hsd_viz.disk import object_at
from hsd_viz.results.estimate import UNKNOWN, Estimate, estimate_of

#: Relative noise of timings on an idle machine between repeats.
NOISE = 0.05


def impossible(speedup: float | None, length: float | None) -> bool:
    """Return whether a speed-up exceeds its bound, the acceptance length, by more than timing
    noise.
    """
    return speedup is not None and length is not None and speedup > length * (1 + NOISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures over some prompts. Speeds are in tokens per second, times in seconds, shares from
    0 to 1.

    Attributes:
        outputs: the number of prompts.
        tokens_per_second: the speed from the end of prefill.
        tokens_per_second_with_prefill: the speed from the start.
        mean_acceptance_length: the tokens per forward pass of the target.
        draft_seconds_per_round: the time for look-ups and updates.
        draft_seconds_p99: the 99th percentile of this time over rounds.
        speedup_over_plain: the tokens per second over those of plain decoding.
        acceptance_rate: the accepted over the verified draft tokens.
        repetition_share: the share of repetition
            (:func:`hsd_viz.trace.metrics.repetition_share`).
        first_token_seconds: the time until the first token. Old reports lack this field and those
            below.
        inter_token_seconds_median: the median time between two tokens. The tokens of a round appear
            together, and count as spread evenly over its time.
        inter_token_seconds_p99: the 99th percentile of this time.
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
        """The speed-up over plain decoding; unknown if it is not possible."""
        return self.speedup_over_plain if self.is_possible else UNKNOWN

    def figure(self, name: str) -> Estimate:
        """Return a figure by its name in :data:`FIGURES`."""
        return getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON data."""
        data: dict[str, Any] = {"outputs": self.outputs}
        for name in FIGURES:
            data |= self.figure(name).named(name)
        return data


#: Names of the figures.
FIGURES = tuple(field.name for field in fields(Figures) if field.name != "outputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFigures:
    """The figures over some prompts, and over those of them with little repetition.

    Attributes:
        whole: the figures over all prompts.
        low_repetition: the figures over the prompts whose *plain* output has little repetition;
            ``None``: there is no such prompt.
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
    """A part of the time of a stack's rounds.

    Attributes:
        median_us: the median time per round in microseconds.
        share: the share of the time of all rounds, from 0 to 1.
    """

    median_us: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundProfile:
    """The time of a stack's rounds by part.

    Attributes:
        rounds: the number of rounds; ``None``: not in an old report.
        round_us: the median time of a round in microseconds.
        parts: the parts by name.
    """

    rounds: int | None = None
    round_us: float
    parts: dict[str, RoundPart]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFigures(PromptFigures):
    """The figures of a stack. Old reports lack the fields with defaults.

    Attributes:
        stack: the stack as text.
        by_category: the figures by category of prompts.
        token_identical_to_plain: the number of outputs equal to the plain ones, and of all outputs;
            ``None`` above temperature 0.
        state: ``cold`` or ``warm`` for drafters that learn.
        runtime: the runtime of the models.
        profile: the time of the rounds by part.
    """

    stack: str
    by_category: dict[str, PromptFigures]
    token_identical_to_plain: tuple[int, int] | None = None
    state: str | None = None
    runtime: str | None = None
    profile: RoundProfile | None = None

    def at_little_repetition(self) -> StackFigures | None:
        """Return the stack with only the figures over prompts with little repetition."""
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
    """Convert the JSON data of figures to the fields of :class:`Figures`."""
    outputs = data.get("outputs")
    by_field: dict[str, Any] = {"outputs": outputs}
    for name in FIGURES:
        if name in data:
            by_field[name] = asdict(estimate_of(data, name, outputs))
    return by_field


def _block_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the JSON data of a block to the fields of :class:`PromptFigures`."""
    low = None
    if data.get("low_repetition") is not None:
        low = _figures_data(object_at(data, "low_repetition"))
    return {"whole": _figures_data(data), "low_repetition": low}


def stack_data(data: Any) -> dict[str, Any]:
    """Convert the JSON data of a stack to the fields of :class:`StackFigures`.

    Raises:
        UserError: if the data is not that of a stack.
    """
    categories = object_at(data, "by_category")
    by_category = {name: _block_data(object_at(categories, name)) for name in categories}
    return {**data, **_block_data(data), "by_category": by_category}
