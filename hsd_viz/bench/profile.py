"""Profile target rounds: forward passes by level, drafting, acceptance, recording, and the Python code around them.

A profiled decode is separate from the measured ones: a stopwatch wraps what its loop calls (models, drafter, backend,
log, recorder) and assigns every nanosecond to exactly one part, so that the parts of a round sum to its wall time.
Switched off it costs nothing; switched on, some fifteen wrapped calls per round cost a few tenths of a microsecond
each, which the parts include. What the native runtime does in a greedy forward pass (arg-maxes, the walk, the details
of the walked rows) counts as forward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean, median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from hsd_viz.decoding.settings import Sampling
from hsd_viz.trace import Finished, Step

if TYPE_CHECKING:
    from hsd_viz.decoding.loop import Loop
    from hsd_viz.decoding.record import Recorder
    from hsd_viz.engine.local import LocalEngine

DRAFTING, ACCEPTANCE, RECORDING, REST = "drafting", "acceptance", "recording", "rest"
FORWARD = "forward "
#: One target round: nanoseconds by part.
Round = dict[str, int]


class Stopwatch:
    """Assign the time from :meth:`start` to :meth:`stop` to parts. Entering a part pauses the part around it."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._since = 0
        self._spent: Round = {}

    def start(self) -> None:
        self._spent, self._open = {}, [REST]
        self._since = perf_counter_ns()

    def stop(self) -> Round:
        """Return the time since the start, by part."""
        self._switch()
        self._open = []
        return self._spent

    def _switch(self) -> None:
        """Assign the time since the last switch to the part that is open."""
        now = perf_counter_ns()
        part = self._open[-1]
        self._spent[part] = self._spent.get(part, 0) + now - self._since
        self._since = now

    def timed(self, part: str, function: Callable, then: Callable[[], None] | None = None) -> Callable:
        """Return ``function`` with its time assigned to ``part``, and that of ``then``, which is called after it."""

        def wrapped(*args: Any, **options: Any) -> Any:
            if not self._open:
                return function(*args, **options)
            self._switch()
            self._open.append(part)
            try:
                result = function(*args, **options)
                if then is not None:
                    then()
                return result
            finally:
                self._switch()
                self._open.pop()

        return wrapped


class _Timed:
    """An object with the calls ``names`` assigned to a part; ``then`` is called after each."""

    def __init__(
        self, watch: Stopwatch, inner: Any, part: str, names: Sequence[str], then: Callable[[], None] | None = None
    ) -> None:
        self._inner = inner
        self.__dict__ |= {n: watch.timed(part, getattr(inner, n), then) for n in names if hasattr(inner, n)}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def profile_decode(
    engine: LocalEngine, prompt: str, stack: str, max_new_tokens: int, sampling: Sampling, budget: int | None = None
) -> list[Round]:
    """Return the target rounds of one recorded decode, each with its nanoseconds by part. They sum to the time of the
    decode, that of making the rows of its trace included. On a GPU the host waits for each forward pass, so that its
    time is not attributed to the next transfer: rounds are a little slower than unobserved ones.
    """
    watch, rounds = Stopwatch(), []
    before, engine.on_decode = engine.on_decode, partial(_attach, watch, _wait(engine))
    try:
        options = asdict(sampling) | ({} if budget is None else {"budget": budget})
        events = engine.decode(prompt, stack, max_new_tokens=max_new_tokens, record=True, **options)
        while True:
            # The clock runs only while the next event is computed.
            watch.start()
            event = next(events, None)
            spent = watch.stop()
            if event is None:
                return rounds
            if isinstance(event, Step):
                rounds.append(spent)
            elif isinstance(event, Finished):
                # The rows of all rounds were made now: each round has its share of that.
                for at in rounds:
                    at[RECORDING] = at.get(RECORDING, 0) + sum(spent.values()) // len(rounds)
    finally:
        engine.on_decode = before


@dataclass(frozen=True, slots=True)
class PartTime:
    """The time of one part of a round: median and mean microseconds per round, and its share of all time."""

    median_us: float
    mean_us: float
    share: float


@dataclass(frozen=True, slots=True)
class RoundProfile:
    """A profile of ``rounds`` target rounds, ``round_us`` their median microseconds, ``parts`` with the forward passes
    first. ``python_over_forward``: all time outside forward passes, as a share of the target's forward passes.
    """

    rounds: int
    round_us: float
    parts: dict[str, PartTime]
    python_over_forward: float


def summary(rounds: Sequence[Round]) -> RoundProfile | None:
    """Return the profile of target rounds for the report; ``None`` without rounds."""
    if not rounds:
        return None
    names = sorted({part for r in rounds for part in r}, key=lambda part: (not part.startswith(FORWARD), part))
    spent = {part: [r.get(part, 0) / 1e3 for r in rounds] for part in names}
    totals = {part: sum(times) for part, times in spent.items()}
    total, forwards = sum(totals.values()), sum(t for part, t in totals.items() if part.startswith(FORWARD))
    parts = {part: PartTime(median(us), fmean(us), totals[part] / total) for part, us in spent.items()}
    round_us = median(sum(r.values()) / 1e3 for r in rounds)
    return RoundProfile(len(rounds), round_us, parts, (total - forwards) / totals[f"{FORWARD}target"])


def _attach(watch: Stopwatch, wait: Callable[[], None] | None, loop: Loop, recorder: Recorder) -> None:
    """Have a decode's loop and recorder report to ``watch``; ``wait`` is called after each forward pass."""
    if loop.drafter is not None:
        loop.drafter = _Timed(watch, loop.drafter, DRAFTING, ("draft", "extend", "observe", "observe_probabilities"))
    loop.in_one_call = False
    for level in loop.levels:
        if level is not None:
            calls = ("forward", "forward_verified", "sample", "keep")
            level.model = _Timed(watch, level.model, FORWARD + level.name, calls, wait)
    loop.backend = _Timed(watch, loop.backend, ACCEPTANCE, ("rows", "draw", "verify_tree", "verify_chain"))
    loop.log = _Timed(watch, loop.log, RECORDING, ("open_round", "close_round", "call", "take"))
    recorder.step = watch.timed(RECORDING, recorder.step)
    recorder.make_rows = watch.timed(RECORDING, recorder.make_rows)


def _wait(engine: LocalEngine) -> Callable[[], None] | None:
    """Return a function that waits for the GPU; ``None`` where forward passes are synchronous."""
    if not str(getattr(engine, "device", "cpu")).startswith("cuda"):
        return None
    import torch

    return torch.cuda.synchronize
