"""Lookaheads that a stack leaves out: the law's choice where this machine is calibrated."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from hsd_viz.calibration.mixture import fill
from hsd_viz.calibration.store import folder, identity, newest
from hsd_viz.stack import Model, Stack


def calibrated_lookaheads(stack: Stack, meta: Mapping[str, Any]) -> Stack | None:
    """``stack`` with every lookahead, where a fresh calibration is kept for exactly this engine; else ``None``.

    ``meta`` is that of a trace of the stack, whatever its lookaheads. What was found is remembered for as long as no calibration
    is added.
    """
    try:
        state = folder().stat().st_mtime_ns
    except OSError:
        return None
    # The calibration calls the target by that word, whatever the stack calls it.
    alike = Stack(stack.bottom, (*stack.drafts, Model("target")))
    found = _filled(alike, json.dumps(identity(meta), sort_keys=True), str(folder()), state)
    return None if found is None else Stack(stack.bottom, (*found.drafts, stack.target))


@functools.lru_cache(maxsize=64)
def _filled(stack: Stack, who: str, where: str, state: int) -> Stack | None:
    kept = newest(json.loads(who))
    if kept is None:
        return None
    try:
        return fill(stack, kept.mixture)
    except ValueError:  # something of the stack was not measured
        return None
