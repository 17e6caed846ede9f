"""A decode that is followed live: its events in batches from a thread of its own, and plain
decoding beside it.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

import psutil

from hsd_viz.decoding.engine import DecodeCall, Engine
from hsd_viz.machine import cores
from hsd_viz.stack import Stack, parse
from hsd_viz.trace import Event, Finished, Stage, Step, Trace

#: Tokens between two progress events of a decode that is only timed; it can only be cancelled at
#: one.
REPORT_EVERY = 16
#: Runs beside plain ones that are timed at most, and about how many seconds they take.
PAIRS = 5
PAIRS_SECONDS = 3.0
#: Tokens of the plain run beside a long decode.
PLAIN_TOKENS = 32
#: Most seconds that a decode waits for the interpreter lock after a forward pass (Python's default,
#: 5 ms, is several forward passes), and the idle interval, read once because decodes of one process
#: may overlap.
SWITCH = 0.0001
UNHURRIED = sys.getswitchinterval()


def batches(
    events: Callable[[], Iterator[Event]], cancelled: threading.Event, seconds: float = 0.04
) -> Iterator[list[Event]]:
    """Yield the events of a decode while its forward passes release the interpreter lock.

    What the decode raises is raised after the events before it.

    Args:
        events: starts the decode.
        cancelled: ends it after its current event; leaving the generator sets it.
        seconds: the time between batches of steps; other events come at once.
    """
    inbox: deque[Event] = deque()
    urgent = threading.Event()
    over = threading.Event()
    failed: list[BaseException] = []

    def decode() -> None:
        sys.setswitchinterval(SWITCH)
        try:
            running = events()
            for event in running:
                inbox.append(event)
                if not isinstance(event, Step):
                    urgent.set()
                if cancelled.is_set():
                    break
            # Closing the generator cancels the decode and completes the trace's meta.
            getattr(running, "close", lambda: None)()
        except BaseException as error:
            failed.append(error)
        finally:
            sys.setswitchinterval(UNHURRIED)
            over.set()
            urgent.set()

    threading.Thread(target=decode, name="hsd-viz decode", daemon=True).start()
    try:
        ended = False
        while not ended:
            urgent.wait(seconds)
            urgent.clear()
            ended = over.is_set()  # read before emptying the inbox: nothing is added afterwards
            if waiting := [inbox.popleft() for _ in range(len(inbox))]:
                yield waiting
    finally:
        cancelled.set()
    if failed:
        raise failed[0]


def decode_beside_plain(
    engine: Engine, call: DecodeCall, *, pairs: int = PAIRS, least: int | None = None
) -> Iterator[Event]:
    """Yield the events of a decode, then decode with the target alone and note its speed in the
    trace.

    Both are then repeated for some seconds, to measure the spread. These decodes yield stages only;
    they are skipped after a cancelled run and for plain decoding itself.

    Args:
        engine: what decodes.
        call: the prompt, the stack and the options.
        pairs: the most runs beside plain ones, the first among them.
        least: the tokens of the plain run beside a long one; ``None``: as many as its own.
    """
    trace: Trace | None = None
    for event in call.events(engine):
        trace = event.trace if isinstance(event, Finished) else trace
        yield event
    if trace is None or trace.meta.get("cancelled"):
        return
    levels = parse(call.stack)
    if len(levels.parts) == 1:
        return
    plain = replace(call, stack=Stack(None, (levels.target,)))
    first_plain = plain
    is_long = trace.meta["wall_ns"] > PAIRS_SECONDS * 1e9
    if least is not None and is_long:
        first_plain = replace(plain, options={**call.options, "max_new_tokens": least})
    other = yield from _timed(engine, first_plain, "plain decoding, for comparison")
    note_plain(trace, other)
    cost = (trace.meta["wall_ns"] + other.meta["wall_ns"]) / 1e9
    pairs = min(pairs, 1 + int(PAIRS_SECONDS // cost)) if cost else 1
    for pair in range(2, pairs + 1):
        words = f"measuring the spread, pair {pair} of {pairs}"
        again = yield from _timed(engine, call, words)
        plain_again = yield from _timed(engine, plain, words)
        note_plain(trace, plain_again, again)


def _timed(engine: Engine, call: DecodeCall, words: str) -> Generator[Event, None, Trace]:
    """Yield ``words`` as stages of a decode that is only timed, and return its trace."""
    done = 0
    for event in call.events(engine):
        if isinstance(event, Finished):
            return event.trace  # type: ignore[return-value]
        if isinstance(event, Step):
            before = done
            done = done + len(event)
            if done // REPORT_EVERY > before // REPORT_EVERY or not before:
                yield Stage(words, done, call.options.get("max_new_tokens"))
    raise AssertionError("a decode that is not closed ends with Finished")


def note_plain(trace: Trace, plain: Trace, again: Trace | None = None) -> None:
    """Record the speed of ``plain``, a plain decode of the same prompt and settings, in the meta of
    ``trace``, with the machine's ``load_average`` and ``cores``. With ``again``, a repeated run
    beside a repeated plain one, add the speed-up of the pair to ``speedups``, of which that of the
    first pair is the first.
    """
    noted = trace.meta.setdefault(
        "plain", {"tokens": len(plain), "tokens_per_second": _speed(plain)}
    )
    noted.update(load_average=psutil.getloadavg()[0], cores=cores())
    if again is None:
        return
    first_speedup = _ratio(_speed(trace), noted["tokens_per_second"])
    speedup = _ratio(_speed(again), _speed(plain))
    if first_speedup is None or speedup is None:
        return
    noted.setdefault("speedups", [first_speedup]).append(speedup)


def _ratio(speed: float | None, plain_speed: float | None) -> float | None:
    """Return a speed-up; ``None`` if one of the speeds is not known."""
    if not speed or not plain_speed:
        return None
    return speed / plain_speed


def _speed(trace: Trace) -> float | None:
    """Return the tokens per second of a decode; ``None`` if it took no time."""
    return trace.metrics()["tokens_per_second"]
