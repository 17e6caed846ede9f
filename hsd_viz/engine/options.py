"""The arguments of :func:`hsd_viz.engine.local.load_engine` as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hsd_viz.engine.forwards import SHIPPED
from hsd_viz.models.families import DEFAULT

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Which engine to load; the fields are those of :func:`hsd_viz.engine.local.load_engine`, as
    JSON data.

    Attributes:
        target: what ``target`` means in a stack.
        family: the family whose models have short names.
        device: ``cpu`` or ``cuda``; ``None``: the best there is.
        dtype: the type of weights; ``None``: the device's usual one.
        threads: the CPU threads of forward passes; ``None``: one per core.
        runtime: what runs forward passes.
        databases: a folder in place of the family's; ``None``: the family's.
        bridge: how a model with another tokenizer drafts; ``None``: the best there is.
        costs: what ``db`` sizes its drafts by.
    """

    target: str = "target"
    family: str = DEFAULT
    device: str | None = None
    dtype: str | None = None
    threads: int | None = None
    runtime: str = "auto"
    databases: str | None = None
    bridge: str | None = None
    costs: str = SHIPPED

    def load(self, *, allow_models: bool = True) -> LocalEngine:
        """Make the engine in this process; ``allow_models`` allows hub models and paths."""
        from hsd_viz.engine.local import load_engine

        return load_engine(
            target=self.target,
            family=self.family,
            device=self.device,
            dtype=self.dtype,
            threads=self.threads,
            runtime=self.runtime,
            allow_models=allow_models,
            databases=self.databases,
            bridge=self.bridge,
            costs=self.costs,
        )
