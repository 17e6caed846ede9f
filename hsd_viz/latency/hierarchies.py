"""Enumerate hierarchies, which are draft models over a database or over none, and convert them from
and to stacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.law import Hierarchy
from hsd_viz.stack import ModelPart, Stack, read_source

#: The lookahead of a draft model without one, until the law has chosen it.
FIRST_LOOKAHEAD = 4


def hierarchies(calibration: Calibration, max_levels: int | None = None) -> Iterator[Hierarchy]:
    """Yield each hierarchy of which all acceptance was measured.

    Args:
        calibration: the measured costs and acceptance.
        max_levels: the largest number of parts in a stack, including database and target.
    """
    *drafts, target = calibration.models
    for database in (None, *calibration.databases):
        max_drafts = len(drafts) if max_levels is None else max_levels - 1 - (database is not None)
        for count in range(min(max_drafts, len(drafts)) + 1):
            for names in combinations(drafts, count):
                if _is_known(calibration, database, (*names, target)):
                    yield database, names


def _is_known(calibration: Calibration, database: str | None, models: tuple[str, ...]) -> bool:
    """Return whether acceptance was measured for each model and the part below it."""
    if database is not None and (database, models[0]) not in calibration.tiers:
        return False
    return all(pair in calibration.edges for pair in pairwise(models))


def split(stack: Stack) -> tuple[Hierarchy, tuple[int, ...]]:
    """Return the hierarchy of a stack and its lookaheads, 4 for those left out or ``auto``."""
    names = []
    lookaheads = []
    for draft in stack.drafts:
        names.append(draft.name)
        lookahead = draft.lookahead
        lookaheads.append(lookahead if isinstance(lookahead, int) else FIRST_LOOKAHEAD)
    return (stack.source, tuple(names)), tuple(lookaheads)


def join(hierarchy: Hierarchy, lookaheads: Sequence[int], target: str) -> Stack:
    """Return the stack of a hierarchy with lookaheads; the inverse of :func:`split`."""
    database, names = hierarchy
    source = None if database is None else read_source(database)
    return Stack(source, (*map(ModelPart, names, lookaheads), ModelPart(target)))
