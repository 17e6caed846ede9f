"""The settings of a bench, declared once: for its command, for Python and for the runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated as A
from typing import Literal

from hsd_viz.decoding.options import DEFAULT_NEW_TOKENS, MaxNewTokens, Sampling
from hsd_viz.measure.shared_settings import Repeats
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import MAX_BUDGET, Range

#: Whether drafters that learn start each decode empty (cold) or keep their memory (warm).
State = Literal["cold", "warm", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings(Sampling):
    """The settings that all runs of a bench share.

    Attributes:
        state: the initial state of drafters that learn: ``cold``, ``warm`` or ``both``.
        budget: the maximum number of draft tokens per proposal of a database or baseline, without
            cost stopping.
        repeats: the number of runs of each prompt and stack; times are their medians.
        profile: whether to report the time of a round by part.
        max_new_tokens: the maximum number of tokens of an output.

    Raises:
        UserError: if a value is out of range.
    """

    state: A[State, Setting("drafters that learn start empty, keep their memory, or both")] = "cold"
    budget: A[
        int | None,
        Setting(
            f"the most draft tokens of a drafter at a time, 1-{MAX_BUDGET}, "
            "regardless of their cost",
            CliOption("N", shows_range=False),
            Range(1, MAX_BUDGET),
            noun="the budget",
        ),
    ] = None
    repeats: Repeats = 3
    profile: A[bool, Setting("show where the time of a round goes (our own loop)")] = False
    max_new_tokens: MaxNewTokens = DEFAULT_NEW_TOKENS
