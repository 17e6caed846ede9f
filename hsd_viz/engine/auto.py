"""What ``auto`` stands for in an engine: which levels it may use, and what was learnt about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hsd_viz.bench.store import identity, newest
from hsd_viz.decoding.model import Model
from hsd_viz.decoding.settings import Sampling
from hsd_viz.ladder.load import names
from hsd_viz.latency.choice import Estimates
from hsd_viz.stack import Bottom, Stack
from hsd_viz.stack import Model as Part

#: Nodes of the largest database draft: as many as the choice may want of them.
NODES = 16


def is_auto(stack: Stack) -> bool:
    return stack.bottom is not None and stack.bottom.name == "auto"


def levels_of(stack: Stack, target: str) -> Stack:
    """All levels that ``auto`` may use, as a stack: the database and the draft models that it names, the target last.

    Where it names none: the databases, and every model of the ladder below ``target`` if that is one of them.
    """
    ladder = names()
    items = stack.bottom.items or ("db", *(ladder[: ladder.index(target)] if target in ladder else ()))
    return Stack(Bottom("db") if "db" in items else None, (*(Part(item) for item in items if item != "db"), stack.target))


def in_order(levels: Stack, loaded: Sequence[Model]) -> tuple[Stack, list[Model]]:
    """The levels and their models with the draft models smallest first."""
    drafts = sorted(zip(levels.drafts, loaded, strict=False), key=lambda pair: pair[1].parameters)
    parts, models = [d[0] for d in drafts], [d[1] for d in drafts]
    return Stack(levels.bottom, (*parts, levels.target)), [*models, loaded[-1]]


def resolved(levels: Stack) -> Stack:
    """``auto`` with all its options written out."""
    items = ([] if levels.bottom is None else ["db"]) + [m.name for m in levels.drafts]
    return Stack(Bottom("auto", tuple(items)), (levels.target,))


class Learnt:
    """Estimates by the models and the sampling that they are about: what runs of one engine leave to each other.

    They begin from the calibration that is kept of this machine, models and sampling, where there is one. Runs that go on side by
    side may share them: they change how fast a run is, not what it emits.
    """

    def __init__(self) -> None:
        self._found: dict[tuple, Estimates] = {}

    def of(self, levels: Stack, models: Sequence[Model], sampling: Sampling, meta: Callable[[], Mapping[str, Any]]) -> Estimates:
        """The estimates of these levels (bottom first), to be used and learnt from; ``meta`` is that of their traces."""
        key = (levels, tuple((m.name, m.runtime) for m in models), sampling.temperature, sampling.top_k, sampling.top_p)
        if key not in self._found:
            kept = newest(identity(meta()))
            self._found[key] = Estimates(
                [*(m.name for m in levels.drafts), "target"],
                [m.parameters for m in models],
                bottom=None if levels.bottom is None else str(levels.bottom),
                calibration=kept and kept.calibration,
            )
        return self._found[key]
