"""The loop that decodes a stack, and its levels."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.decoding.decode import Decode
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.session import DraftModel
from hsd_viz.decoding.verify import RULES
from hsd_viz.drafting.tree import Drafter
from hsd_viz.engine.resolve import Resolved
from hsd_viz.native.decode import NativeDecode, can_compile


def open_levels(asked: Resolved, models: Sequence[DraftModel], most: int) -> list[Level]:
    """Return the levels of a decode of at most ``most`` tokens of text, each with a new session."""
    levels = []
    for name, model, part in zip(asked.levels, models, asked.stack.models, strict=True):
        assert part.lookahead != "auto"
        level = Level(
            name,
            model.session(min(most, model.positions or most)),
            part.lookahead,
            confidence=part.confidence or 0.0,
            positions=model.positions,
        )
        levels.append(level)
    return levels


def loop_class(
    models: Sequence[DraftModel], drafter: Drafter | None, rule: str, unsure_stops: bool
) -> type[Decode]:
    """Return the loop that decodes with these models: one compiled in C++ where all runs in the
    native runtime, one on the device where all are compiled by torch, else the one in Python, which
    runs everything. The one on the device starts all steps of a round before it knows a token, so
    that it cannot stop drafts that are unsure.
    """
    if rule in RULES and can_compile(models, drafter):
        return NativeDecode
    if not unsure_stops and all(model.runtime in ("compiled", "strict") for model in models):
        from hsd_viz.torch_models.decode import DeviceDecode, can_decode

        if can_decode(models, rule):
            return DeviceDecode
    return Loop
