"""Measure the times at which steps on a device ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def works_beside(device: torch.device) -> bool:
    """Return whether a device works asynchronously, while the host does something else."""
    return device.type == "cuda"


class Clock:
    """The times at which steps ended, in the time of the decode.

    On a GPU they are measured by events, which can be read once all steps have ended.
    """

    def __init__(self, device: torch.device, now: Callable[[], int]) -> None:
        self._on_gpu = device.type == "cuda"
        self._now = now
        self.start()

    def start(self) -> None:
        """Start measuring, while nothing runs on the device."""
        self.started = self._now()
        self._first = self.mark()

    def mark(self) -> Any:
        """Return a mark of the time at which all steps so far end."""
        if not self._on_gpu:
            return self._now()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def time_of(self, mark: Any) -> int:
        """Return the time of a mark in ns."""
        if not self._on_gpu:
            return mark
        return self.started + int(self._first.elapsed_time(mark) * 1e6)
