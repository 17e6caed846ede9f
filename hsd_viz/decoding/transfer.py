"""Between the host and a device that works on its own: sending without waiting, and timing what is not over yet."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def put(values: Sequence, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """A list (of lists) as a tensor on ``device``; the host does not wait for the copy, nor for the work queued before it.

    An ordinary ``torch.tensor(values, device="cuda")`` waits for everything the device has still to do, because its source
    may vanish. Page-locked memory is kept by torch's allocator until the copy is over.
    """
    if device.type != "cuda":
        return torch.tensor(values, dtype=dtype, device=device)
    return torch.tensor(values, dtype=dtype, pin_memory=True).to(device, non_blocking=True)


def fill(target: Tensor, values: Sequence) -> None:
    """Overwrite ``target`` with a list of its length; the host does not wait, the device does it in its turn."""
    on_gpu = target.device.type == "cuda"
    target.copy_(torch.tensor(values, dtype=target.dtype, pin_memory=on_gpu), non_blocking=on_gpu)


class CudaTimer:
    """Time that a CUDA device spends between now and :meth:`stop`, on the current stream."""

    def __init__(self) -> None:
        self._start, self._end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self._start.record()

    def stop(self) -> None:
        self._end.record()

    def ns(self) -> int:
        """Nanoseconds between the two marks. Waits for the second one, where the device has not reached it."""
        self._end.synchronize()
        return round(self._start.elapsed_time(self._end) * 1e6)
