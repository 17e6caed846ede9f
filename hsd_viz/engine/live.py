"""Live decodes: events in batches from a separate thread, and a comparison with plain decoding."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

import psutil

from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.decoding.text import Prompt
from hsd_viz.machine import cores
from hsd_viz.stack import Stack, parse
from hsd_viz.trace import Event, Finished, Stage, Step, Trace

#: The number of tokens between two progress events of a timed decode, which can be cancelled only
#: at an event.
REPORT_EVERY = 16
#: The largest number of pairs of a run and a plain run that are timed.
PAIRS = 5
#: The approximate number of seconds that the pairs take.
PAIRS_SECONDS = 3.0
#: The number of tokens in the plain run beside a long decode.
PLAIN_TOKENS = 32
#: The switch interval in seconds during a decode, the longest wait for the interpreter lock after a
#: forward pass. Python's default of 5 ms is as long as several forward passes.
SWITCH = 0.0001


class _ShortSwitches:
    """The context in which a decode runs with the switch interval :data:`SWITCH`.

    Contexts may overlap: the last one to end restores the interval from before the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(SWITCH)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                sys.setswitchinterval(self._before)


_SHORT_SWITCHES = _ShortSwitches()


def batches(
    events: Callable[[], Iterator[Event]], cancelled: threading.Event, seconds: float = 0.04
) -> Iterator[list[Event]]:
    """Run a decode in a thread, and yield its events in batches.

    The consumer runs while forward passes release the interpreter lock. An exception of the decode
    is raised after the events that precede it.

    Args:
        events: a function that starts the decode.
        cancelled: an event that ends the decode after its current event; closing the generator sets
            it.
        seconds: the time between batches of steps; other events are yielded at once.
    """
    inbox: deque[Event] = deque()
    urgent = threading.Event()
    over = threading.Event()
    failed: list[BaseException] = []

    def decode() -> None:
        try:
            with _SHORT_SWITCHES:
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
            over.set()
            urgent.set()

    threading.Thread(target=decode, name="hsd-viz decode", daemon=True).start()
    try:
        ended = False
        while not ended:
            urgent.wait(seconds)
            urgent.clear()
            # Read before the inbox is emptied: after the end, no event is added.
            ended = over.is_set()
            if waiting := [inbox.popleft() for _ in range(len(inbox))]:
                yield waiting
    finally:
        cancelled.set()
    if failed:
        raise failed[0]


def decode_beside_plain(
    engine: Engine,
    prompt: Prompt,
    stack: str | Stack,
    options: DecodingOptions,
    *,
    pairs: int = PAIRS,
    least: int | None = None,
) -> Iterator[Event]:
    """Decode, then decode with the target alone, and record its speed in the trace.

    Both are repeated for some seconds to measure the spread. The further decodes yield only stages;
    they are skipped after a cancelled run and for plain decoding itself.

    Args:
        engine: the engine.
        prompt: the prompt.
        stack: the stack as text or parsed.
        options: the options of the decode.
        pairs: the largest number of pairs of a run and a plain run, including the first.
        least: the number of tokens in the plain run beside a long run; ``None`` for as many as in
            the run itself.
    """
    trace: Trace | None = None
    for event in engine.events(prompt, stack, options):
        trace = event.trace if isinstance(event, Finished) else trace
        yield event
    if trace is None or trace.meta.get("cancelled"):
        return
    levels = parse(stack)
    if len(levels.parts) == 1:
        return
    plain = Stack(None, (levels.target,))
    first_options = options
    is_long = trace.meta["wall_ns"] > PAIRS_SECONDS * 1e9
    if least is not None and is_long:
        first_options = replace(options, max_new_tokens=least)
    words = "plain decoding, for comparison"
    other = yield from _timed(engine, prompt, plain, first_options, words)
    note_plain(trace, other)
    cost = (trace.meta["wall_ns"] + other.meta["wall_ns"]) / 1e9
    pairs = min(pairs, 1 + int(PAIRS_SECONDS // cost)) if cost else 1
    for pair in range(2, pairs + 1):
        words = f"measuring the spread, pair {pair} of {pairs}"
        again = yield from _timed(engine, prompt, stack, options, words)
        plain_again = yield from _timed(engine, prompt, plain, options, words)
        note_plain(trace, plain_again, again)


def _timed(
    engine: Engine, prompt: Prompt, stack: str | Stack, options: DecodingOptions, words: str
) -> Generator[Event, None, Trace]:
    """Time a decode, yielding stages with the text ``words``, and return its trace."""
    done = 0
    for event in engine.events(prompt, stack, options):
        if isinstance(event, Finished):
            return event.trace  # type: ignore[return-value]
        if isinstance(event, Step):
            before = done
            done = done + len(event)
            if done // REPORT_EVERY > before // REPORT_EVERY or not before:
                yield Stage(words, done, options.max_new_tokens)
    raise AssertionError("a decode that is not closed ends with Finished")


def note_plain(trace: Trace, plain: Trace, again: Trace | None = None) -> None:
    """Record the speed of plain decoding in the meta of a trace, with the load and the cores.

    Args:
        trace: the trace of the run.
        plain: the trace of a plain decode with the same prompt and settings.
        again: the trace of a repeated run, if ``plain`` is a repeated plain run. The speed-up of
            this pair is added to ``speedups``, whose first entry is that of the first pair.
    """
    record = trace.meta.setdefault(
        "plain", {"tokens": len(plain), "tokens_per_second": _speed(plain)}
    )
    record.update(load_average=psutil.getloadavg()[0], cores=cores())
    if again is None:
        return
    first_speedup = _ratio(_speed(trace), record["tokens_per_second"])
    speedup = _ratio(_speed(again), _speed(plain))
    if first_speedup is None or speedup is None:
        return
    record.setdefault("speedups", [first_speedup]).append(speedup)


def _ratio(speed: float | None, plain_speed: float | None) -> float | None:
    """Return the speed-up; ``None`` if a speed is zero or not known."""
    if not speed or not plain_speed:
        return None
    return speed / plain_speed


def _speed(trace: Trace) -> float | None:
    """Return the tokens per second of a decode; ``None`` if it took no time."""
    return trace.metrics()["tokens_per_second"]
