"""Where the time of a target round goes: forwards by level, drafting, acceptance, recording, and the Python around them.

A profiled decode is one of its own, whose figures go nowhere else: while it runs, the loop's methods are wrapped by a stopwatch
that gives every nanosecond to exactly one part, so that the parts of a round sum to its wall time. Switched off it costs nothing;
switched on, some fifteen wrapped calls a round cost a few tenths of a microsecond each, which the parts carry. What the native
runtime does for a greedy decode inside of a forward (arg-maxes, the walk, the details of the walked rows) counts as forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from hsd_viz.decoding.settings import Sampling
from hsd_viz.trace import Finished, Step, Trace

if TYPE_CHECKING:
    from hsd_viz.engine import Engine

DRAFTING, ACCEPTANCE, RECORDING, REST = "drafting", "acceptance", "recording", "rest"
FORWARD = "forward "
#: One target round: nanoseconds by part.
Round = dict[str, int]


class Stopwatch:
    """Gives the time from :meth:`start` to :meth:`stop` to parts. A part that is entered stops the one around it."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._since = 0
        self._spent: Round = {}

    def start(self) -> None:
        self._spent, self._open = {}, [REST]
        self._since = perf_counter_ns()

    def stop(self) -> Round:
        """The time since the start, by part."""
        self._spent[REST] = self._spent.get(REST, 0) + perf_counter_ns() - self._since
        self._open = []
        return self._spent

    def timed(self, part: str, function: Callable, then: Callable[[], None] | None = None) -> Callable:
        """``function``, its time given to ``part``, and that of ``then``, which is called after it."""

        def wrapped(*args: Any, **options: Any) -> Any:
            opened = self._open
            if not opened:
                return function(*args, **options)
            spent, now = self._spent, perf_counter_ns()
            spent[opened[-1]] = spent.get(opened[-1], 0) + now - self._since
            self._since = now
            opened.append(part)
            try:
                result = function(*args, **options)
                if then is not None:
                    then()
                return result
            finally:
                now = perf_counter_ns()
                spent[part] = spent.get(part, 0) + now - self._since
                self._since = now
                opened.pop()

        return wrapped


class _Timed:
    """An object some of whose methods are timed; everything else is its own."""

    def __init__(self, inner: Any, methods: dict[str, Callable]) -> None:
        self._inner = inner
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def profile_decode(
    engine: Engine, prompt: str, stack: str, max_new_tokens: int, sampling: Sampling, budget: int | None = None
) -> list[Round]:
    """The target rounds of one recorded decode, each with its nanoseconds by part; they sum to the time the decode took, that of making
    the rows of its trace included.

    On a GPU the host waits for each forward, so that its time is not found where the next transfer waits: rounds are a little
    slower than they are unobserved.
    """
    watch, rounds = Stopwatch(), []
    with _watched(watch, _wait(engine)):
        events = engine.decode(
            prompt,
            stack,
            max_new_tokens=max_new_tokens,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            seed=sampling.seed,
            record=True,
            **({} if budget is None else {"budget": budget}),
        )
        while True:
            # The clock stands still while nobody asks for the next event.
            watch.start()
            event = next(events, None)
            spent = watch.stop()
            if event is None:
                return rounds
            if isinstance(event, Step):
                rounds.append(spent)
            elif isinstance(event, Finished):
                # The rows of all rounds were made at last: each has its share of that.
                for at in rounds:
                    at[RECORDING] = at.get(RECORDING, 0) + spent.get(RECORDING, 0) // len(rounds)


@dataclass(frozen=True, slots=True)
class PartTime:
    """The time of one part of a round: median and mean microseconds per round, and its share of all time."""

    median_us: float
    mean_us: float
    share: float


@dataclass(frozen=True, slots=True)
class RoundProfile:
    """A profile of ``rounds`` target rounds, ``round_us`` their median microseconds, ``parts`` with the forward passes first.

    ``python_over_forward``: all time outside forward passes, as a share of the target's forward passes.
    """

    rounds: int
    round_us: float
    parts: dict[str, PartTime]
    python_over_forward: float


def summary(rounds: Sequence[Round]) -> RoundProfile | None:
    """Return the profile of target rounds for the report; ``None`` without rounds."""
    if not rounds:
        return None
    total = sum(sum(r.values()) for r in rounds)
    names = sorted({part for r in rounds for part in r}, key=lambda part: (not part.startswith(FORWARD), part))
    totals = {part: sum(r.get(part, 0) for r in rounds) for part in names}
    forwards = sum(t for part, t in totals.items() if part.startswith(FORWARD))
    parts = {
        part: PartTime(
            median_us=median(r.get(part, 0) for r in rounds) / 1e3,
            mean_us=totals[part] / len(rounds) / 1e3,
            share=totals[part] / total,
        )
        for part in names
    }
    return RoundProfile(
        len(rounds),
        median(sum(r.values()) for r in rounds) / 1e3,
        parts,
        (total - forwards) / totals[f"{FORWARD}target"],
    )


@contextmanager
def _watched(watch: Stopwatch, wait: Callable[[], None] | None) -> Iterator[None]:
    """While it lasts, every loop that is made reports to ``watch``; ``wait`` is called after each forward."""
    from hsd_viz.decoding import loop
    from hsd_viz.decoding.log import Log
    from hsd_viz.decoding.record import Recorder

    made = loop.Loop.__init__

    def make(self: Any, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        if self.drafter is not None:
            self.drafter = _timed(watch, self.drafter, DRAFTING, ("draft", "extend", "observe"))
        for level in self.levels:
            if level is not None:
                level.model = _timed(watch, level.model, FORWARD + level.name, ("forward", "sample", "keep"), wait)

    replaced = [
        (loop.Loop, "_judge", ACCEPTANCE),
        (loop, "sample", ACCEPTANCE),
        (loop.Loop, "_look_up", DRAFTING),
        *((Log, name, RECORDING) for name in ("open_round", "close_round", "call", "take")),
        (Trace, "append", RECORDING),
        *((Recorder, name, RECORDING) for name in ("step", "make_rows")),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    try:
        for owner, name, part in replaced:
            setattr(owner, name, watch.timed(part, getattr(owner, name)))
        loop.Loop.__init__ = make
        yield
    finally:
        loop.Loop.__init__ = made
        for owner, name, function in before:
            setattr(owner, name, function)


def _timed(
    watch: Stopwatch, inner: Any, part: str, names: Sequence[str], then: Callable[[], None] | None = None
) -> _Timed:
    return _Timed(
        inner, {name: watch.timed(part, getattr(inner, name), then) for name in names if hasattr(inner, name)}
    )


def _wait(engine: Engine) -> Callable[[], None] | None:
    """What waits until a GPU has done what it was given; ``None`` where forwards are over when they return."""
    if not str(getattr(engine, "device", "cpu")).startswith("cuda"):
        return None
    import torch

    return torch.cuda.synchronize
