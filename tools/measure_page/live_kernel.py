"""The kernel side of tools/measure_page: a dashboard that decodes everything twice, with and
without a viewer.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd_viz import load_engine
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine.local import LocalEngine
from hsd_viz.trace import Event, Finished, Started, Trace

#: The environment variable that names the file for the rates, a JSON object a line.
PLACE = "HSD_VIZ_MEASURED"
PROMPT = "def main("
#: The longest run of the page.
MAX_TOKENS = 2000
#: Seconds of quiet between the two decodes of a pair.
BETWEEN = 0.5


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run on the page, up to the context of the models; greedy, so that both decodes of a pair
    write the same text.
    """

    stack: str
    temperature: float
    tokens: int
    seed: int = 0

    @property
    def words(self) -> str:
        return f"{self.stack}, T = {self.temperature:g}"


RUNS = (
    LiveRun("target", 0.0, MAX_TOKENS),
    LiveRun("nano:4 > target", 0.0, MAX_TOKENS),
    LiveRun("nano:4 > small:8 > target", 0.0, MAX_TOKENS),
)


class Paired:
    """An engine that decodes every run a second time without a viewer, alternately before and
    after, and records both rates.
    """

    def __init__(self, engine: LocalEngine, path: Path) -> None:
        self._engine = engine
        self._path = path
        self._runs = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def events(self, prompt: str, stack: str, options: DecodingOptions) -> Iterator[Event]:
        first = self._runs % 2 == 0
        self._runs += 1
        rates: dict[str, float] = {}
        if first:
            rates |= self._alone(prompt, stack, options)
            time.sleep(BETWEEN)
        yield from _timed(self._engine.events(prompt, stack, options), "watched", rates)
        if not first:
            time.sleep(BETWEEN)
            rates |= self._alone(prompt, stack, options)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rates) + "\n")

    def _alone(self, prompt: str, stack: str, options: DecodingOptions) -> dict[str, float]:
        rates: dict[str, float] = {}
        for _event in _timed(self._engine.events(prompt, stack, options), "alone", rates):
            pass
        return rates


def _timed(events: Iterator[Event], name: str, rates: dict[str, float]) -> Iterator[Event]:
    """Yield the events and store the tokens per second from first to last in ``rates``, by wall
    clock and by CPU time of this thread.

    CPU time excludes other processes. The time that the consumer spends on an event counts.
    """
    for event in events:
        if isinstance(event, Started):
            begun = time.perf_counter()
            spent = time.thread_time()
        if isinstance(event, Finished):
            rates["tokens"] = len(event.trace)
            rates[name] = rates["tokens"] / (time.perf_counter() - begun)
            rates[f"{name}_processor"] = rates["tokens"] / (time.thread_time() - spent)
        yield event


def paired_dashboard():
    """Return the dashboard over such an engine. Models are compiled before it opens."""
    import hsd_viz as hsd

    engine = load_engine(threads=1)
    engine.wait_ready()
    return hsd.dashboard(engine=Paired(engine, Path(os.environ[PLACE])))


def long_trace(stack: str, tokens: int) -> Trace:
    """Return a trace of ``tokens`` tokens, the prompt included: runs at temperature 1, one after
    another, because the models' context is shorter.
    """
    engine = load_engine(threads=1)
    trace = engine.run(PROMPT, stack, max_new_tokens=MAX_TOKENS, temperature=1.0)
    start = len(trace.meta["prompt_ids"])
    seed = 0
    while remaining := tokens - start - len(trace):
        seed += 1
        run = engine.run(
            PROMPT, stack, max_new_tokens=min(MAX_TOKENS, remaining), temperature=1.0, seed=seed
        )
        rounds = 1 + max(trace.columns["rounds"]["id"])
        wall = trace.meta["wall_ns"]
        shifts = {
            "index": len(trace),
            "position": len(trace),
            "start_ns": wall,
            "parent": rounds,
            "id": rounds,
        }
        for name, columns in run.columns.items():
            # The parent of a draft token is one of its round; calls before the first round have
            # none.
            own = (
                shifts | {"round": rounds}
                if name != "drafts"
                else shifts | {"round": rounds, "parent": 0}
            )
            for column, values in columns.items():
                shift = own.get(column, 0)
                more = [
                    value + shift if shift and value not in (None, -1) else value
                    for value in values
                ]
                trace.columns[name][column] += more
        trace.pieces.update(run.pieces)
        trace.meta |= {"wall_ns": wall + run.meta["wall_ns"], "max_new_tokens": len(trace)}
    return trace
