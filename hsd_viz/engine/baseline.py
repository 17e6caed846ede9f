"""A run held against plain decoding: the same prompt, settings and length by the target alone, right after it, on the same engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hsd_viz.engine.base import Engine
from hsd_viz.stack import parse
from hsd_viz.trace import Event, Finished, Stage, Step, Trace

#: Tokens between two words about how far it is; between them a decode cannot be cancelled.
OFTEN = 16


def decode_beside_plain(engine: Engine, prompt: str | Sequence[int], stack: str, **options: Any) -> Iterator[Event]:
    """What ``engine.decode`` yields, then plain decoding, whose speed goes into the finished trace (:func:`note`).

    The second decode yields stages only. A run that was not finished, and plain decoding itself, are held against nothing.
    """
    ran: Trace | None = None
    for event in engine.decode(prompt, stack, **options):
        if isinstance(event, Finished):
            ran = event.trace
        yield event
    parts = parse(stack).parts
    if ran is None or ran.meta.get("cancelled") or len(parts) == 1:
        return
    total, done = options.get("max_new_tokens"), 0
    for event in engine.decode(prompt, str(parts[-1]), **options):
        match event:
            case Step():
                before, done = done, done + len(event.tokens)
                if done // OFTEN > before // OFTEN or not before:
                    yield Stage("plain decoding, to compare", done, total)
            case Finished():
                note(ran, event.trace)


def note(trace: Trace, plain: Trace) -> None:
    """Write the speed of ``plain``, a plain decode of the same prompt and settings, into the meta of ``trace``."""
    figures = plain.metrics()
    trace.meta["plain"] = {"tokens": figures["tokens"], "tokens_per_second": figures["tokens_per_second"]}
