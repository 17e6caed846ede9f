"""The events of a decode in another thread, in batches."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator

from hsd_viz.trace import Event, Step

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
