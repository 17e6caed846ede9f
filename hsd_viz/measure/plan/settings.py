"""The settings of a plan, declared once: for its command, for Python and for the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated as A

from hsd_viz.declare import Setting, check_settings
from hsd_viz.errors import UserError
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.options import DecodingOptions

#: Prompts to calibrate on, and as many to measure on.
PROMPTS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings(DecodingOptions):
    """Options.

    What is searched, and how it is measured.

    Attributes:
        max_new_tokens: the most tokens of a measured output.
        sampling: how tokens are drawn.
        models: draft models that may take part; ``None``: those of the family below the target.
        max_levels: the most parts of a stack.
        measure: so many of the ranked stacks are measured, too.
        suite: prompts to calibrate on, and other ones of it to measure on; ``None``: the family's.
        limit: the most prompts of each.
        repeats: measured runs of each prompt and stack.
        fresh: whether to calibrate again where a stored calibration fits.

    Raises:
        UserError: if a value is out of range, or a model is named twice.
    """

    models: A[
        Sequence[str] | None,
        Setting(
            metavar="A,B,C",
            help="draft models that may take part (default: those below the target)",
        ),
    ] = None
    max_levels: A[
        int | None,
        Setting(
            metavar="K",
            help="most parts of a stack, target and database included",
            words="the number of levels",
            low=1,
        ),
    ] = None
    measure: A[
        int,
        Setting(
            metavar="N",
            help="measure the best N stacks (8 when N is left out)",
            words="the number of stacks to measure",
            low=0,
            without_value=8,
        ),
    ] = 0
    suite: A[
        str | None,
        Setting(
            metavar="NAME|PATH",
            help="prompts: a suite's name or a file (default: the family's suite)",
        ),
    ] = None
    limit: A[
        int,
        Setting(
            metavar="N",
            help="prompts to calibrate on, and to measure on",
        ),
    ] = PROMPTS
    repeats: A[
        int,
        Setting(
            metavar="N",
            help="measured runs of each prompt and stack",
            words="the number of repeats",
            low=1,
            high=1_000_000,
            parse_range=False,
        ),
    ] = 3
    fresh: A[
        bool,
        Setting(
            help="calibrate again, even if a stored calibration fits",
        ),
    ] = False

    def __post_init__(self) -> None:
        check_settings(self)
        models = self.models
        if models is not None and (not all(models) or len(set(models)) < len(models)):
            raise UserError(
                f"the models '{','.join(models)}' are not readable: name each once, "
                "separated by commas"
            )

    @property
    def bench(self) -> BenchSettings:
        """The settings of the measured decodes."""
        return BenchSettings(
            max_new_tokens=self.max_new_tokens,
            sampling=self.sampling,
            repeats=self.repeats,
        )
