"""Choose the loop that decodes a stack, and open its levels."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.decoding.base_loop import BaseLoop
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.session import DraftModel
from hsd_viz.decoding.verify import RULES
from hsd_viz.drafting.tree import Drafter
from hsd_viz.engine.resolve import Resolved
from hsd_viz.native.loop import NativeLoop, can_compile


def open_levels(resolved: Resolved, models: Sequence[DraftModel], length: int) -> list[Level]:
    """Return the levels of a decode, each with a new session for a text of ``length`` tokens."""
    levels = []
    for name, model, part in zip(resolved.levels, models, resolved.stack.models, strict=True):
        assert part.lookahead != "auto"
        level = Level(
            name,
            model.session(min(length, model.positions or length)),
            part.lookahead,
            confidence=part.confidence or 0.0,
            positions=model.positions,
        )
        levels.append(level)
    return levels


def loop_class(
    models: Sequence[DraftModel], drafter: Drafter | None, rule: str, unsure_stops: bool
) -> type[BaseLoop]:
    """Return the fastest loop that can decode with these models.

    It is the loop in C++ if all models and the drafter run in the native runtime, the loop on the
    device if torch compiled all models, and otherwise the loop in Python, which runs any session.
    The loop on the device starts all steps of a round before it knows a token, so it cannot stop
    drafts by confidence (``unsure_stops``).
    """
    if rule in RULES and can_compile(models, drafter):
        return NativeLoop
    if not unsure_stops and all(model.runtime in ("compiled", "strict") for model in models):
        from hsd_viz.torch_models.device_loop import DeviceLoop, can_decode

        if can_decode(models, rule):
            return DeviceLoop
    return Loop
