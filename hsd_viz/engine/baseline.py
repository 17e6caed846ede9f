"""Compare a run with plain decoding of the same prompt, decoded right after it on the same engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hsd_viz.engine import Engine
from hsd_viz.stack import parse
from hsd_viz.trace import Event, Finished, Stage, Step, Trace

#: Tokens between two progress events; a decode can only be cancelled at one.
REPORT_EVERY = 16


def decode_beside_plain(engine: Engine, prompt: str | Sequence[int], stack: str, **options: Any) -> Iterator[Event]:
    """Yield the events of ``engine.decode``, then decode with the target alone and :func:`note` its speed in the trace.

    The second decode yields stages only; it is skipped after a cancelled run and for plain decoding itself.
    """
    trace: Trace | None = None
    for event in engine.decode(prompt, stack, **options):
        if isinstance(event, Finished):
            trace = event.trace
        yield event
    parts = parse(stack).parts
    if trace is None or trace.meta.get("cancelled") or len(parts) == 1:
        return
    total, done = options.get("max_new_tokens"), 0
    for event in engine.decode(prompt, str(parts[-1]), **options):
        match event:
            case Step():
                before, done = done, done + len(event.tokens)
                if done // REPORT_EVERY > before // REPORT_EVERY or not before:
                    yield Stage("plain decoding, for comparison", done, total)
            case Finished():
                note(trace, event.trace)


def note(trace: Trace, plain: Trace) -> None:
    """Record the speed of ``plain``, a plain decode of the same prompt and settings, in the meta of ``trace``."""
    figures = plain.metrics()
    trace.meta["plain"] = {"tokens": figures["tokens"], "tokens_per_second": figures["tokens_per_second"]}
