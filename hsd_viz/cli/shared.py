"""Options and outputs of several commands."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from typing import Annotated as A

from hsd_viz.cli.arguments import Out
from hsd_viz.disk import write_whole, writing
from hsd_viz.engine_choices import Bridge, DType, Runtime
from hsd_viz.options import Setting, settings

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.engine.options import EngineOptions

#: The rule, and the files to write.
RuleOption = A[str, settings()["rule"]]
Json = A[
    Out | None,
    Setting(
        metavar="OUT",
        help="write the report as JSON",
    ),
]
Html = A[
    Out | None,
    Setting(
        metavar="OUT",
        help="write the report as a page that opens offline",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """Models and machine."""

    family: A[
        str,
        Setting(
            metavar="NAME",
            help="the family whose models have short names: code or smollm2",
        ),
    ] = "code"
    target: A[
        str,
        Setting(
            metavar="M",
            help="the model 'target': a name of the family, a hub id (owner/name) or a path",
        ),
    ] = "target"
    databases: A[
        Path | None,
        Setting(
            metavar="DIR",
            help="use the databases in this folder (default: the family's)",
        ),
    ] = None
    device: A[
        Literal["cpu", "cuda"] | None,
        Setting(
            help="default: cuda, else cpu",
        ),
    ] = None
    dtype: A[
        DType | None,
        Setting(
            help="default: int8 for the shipped models on the CPU, else float32, bfloat16 on a GPU",
        ),
    ] = None
    runtime: A[
        Runtime,
        Setting(
            help="what runs forward passes; auto: the fastest",
        ),
    ] = "auto"
    bridge: A[
        Bridge | None,
        Setting(
            help="how a draft model with another tokenizer drafts",
        ),
    ] = None
    costs: A[
        str,
        Setting(
            metavar="SOURCE",
            help="what db sizes its drafts by: shipped, measured or a JSON file",
        ),
    ] = "shipped"
    threads: A[
        int | None,
        Setting(
            metavar="N",
            help="CPU threads (default: one for each core; 1 in what measures and in serve)",
        ),
    ] = None

    def options(self, threads: int | None = None) -> EngineOptions:
        """Return which engine to load; ``threads`` are the default."""
        from hsd_viz.engine.options import EngineOptions

        return EngineOptions(
            target=self.target,
            family=self.family,
            device=self.device,
            dtype=self.dtype,
            threads=threads if self.threads is None else self.threads,
            runtime=self.runtime,
            databases=None if self.databases is None else str(self.databases),
            bridge=self.bridge,
            costs=self.costs,
        )

    def engine(self, threads: int | None = None) -> LocalEngine:
        """Load the engine; ``threads`` are the default."""
        return self.options(threads).load()


def write_json(path: Path | None, data: Any) -> None:
    """Write JSON atomically, where there is a path."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: Path | None, text: str) -> None:
    """Write UTF-8 text atomically, where there is a path."""
    if path is not None:
        with writing(path):
            write_whole(path, text)


def drop_stdout() -> None:
    """Redirect a closed standard output to the null device: Python would report it again at
    exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
