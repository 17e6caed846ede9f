"""Measure what a decode adds to its forward passes and draws: the loop, recording, events, the rows
of the trace.

The compiled loop reports its time in forward passes and in sampling and verification by their
logits; of Python's loop every C++ function is timed where it is called. ``over_calls`` is all other
time of the decode after prefill, on the thread's own processor clock, relative to that time. Both
are of the same decode, so other work on the machine affects them alike. For plain decoding,
``over_bare`` also compares whole decodes with a bare session that samples the same tokens, in
turns.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from statistics import median
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any

from benchmarks.harness import arguments, command, cpu_engine, interleave, prompts_of, write
from hsd_viz.machine import describe
from hsd_viz.terminal import print_line
from hsd_viz.trace import Finished, Started

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine

FORMAT = "hsd_viz layer"
SCHEMA = 1
STACKS = (
    "target",
    "db > target",
    "nano:4 > target",
    "db > nano:4 > target",
    "nano:4 > small:8 > target",
)
TEMPERATURES = (0.0, 0.7)


class CallTimer:
    """The ``ns`` of processor time inside the library's functions, and how many calls there
    were.
    """

    def __init__(self) -> None:
        self.ns = self.calls = 0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            before = thread_time_ns()
            result = function(*given)
            self.ns += thread_time_ns() - before
            self.calls += 1
            return result

        return call

    def inside(self, run: Callable[..., Any], spent: Callable[..., int]) -> Callable[..., Any]:
        """Time a call of the compiled loop: of its processor time the share in forward passes
        and draws.
        """

        def call(handle: Any, *given: Any) -> Any:
            within = spent(handle)
            wall = perf_counter_ns()
            before = thread_time_ns()
            result = run(handle, *given)
            processor = thread_time_ns() - before
            self.ns += int((spent(handle) - within) * processor / (perf_counter_ns() - wall))
            self.calls += 1
            return result

        return call

    def cost(self) -> float:
        """Return ns that a timed call takes outside of what it measures."""
        empty = self.timed(lambda: None)
        before = thread_time_ns()
        inside = self.ns
        repeats = 2000
        for _ in range(repeats):
            empty()
        return (thread_time_ns() - before - (self.ns - inside)) / repeats


@contextmanager
def timed_calls(library: ctypes.CDLL) -> Iterator[CallTimer]:
    """Time every C++ function of the library within the block."""
    timer = CallTimer()
    holders = (library, library.quick)  # type: ignore[attr-defined]
    originals = [_functions(holder) for holder in holders]
    try:
        for holder, functions in zip(holders, originals, strict=True):
            for name, function in functions.items():
                vars(holder)[name] = timer.timed(function)
        run = originals[0]["hsd_decode_run"]
        spent = originals[1]["hsd_decode_inside"]
        vars(library).update(hsd_decode_run=timer.inside(run, spent))
        # Fetching rows is part of recording.
        vars(holders[1]).update(hsd_decode_rows=originals[1]["hsd_decode_rows"])
        yield timer
    finally:
        for holder, functions in zip(holders, originals, strict=True):
            vars(holder).update(functions)


def _functions(holder: object) -> dict[str, Callable[..., Any]]:
    """Return the C++ functions of a library."""
    members = vars(holder).items()
    return {name: function for name, function in members if name.startswith("hsd_")}


def decode(
    engine: LocalEngine, timer: CallTimer | None, prompt: str, stack: str, **options: Any
) -> dict[str, Any]:
    """Return the ids, the rounds and the processor time in ns of a decode after prefill, and
    that inside C++ calls.
    """
    for event in engine.decode(prompt, stack, **options):
        if isinstance(event, Started):
            begin = thread_time_ns()
            inside = timer.ns if timer else 0
            calls = timer.calls if timer else 0
        elif isinstance(event, Finished):
            trace = event.trace
    result = {"ns": thread_time_ns() - begin, "trace": trace, "ids": trace.token_ids}
    if timer:
        result |= {"inside": timer.ns - inside, "calls": timer.calls - calls}
    return result


def bare(engine: LocalEngine, prompt: Sequence[int], ids: Sequence[int], temperature: float) -> int:
    """Return the ns of processor time of a bare session that decodes as many tokens as ``ids``,
    nothing described.
    """
    from hsd_viz.decoding.options import Sampling
    from hsd_viz.decoding.sampling import Draws, UniformNumbers

    session = engine.model().session()
    sampling = Sampling(temperature=temperature)
    draws = Draws(0)
    session.feed(prompt[:-1])
    numbers = None
    if not sampling.greedy:
        numbers = UniformNumbers([draws.at(len(prompt) + place) for place in range(len(ids))])
    begin = thread_time_ns()
    run = session.sample(prompt[-1:], len(ids), sampling, numbers, frozenset())
    spent = thread_time_ns() - begin
    if run.tokens != list(ids):
        raise ValueError("the bare call decoded other tokens than the engine")
    return spent


def measure(
    engine: LocalEngine, prompts: Sequence[str], tokens: int, repeats: int
) -> list[dict[str, Any]]:
    """Return a row of medians for each stack, temperature and recording."""
    cases = []
    for temperature, stack, record in product(TEMPERATURES, STACKS, (True, False)):
        cases.append((stack, temperature, record))
    runs: dict[tuple, list[dict[str, Any]]] = {case: [] for case in cases}
    with timed_calls(engine.model().library) as timer:  # type: ignore[attr-defined]
        cost = timer.cost()
        for stack, t, record in cases:  # nothing is loaded or measured within the timed decodes
            decode(engine, timer, prompts[0], stack, temperature=t, record=record, max_new_tokens=8)
        for prompt, case in interleave(prompts, cases, repeats):
            stack, t, record = case
            run = decode(
                engine, timer, prompt, stack, temperature=t, record=record, max_new_tokens=tokens
            )
            outside = run["ns"] - run["inside"] - run["calls"] * cost
            row = {"over_calls": outside / run["inside"], "us": outside / 1e3 / len(run["ids"])}
            row |= {"rounds": run["trace"].metrics()["target_forwards"], "tokens": len(run["ids"])}
            runs[case].append(row)
        print_line(f"a timed call costs {cost:.0f} ns")
    plain_cases = list(product(TEMPERATURES, (True, False)))
    for prompt, (t, record) in interleave(prompts, plain_cases, repeats):
        run = decode(
            engine, None, prompt, "target", temperature=t, record=record, max_new_tokens=tokens
        )
        alone = bare(engine, run["trace"].meta["prompt_ids"], run["ids"], t)
        runs["target", t, record].append(
            {"over_bare": run["ns"] / alone - 1, "bare_us": alone / 1e3 / tokens}
        )
    return [_row(case, rows) for case, rows in runs.items()]


def _row(case: tuple, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    stack, temperature, record = case
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    medians = {name: median(found) for name, found in values.items()}
    return {"stack": stack, "temperature": temperature, "record": record} | medians


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows, and with ``--json`` write the report."""
    parser = arguments("layer", __doc__, suite="heldout", prompts=4, tokens=64, repeats=3)

    def work(args) -> None:
        engine = cpu_engine()
        prompts = [prompt.text for prompt in prompts_of(args.suite, args.prompts).prompts]
        rows = measure(engine, prompts, args.tokens, args.repeats)
        settings = {
            "suite": args.suite,
            "prompts": args.prompts,
            "tokens": args.tokens,
            "repeats": args.repeats,
        }
        report = {
            "format": FORMAT,
            "schema": SCHEMA,
            "machine": describe(),
            "settings": settings,
            "rows": rows,
        }
        write(args.json, report, rows="rows")
        for row in rows:
            kind = "recorded" if row["record"] else "bare"
            about = f"{row['stack']:22} T={row['temperature']:.1f} {kind:8}"
            times = f"{row['over_calls']:6.1%} over its calls, {row['us']:6.1f} us per token"
            extra = f", {row['over_bare']:+.1%} over a bare session" if "over_bare" in row else ""
            print(f"{about} {times}{extra}")

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
