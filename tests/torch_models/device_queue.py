"""A device that works as late as a GPU may: no work is done before the host waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from hsd_viz.torch_models import ahead
from hsd_viz.torch_models.steps import Board, DeviceStep


@dataclass(slots=True)
class Work:
    """A piece of work for the device.

    Attributes:
        kind: the kind of work: ``"step"``, ``"send"``, ``"copy"`` or ``"mark"``.
        do: the function that does the work.
    """

    kind: str
    do: Callable[[], None]


@dataclass(slots=True)
class Mark:
    """A timestamp that the device writes.

    Attributes:
        ns: the time in nanoseconds; ``None`` before the device reaches it.
    """

    ns: int | None = None


class DeviceQueue:
    """The work that decodes have put on the device, in order.

    Attributes:
        waiting: the work that is not done yet.
    """

    def __init__(self) -> None:
        self.waiting: deque[Work] = deque()

    def put(self, kind: str, do: Callable[[], None]) -> Work:
        work = Work(kind, do)
        self.waiting.append(work)
        return work

    def run_to(self, last: Work) -> None:
        """Do the waiting work up to ``last``; if that is done, do nothing."""
        with torch.no_grad():
            while any(work is last for work in self.waiting):
                self.waiting.popleft().do()

    def steps(self) -> int:
        """Return the number of waiting steps."""
        return sum(work.kind == "step" for work in self.waiting)

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make all decodes use this queue."""
        own_run = Board.run
        own_send = Board.send
        own_fetch = Board.fetch

        def run(board: Board, step: DeviceStep) -> None:
            self.put("step", lambda: own_run(board, step))

        def send(board: Board, values: Sequence[float], to: Tensor, start: int = 0) -> None:
            sent = list(values)
            self.put("send", lambda: own_send(board, sent, to, start))

        def fetch(board: Board, lines: int) -> Callable[[], np.ndarray]:
            copies: list[Callable[[], np.ndarray]] = []
            copy = self.put("copy", lambda: copies.append(own_fetch(board, lines)))

            def wait() -> np.ndarray:
                self.run_to(copy)
                return copies[0]()

            return wait

        monkeypatch.setattr(Board, "run", run)
        monkeypatch.setattr(Board, "send", send)
        monkeypatch.setattr(Board, "fetch", fetch)
        monkeypatch.setattr(ahead, "works_beside", lambda device: True)
        monkeypatch.setattr(ahead, "Clock", lambda device, now: QueueClock(self, now))


class QueueClock:
    """Stands for :class:`hsd_viz.torch_models.clock.Clock` on a GPU, whose events cannot be read
    before they are reached.
    """

    def __init__(self, queue: DeviceQueue, now: Callable[[], int]) -> None:
        self._queue = queue
        self._now = now
        self.started = 0

    def start(self) -> None:
        assert not self._queue.steps(), "the time on the device begins while it still works"
        self.started = self._now()

    def mark(self) -> Mark:
        mark = Mark()

        def reach() -> None:
            mark.ns = self._now()

        self._queue.put("mark", reach)
        return mark

    def time_of(self, mark: Mark) -> int:
        assert mark.ns is not None, "an event is read before the device came to it"
        return mark.ns
