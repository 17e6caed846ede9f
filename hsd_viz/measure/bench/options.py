"""The options of a bench: its stacks, its prompts and its settings.

The fields declare both the keyword arguments of :func:`hsd_viz.bench` and the options of
``hsd-viz bench``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated as A
from typing import Literal

from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.measure.shared_settings import MeasuringEngine
from hsd_viz.settings.argument_types import FileToWrite
from hsd_viz.settings.declare import CliOption, Setting, part_of
from hsd_viz.stack import MAX_LOOKAHEAD, Stack

#: How questions become prompts.
Template = Literal["auto", "chat", "vicuna", "plain"]


@dataclass(frozen=True, slots=True)
class BenchOptions(BenchSettings):
    """What a bench measures: stacks and prompts, and the settings that all runs share.

    Raises:
        UserError: if a value is out of range.
    """

    suite: A[
        str | Path | None,
        Setting(
            "prompts: a suite, a .jsonl file of questions or a text file "
            "(default: the family's suite)",
            CliOption("NAME|PATH", type=str),
        ),
    ] = None
    stacks: A[
        Sequence[str | Stack] | str | Stack,
        Setting(
            f"a stack to measure beside plain decoding (lookahead 1-{MAX_LOOKAHEAD})",
            CliOption("S", name="stack", type=tuple[str, ...]),
        ),
    ] = ()
    _: KW_ONLY
    template: A[Template, Setting("how questions become prompts")] = "auto"
    limit: A[int | None, Setting("use N prompts, from all categories in turn", CliOption("N"))] = (
        None
    )
    resume: A[
        Path | str | None,
        Setting(
            "keep finished decodes there, and continue a stopped bench from it",
            CliOption("FILE", type=FileToWrite),
        ),
    ] = None
    engine: MeasuringEngine = None

    @property
    def settings(self) -> BenchSettings:
        """The settings that all runs share."""
        return part_of(self, BenchSettings)

    @property
    def all_stacks(self) -> list[str | Stack]:
        """The stacks as a list, also where one is given alone."""
        stacks = self.stacks
        return [stacks] if isinstance(stacks, str | Stack) else list(stacks)
