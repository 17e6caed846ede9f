"""A decode in one thread, its watcher told by another."""

from __future__ import annotations

import sys
import threading
import time
from itertools import count

from make_trace import make_trace

from hsd_viz.engine.replay import ReplayEngine
from hsd_viz.trace import Stage
from hsd_viz.views.runner import Run


class Watcher:
    """Writes down what it is told, in which thread; ``trouble`` is raised at the first steps."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.told, self.threads, self.ends, self._trouble = [], set(), [], trouble

    def _tell(self, name: str) -> None:
        self.told.append(name)
        self.threads.add(threading.current_thread())

    def on_stage(self, stage):
        self._tell(f"stage {stage.text}")

    def on_started(self, started):
        self._tell("started")

    def on_steps(self, steps, trace):
        self._tell(f"{len(steps)} steps of {len(trace)} tokens")
        if self._trouble is not None:
            raise self._trouble

    def on_end(self, trace, error):
        self._tell("end")
        self.ends.append((trace, error))


def replayed() -> list:
    return list(ReplayEngine(pace=0).replay(make_trace()))


def test_the_watcher_is_told_all_in_order_by_one_thread_that_does_not_decode():
    decoding = []

    def events():
        decoding.append(threading.current_thread())
        yield Stage("loading")
        yield from replayed()

    watcher = Watcher()
    assert Run(events, watcher).join(30)
    assert watcher.told[0] == "stage loading" and watcher.told[-1] == "end"
    assert watcher.told.index("started") < watcher.told.index("2 steps of 3 tokens")
    assert len(watcher.threads) == 1 and watcher.threads.isdisjoint({*decoding, threading.current_thread()})
    ((trace, error),) = watcher.ends
    assert error is None and len(trace) == 3


def test_trouble_of_the_watcher_ends_the_decode():
    closed = threading.Event()

    def events():
        _stage, started, step, *_ = replayed()
        yield started
        try:
            for _ in count():
                time.sleep(0.001)
                yield step
        finally:
            closed.set()

    trouble = ValueError("the page is gone")
    watcher = Watcher(trouble)
    assert Run(events, watcher).join(30)
    assert closed.is_set()
    ((_trace, error),) = watcher.ends
    assert error is trouble


def test_what_was_decoded_before_an_error_is_told_and_kept():
    def events():
        _stage, started, step, *_ = replayed()
        yield started
        yield step
        raise RuntimeError("out of memory")

    watcher = Watcher()
    assert Run(events, watcher).join(30)
    assert "1 steps of 2 tokens" in watcher.told
    ((trace, error),) = watcher.ends
    assert str(error) == "out of memory" and len(trace) == 2


def test_an_error_before_anything_began_leaves_no_trace():
    def events():
        raise ValueError("no such model")
        yield

    watcher = Watcher()
    assert Run(events, watcher).join(30)
    ((trace, error),) = watcher.ends
    assert trace is None and str(error) == "no such model" and watcher.told == ["end"]


def test_threads_take_turns_quickly_while_a_run_goes_on_and_as_before_after_it():
    before, during, both = sys.getswitchinterval(), [], threading.Barrier(2, timeout=30)

    def events():
        both.wait()  # neither has ended when the other begins
        during.append(sys.getswitchinterval())
        both.wait()
        yield from replayed()

    runs = [Run(events, Watcher()) for _ in range(2)]
    assert all(run.join(30) for run in runs)
    assert max(during) < before and sys.getswitchinterval() == before
