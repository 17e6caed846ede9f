"""A decode beside plain decoding of the same prompt: how much faster it is, with the spread."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Unpack

from hsd_viz.decoding.engine import Engine, Options
from hsd_viz.machine import cores, load_average
from hsd_viz.stack import Stack, parse
from hsd_viz.trace import Event, Finished, Stage, Step, Trace

#: Tokens between two progress events of a decode beside another; it can only be cancelled at one.
REPORT_EVERY = 16
#: Runs beside plain ones that are timed at most, and the seconds within which repetitions start.
PAIRS, PAIRS_SECONDS = 5, 3.0
#: Tokens of the plain run beside a long decode.
PLAIN_TOKENS = 32


def decode_beside_plain(
    engine: Engine,
    prompt: str | Sequence[int],
    stack: str | Stack,
    *,
    pairs: int = PAIRS,
    seconds: float = PAIRS_SECONDS,
    least: int | None = None,
    **options: Unpack[Options],
) -> Iterator[Event]:
    """Yield the events of ``engine.decode``, then decode with the target alone and note its speed in the trace. Both
    are then repeated, at most ``pairs`` times in all and for about ``seconds``, to measure the spread. These decodes
    yield stages only; they are skipped after a cancelled run and for plain decoding itself. A run of more than
    ``seconds`` is compared with a plain run of ``least`` tokens (``None``: as many as its own).
    """
    trace: Trace | None = None
    for event in engine.decode(prompt, stack, **options):
        trace = event.trace if isinstance(event, Finished) else trace
        yield event
    parts = parse(stack).parts
    if trace is None or trace.meta.get("cancelled") or len(parts) == 1:
        return
    plain, same = Stack(None, (parts[-1],)), options
    if least is not None and trace.meta["wall_ns"] > seconds * 1e9:
        same = {**options, "max_new_tokens": least}
    other = yield from _unseen(engine.decode(prompt, plain, **same), "plain decoding, for comparison", same)
    note_plain(trace, other)
    cost = (trace.meta["wall_ns"] + other.meta["wall_ns"]) / 1e9
    pairs = min(pairs, 1 + int(seconds // cost)) if cost else 1
    for pair in range(2, pairs + 1):
        words = f"measuring the spread, pair {pair} of {pairs}"
        again = yield from _unseen(engine.decode(prompt, stack, **options), words, options)
        note_pair(trace, again, (yield from _unseen(engine.decode(prompt, plain, **options), words, options)))


def _unseen(events: Iterator[Event], words: str, options: Options) -> Generator[Event, None, Trace]:
    """Yield the stages of a decode that is only timed, and return its trace."""
    total, done = options.get("max_new_tokens"), 0
    trace: Trace | None = None
    for event in events:
        match event:
            case Step():
                before, done = done, done + len(event)
                if done // REPORT_EVERY > before // REPORT_EVERY or not before:
                    yield Stage(words, done, total)
            case Finished():
                trace = event.trace
    assert trace is not None, "a decode ends with its trace"
    return trace


def note_plain(trace: Trace, plain: Trace) -> None:
    """Record the speed of ``plain``, a plain decode of the same prompt and settings, in the meta of ``trace``."""
    figures = plain.metrics()
    trace.meta["plain"] = {name: figures[name] for name in ("tokens", "tokens_per_second")}
    trace.meta["plain"] |= {"load_average": load_average(), "cores": cores()}


def note_pair(trace: Trace, again: Trace, plain: Trace) -> None:
    """Record the speed-up of a repeated pair in ``plain`` of the meta: ``speedups``, the first pair's included, and the
    machine's ``load_average`` and ``cores``.
    """
    noted = trace.meta["plain"]
    speed, *speeds = (run.metrics()["tokens_per_second"] for run in (trace, again, plain))
    if not (speed and noted["tokens_per_second"] and all(speeds)):
        return
    noted.setdefault("speedups", [speed / noted["tokens_per_second"]]).append(speeds[0] / speeds[1])
    noted.update(load_average=load_average(), cores=cores())
