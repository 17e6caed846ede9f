"""What a plan is asked, declared once.

The fields are the keyword arguments of :func:`hsd_viz.plan` and the options of ``hsd-viz plan``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated as A

from hsd_viz.decoding.options import DEFAULT_NEW_TOKENS, MaxNewTokens, Sampling
from hsd_viz.errors import UserError
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.measure.shared_settings import MeasuringEngine, Repeats
from hsd_viz.settings.declare import CliOption, Setting, part_of
from hsd_viz.settings.ranges import Range

#: Prompts to calibrate on, and as many to measure on.
PROMPTS = 24


@dataclass(frozen=True, slots=True)
class PlanOptions(Sampling):
    """What a plan searches, and how it measures.

    Raises:
        UserError: if a value is out of range, or a model is named twice.
    """

    suite: A[
        str | Path | None,
        Setting(
            "prompts: a suite's name or a file (default: the family's suite)",
            CliOption("NAME|PATH", type=str),
        ),
    ] = None
    models: A[
        Sequence[str] | None,
        Setting(
            "draft models that may take part (default: those below the target)",
            CliOption("A,B,C"),
        ),
    ] = None
    _: KW_ONLY
    max_levels: A[
        int | None,
        Setting(
            "most parts of a stack, target and database included",
            CliOption("K"),
            Range(1),
            noun="the number of levels",
        ),
    ] = None
    measure: A[
        int,
        Setting(
            "measure the best N stacks",
            CliOption("N", const=8),
            Range(0),
            noun="the number of stacks to measure",
        ),
    ] = 0
    limit: A[int, Setting("prompts to calibrate on, and to measure on", CliOption("N"))] = PROMPTS
    repeats: Repeats = 3
    fresh: A[bool, Setting("calibrate again, even if a stored calibration fits")] = False
    engine: MeasuringEngine = None
    max_new_tokens: MaxNewTokens = DEFAULT_NEW_TOKENS

    def __post_init__(self) -> None:
        Sampling.__post_init__(self)
        models = self.models
        if models is not None and (not all(models) or len(set(models)) < len(models)):
            raise UserError(
                f"the models '{','.join(models)}' are not readable: name each once, "
                "separated by commas"
            )

    @property
    def bench(self) -> BenchSettings:
        """The settings of the measured decodes."""
        return part_of(self, BenchSettings)
