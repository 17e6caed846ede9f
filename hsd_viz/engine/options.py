"""Which engine decodes, declared once: :class:`EngineOptions`.

Its fields are the keyword arguments of :func:`hsd_viz.load_engine`, the options of every command
that decodes, and what a server and the page load.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Annotated as A

from hsd_viz.declare import Setting, check_settings
from hsd_viz.engine_choices import MAX_THREADS, SHIPPED, Bridge, Device, DType, Runtime
from hsd_viz.models.families import DEFAULT, Family


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Models and machine.

    Raises:
        UserError: if the number of threads is out of range.
    """

    family: A[
        str | Family,
        Setting(
            metavar="NAME",
            help="the family whose models have short names: code or smollm2",
        ),
    ] = field(default=DEFAULT, kw_only=True)
    target: A[
        str,
        Setting(
            metavar="M",
            help="the model 'target': a name of the family, a hub id (owner/name) or a path",
        ),
    ] = "target"
    _: KW_ONLY
    databases: A[
        Path | str | None,
        Setting(
            metavar="DIR",
            help="use the databases in this folder (default: the family's)",
        ),
    ] = None
    device: A[
        Device | str | None,
        Setting(
            help="default: cuda, else cpu",
        ),
    ] = None
    dtype: A[
        DType | str | None,
        Setting(
            help="default: int8 for the shipped models on the CPU, else float32, bfloat16 on a GPU",
        ),
    ] = None
    runtime: A[
        Runtime | str,
        Setting(
            help="what runs forward passes; auto: the fastest",
        ),
    ] = "auto"
    bridge: A[
        Bridge | str | None,
        Setting(
            help="how a draft model with another tokenizer drafts",
        ),
    ] = None
    costs: A[
        str | Path,
        Setting(
            metavar="SOURCE",
            help="what db sizes its drafts by: shipped, measured or a JSON file",
        ),
    ] = SHIPPED
    threads: A[
        int | None,
        Setting(
            metavar="N",
            help="CPU threads (default: one for each core; 1 in what measures and in serve)",
            words="the number of threads",
            low=1,
            high=MAX_THREADS,
            parse_range=False,
        ),
    ] = None
    allow_models: A[
        bool,
        Setting(
            help="whether target and stacks may name models by hub id or path",
            python_only=True,
        ),
    ] = True

    def __post_init__(self) -> None:
        check_settings(self)

    def on_one_thread(self) -> EngineOptions:
        """Return the options of what measures and of servers: one thread, where none is given."""
        return replace(self, threads=1) if self.threads is None else self
