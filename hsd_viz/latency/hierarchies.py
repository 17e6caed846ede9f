"""Hierarchies as the law names them: a database, or none, below draft models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.law import Hierarchy
from hsd_viz.stack import ModelPart, Stack, read_source

#: The lookahead where a stack leaves it out, until the law has chosen one.
FIRST_LOOKAHEAD = 4


def hierarchies(calibration: Calibration, max_levels: int | None = None) -> Iterator[Hierarchy]:
    """Yield every hierarchy with known acceptance on all its edges.

    Args:
        calibration: what was measured.
        max_levels: the most parts of a stack, database and target included.
    """
    *drafts, target = calibration.models
    for database in (None, *calibration.databases):
        max_drafts = len(drafts) if max_levels is None else max_levels - 1 - (database is not None)
        for count in range(min(max_drafts, len(drafts)) + 1):
            for names in combinations(drafts, count):
                if _is_known(calibration, database, (*names, target)):
                    yield database, names


def _is_known(calibration: Calibration, database: str | None, models: tuple[str, ...]) -> bool:
    """Return whether acceptance was measured at each of the models over the database."""
    if database is not None and (database, models[0]) not in calibration.tiers:
        return False
    return all(pair in calibration.edges for pair in pairwise(models))


def split(stack: Stack) -> tuple[Hierarchy, tuple[int, ...]]:
    """Return the hierarchy of a stack, and its lookaheads (left out or ``auto``: 4)."""
    names = []
    lookaheads = []
    for draft in stack.drafts:
        names.append(draft.name)
        lookahead = draft.lookahead
        lookaheads.append(lookahead if isinstance(lookahead, int) else FIRST_LOOKAHEAD)
    return (stack.source, tuple(names)), tuple(lookaheads)


def join(hierarchy: Hierarchy, lookaheads: Sequence[int], target: str) -> Stack:
    """Return the stack of a hierarchy with these lookaheads: the inverse of :func:`split`."""
    database, names = hierarchy
    source = None if database is None else read_source(database)
    return Stack(source, (*map(ModelPart, names, lookaheads), ModelPart(target)))
