"""What ``auto`` stands for in an engine: which levels it may use, and what was learnt about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from hsd_viz.adaptive.options import Estimates
from hsd_viz.calibration.draft_costs import CONTEXT, REPEATS, SLOW, clock_for, forwards
from hsd_viz.calibration.store import identity, newest
from hsd_viz.decoding.model import Launcher, Model
from hsd_viz.decoding.settings import Sampling
from hsd_viz.ladder.load import names
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost
from hsd_viz.stack import DraftSource, Stack
from hsd_viz.stack import Model as Part

#: Nodes of the largest database draft: as many as the choice may want of them.
NODES = 24
#: Tokens of the two launches that tell what a launch costs, and what a token of it.
LAUNCHES = (2, 8)


def is_auto(stack: Stack) -> bool:
    return stack.bottom is not None and stack.bottom.name == "auto"


def levels_of(stack: Stack, target: str) -> Stack:
    """All levels that ``auto`` may use, as a stack: the database and the draft models that it names, the target last.

    Where it names none: the databases, and every model of the ladder below ``target`` if that is one of them.
    """
    ladder = names()
    items = stack.bottom.items or ("db", *(ladder[: ladder.index(target)] if target in ladder else ()))
    return Stack(
        DraftSource("db") if "db" in items else None, (*(Part(item) for item in items if item != "db"), stack.target)
    )


def in_order(levels: Stack, loaded: Sequence[Model]) -> tuple[Stack, list[Model]]:
    """The levels and their models with the draft models smallest first."""
    drafts = sorted(zip(levels.drafts, loaded, strict=False), key=lambda pair: pair[1].parameters)
    parts, models = [d[0] for d in drafts], [d[1] for d in drafts]
    return Stack(levels.bottom, (*parts, levels.target)), [*models, loaded[-1]]


def resolved(levels: Stack) -> Stack:
    """``auto`` with all its options written out."""
    items = ([] if levels.bottom is None else ["db"]) + [m.name for m in levels.drafts]
    return Stack(DraftSource("auto", tuple(items)), (levels.target,))


class EstimateCache:
    """Estimates by the models and the sampling that they are about: what runs of one engine leave to each other.

    They begin from the calibration that is kept of this machine, models and sampling, where there is one, else from a quick look at what
    the models cost. Runs that go on side by
    side may share them: they change how fast a run is, not what it emits.
    """

    def __init__(self) -> None:
        self._found: dict[tuple, Estimates] = {}

    def of(
        self, levels: Stack, models: Sequence[Model], sampling: Sampling, meta: Callable[[], Mapping[str, Any]]
    ) -> Estimates:
        """The estimates of these levels (bottom first), to be used and learnt from; ``meta`` is that of their traces."""
        key = (levels, tuple((m.name, m.runtime) for m in models), sampling.temperature, sampling.top_k, sampling.top_p)
        if key not in self._found:
            called = [*(m.name for m in levels.drafts), "target"]
            kept = newest(identity(meta()))
            calibration = kept.calibration if kept else gauged(dict(zip(called, models, strict=True)), sampling)
            self._found[key] = Estimates(
                called,
                [m.parameters for m in models],
                bottom=None if levels.bottom is None else str(levels.bottom),
                calibration=calibration,
            )
        return self._found[key]


def gauged(models: Mapping[str, Model], sampling: Sampling) -> Calibration:
    """What the models cost by a quick look, acceptance unknown.

    In rounds all is somewhat dearer than by itself, which is learnt there; what a look tells is how the models compare, what more
    tokens at a time cost, and what a launch.
    """
    clock, costs = clock_for(models.values()), {}
    for name, forward in forwards(models).items():
        session, draft = models[name].session(), {}
        if session.can_sample and forward[0] <= SLOW:
            session.forward([0] * CONTEXT, 1)
            few, many = (_launch(session, n, sampling, clock) for n in LAUNCHES)
            step = max(0.0, many - few) / (LAUNCHES[1] - LAUNCHES[0])
            draft = {"draft": (step,), "draft_overhead": max(0.0, few - LAUNCHES[0] * step)}
        costs[name] = LevelCost(forward, **draft)
    return Calibration(tuple(models), costs, {})


def _launch(session: Launcher, n: int, sampling: Sampling, clock: Callable[[], int]) -> float:
    """ms until the tokens of a launch of ``n`` are here: the median of some."""
    times = []
    for _ in range(REPEATS + 1):
        start = clock()
        ids, _ = session.sample([0], n, sampling, [] if sampling.greedy else [0.5] * n, frozenset())
        if not isinstance(ids, list):
            ids.tolist()
        times.append((clock() - start) / 1e6)
        session.truncate(CONTEXT)
    return median(times[1:])
