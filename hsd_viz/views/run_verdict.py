"""The verdict on a run's speed: what a round cost and brought, the spread over repeated runs, and reasons for doubt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from hsd_viz.bench.verdict import impossible
from hsd_viz.trace import Trace
from hsd_viz.words import counted

#: Share of repeated tokens from which a run is called repetitive, as in bench reports.
REPETITIVE = 0.2
STOPS = {"eos": "end of text", "context": "context full", "cancelled": "cancelled", "length": "token limit"}


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """The speed-up over plain decoding: the median over ``pairs`` of runs, with the smallest and the largest."""

    value: float
    low: float
    high: float
    pairs: int
    impossible: bool


def speedup(trace: Trace, figures: dict[str, Any] | None = None) -> SpeedUp | None:
    """Return the speed-up over the plain runs measured with this one, ``None`` without any (``meta["plain"]``)."""
    m = figures or trace.metrics()
    plain, speed = trace.meta.get("plain") or {}, m["tokens_per_second"]
    alone = plain.get("tokens_per_second")
    if not alone or not speed:
        return None
    pairs = plain.get("speedups") or [speed / alone]
    value = median(pairs)
    return SpeedUp(value, min(pairs), max(pairs), len(pairs), impossible(value, m["mean_acceptance_length"]))


def verdict(trace: Trace) -> str:
    """Return the verdict as one line; "" without tokens."""
    m = trace.metrics()
    if not m["tokens"]:
        return ""
    found = speedup(trace, m)
    parts = [*_gain(found, m), *(_spread(trace.meta, found) if found else []), *_doubts(trace.meta, m)]
    return " ".join(parts)


def _gain(found: SpeedUp | None, m: dict[str, Any]) -> Iterator[str]:
    """Yield the yield of a round against its break-even, its cost in plain steps."""
    if found is None or not m["rounds"]:
        return
    length = m["tokens"] / m["rounds"]
    if found.impossible:
        yield f"No speed-up: {found.value:.2f}× at {length:.1f} tokens per round is impossible; timings were disturbed."
        return
    yield f"{found.value:.2f}×: a round cost {length / found.value:.1f} plain steps and brought {length:.1f} tokens."


def _spread(meta: dict[str, Any], found: SpeedUp) -> Iterator[str]:
    if found.pairs > 1:
        yield f"{found.low:.2f}–{found.high:.2f}× over {found.pairs} pairs of runs."
    elif isinstance(best := meta.get("fastest_of"), int) and best > 1:
        yield f"Fastest of {best} runs; spread not recorded."
    else:
        yield "One pair of runs: spread unknown."


def _doubts(meta: dict[str, Any], m: dict[str, Any]) -> Iterator[str]:
    plain = meta.get("plain") or {}
    load, cores = plain.get("load_average"), plain.get("cores")
    if load and cores and load > cores:
        yield f"Busy machine: load {load:.1f} on {counted(cores, 'core')}."
    if (m["repetition_share"] or 0) >= REPETITIVE:
        yield f"Repetitive: {m['repetition_share']:.0%} of tokens end a repeated 8-gram, which favours drafting."
    stop = "cancelled" if meta.get("cancelled") else str(meta.get("stop_reason") or "")
    if stop in STOPS:
        yield f"Stopped: {STOPS[stop]}."
