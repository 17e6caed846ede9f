"""One decode from prompt to trace: runs the loop and turns what it did into events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hsd_viz.decoding.details import TOP
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.record import Recorder
from hsd_viz.decoding.text import TokenText
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace


def decode(loop: Loop, text: TokenText, meta: dict[str, Any], *, record: bool = True) -> Iterator[Event]:
    """Run ``loop`` and yield what happens; closing the generator cancels the run.

    ``meta`` is completed in place: ``prompt_ids``, ``prefill_ns``, ``wall_ns``, ``stop_reason`` and ``cancelled``; whoever
    holds it has a whole trace's meta even when the run is cut short. ``record=False`` leaves out probabilities, entropies and
    top-5 lists. ``wall_ns`` is the loop's time and that of noting what it did; the rows are made when somebody looks at them, at the
    latest for the trace.
    """
    prompt, emitted, last = list(loop.text), 0, None
    meta |= {
        "prompt_ids": prompt,
        "stop_reason": "cancelled",
        "cancelled": True,
        "prefill_ns": 0,
        "wall_ns": 0,
        "detailed": record,
    }
    recorder, steps = Recorder(text, record), []
    if record and loop.greedy and hasattr(loop.levels[-1].model, "foresee"):
        loop.levels[-1].model.foresee(TOP)
    pieces = recorder.new_pieces(prompt)
    try:
        for name, done, total in loop.prefill():
            yield Stage(f"prefill {name}", done, total)
        meta["prefill_ns"] = meta["wall_ns"] = loop.log.now()
        yield Started(meta, dict(pieces))
        # The clock of the decode proper starts when the first round does, not while a consumer looks at Started.
        loop.log.zero += loop.log.now() - meta["prefill_ns"]
        for verified in loop.rounds():
            step = recorder.step(loop, verified)
            steps.append(step)
            emitted, last = emitted + len(verified.tokens), verified.tokens[-1]
            meta["wall_ns"] = loop.log.now()
            before = loop.log.clock()
            yield step
            # Time spent by whoever looks at the event is not the decode's.
            loop.log.zero += loop.log.clock() - before
    finally:
        if last in loop.eos:
            meta |= {"stop_reason": "eos", "cancelled": False}
        elif len(loop.text) >= loop.limit:
            meta |= {"stop_reason": "length" if emitted >= meta["max_new_tokens"] else "context", "cancelled": False}
    yield Finished(_trace(meta, pieces, steps))


def _trace(meta: dict[str, Any], pieces: dict[int, str], steps: list[Step]) -> Trace:
    trace = Trace(meta)
    trace.pieces.update(pieces)
    for step in steps:
        trace.append(step)
    return trace
