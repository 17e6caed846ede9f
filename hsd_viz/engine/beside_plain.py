"""Decode with a stack and with its target alone, and record the speed-up in the trace."""

from __future__ import annotations

from collections.abc import Generator, Iterator
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
    record = trace.meta.get("plain")
    if record is None:
        record = {"tokens": len(plain), "tokens_per_second": _speed(plain)}
        trace.meta["plain"] = record
    record["load_average"] = psutil.getloadavg()[0]
    record["cores"] = cores()
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
