"""A decode in a thread of its own, whose events arrive in batches."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator

from hsd_viz.trace import Event, Step

#: Most seconds that a decode waits for the interpreter lock after a forward pass (Python's default, 5 ms, is several
#: forward passes), and the idle interval, read once because decodes of one process may overlap.
SWITCH, UNHURRIED = 0.0001, sys.getswitchinterval()


def batches(
    events: Callable[[], Iterator[Event]], cancelled: threading.Event, seconds: float = 0.04
) -> Iterator[list[Event]]:
    """Yield the events of a decode: steps about every ``seconds``, others at once, while its forward passes release the
    interpreter lock. Setting ``cancelled`` ends it after its current event, and leaving the generator sets it. Raises
    what the decode raises, after the events before it.
    """
    inbox: deque[Event] = deque()
    urgent, over = threading.Event(), threading.Event()
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
            if found := [inbox.popleft() for _ in range(len(inbox))]:
                yield found
    finally:
        cancelled.set()
    if failed:
        raise failed[0]
