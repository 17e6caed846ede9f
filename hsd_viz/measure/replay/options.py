"""What a replay is asked, declared once.

The fields are the keyword arguments of :func:`hsd_viz.replay` and the options of
``hsd-viz replay``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated as A

from hsd_viz.settings.declare import CliOption, Setting, check_settings
from hsd_viz.settings.ranges import MAX_BUDGET, Range


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The log to replay, and the drafters.

    Raises:
        UserError: if a number is out of range.
    """

    log: A[
        Path | str,
        Setting(
            "a file of requests with their outputs", CliOption("LOG", positional=True, type=Path)
        ),
    ]
    _: KW_ONLY
    drafters: A[
        Sequence[str],
        Setting(
            "a draft source, as in a stack (default: seven)",
            CliOption("NAME", name="drafter", type=tuple[str, ...]),
        ),
    ] = ()
    tokenizer: A[
        str | Path | None,
        Setting(
            "the log's tokenizer: a family or model, a hub id, a folder, a tokenizer.json or a "
            "GGUF file",
            CliOption("T", type=str),
        ),
    ] = None
    budget: A[
        int | None,
        Setting(
            "the most draft tokens per round, cost stopping off",
            CliOption("N"),
            Range(1, MAX_BUDGET),
            noun="the budget",
        ),
    ] = None
    verify_cost: A[
        str | Sequence[float],
        Setting(
            "cost of drafts: cpu, free16, a number, or c(0),c(1),...", CliOption("C", type=str)
        ),
    ] = "cpu"
    temperature: A[
        float | None,
        Setting(
            "of the sampling (default: of each request, else 0)",
            CliOption("T"),
            Range(0.0, 100.0),
            noun="the temperature",
        ),
    ] = None
    databases: A[
        Path | str | None,
        Setting(
            "use these databases (default: the shipped ones, for their tokenizer)",
            CliOption("DIR", type=Path),
        ),
    ] = None
    limit: A[
        int | None,
        Setting("replay at most N requests", CliOption("N"), Range(1, 10**9), noun="the limit"),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)
