"""The options of an engine, declared once: :class:`EngineOptions`.

Its fields are the keyword arguments of :func:`hsd_viz.load_engine` and the options of each command
that loads an engine, including the server and the page.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Annotated as A
from typing import ClassVar

from hsd_viz.models.families import DEFAULT, Family
from hsd_viz.settings.declare import CliOption, Setting, check_settings
from hsd_viz.settings.engine_choices import MAX_THREADS, SHIPPED, Bridge, Device, DType, Runtime
from hsd_viz.settings.ranges import Range
from hsd_viz.stack import TARGET


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Which engine decodes: its models, and the machine that runs them.

    Raises:
        UserError: if the number of threads is out of range.
    """

    OPTION_GROUP: ClassVar[str] = "models and machine"

    family: A[
        str | Family,
        Setting(
            "the family whose models have short names: code or smollm2", CliOption("NAME", type=str)
        ),
    ] = field(default=DEFAULT, kw_only=True)
    target: A[
        str,
        Setting(
            "the model 'target': a name of the family, a hub id (owner/name) or a path",
            CliOption("M"),
        ),
    ] = TARGET
    _: KW_ONLY
    databases: A[
        Path | str | None,
        Setting(
            "use the databases in this folder (default: the family's)",
            CliOption("DIR", type=Path),
        ),
    ] = None
    device: A[str | None, Setting("default: cuda, else cpu", CliOption(type=Device))] = None
    dtype: A[
        DType | None,
        Setting("default: int8 for the shipped models on the CPU, else float32, bfloat16 on a GPU"),
    ] = None
    runtime: A[Runtime, Setting("what runs forward passes; auto: the fastest")] = "auto"
    bridge: A[Bridge | None, Setting("how a draft model with another tokenizer drafts")] = None
    costs: A[
        str | Path,
        Setting(
            "what db sizes its drafts by: shipped, measured or a JSON file",
            CliOption("SOURCE", type=str),
        ),
    ] = SHIPPED
    threads: A[
        int | None,
        Setting(
            "CPU threads (default: one for each core; 1 in what measures and in serve)",
            CliOption("N", shows_range=False),
            Range(1, MAX_THREADS),
            noun="the number of threads",
        ),
    ] = None
    allow_models: A[
        bool, Setting("whether target and stacks may name models by hub id or path", option=None)
    ] = True

    def __post_init__(self) -> None:
        check_settings(self)

    def on_one_thread(self) -> EngineOptions:
        """Return the options with one thread by default, for measurements and servers."""
        return replace(self, threads=1) if self.threads is None else self
