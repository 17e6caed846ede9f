"""Capturing work once and replaying it: the only part of this runtime that needs a GPU."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

Work = Callable[[], tuple[Tensor, ...]]


class Captured(Protocol):
    """Work that can be done again over the same memory. ``outputs`` are overwritten by every replay."""

    outputs: tuple[Tensor, ...]

    def replay(self) -> None: ...


class Capturer(Protocol):
    """Captures work. Raises ``RuntimeError`` for work that cannot be."""

    def capture(self, work: Work) -> Captured: ...


class _CudaGraph:
    def __init__(self, graph: torch.cuda.CUDAGraph, outputs: tuple[Tensor, ...]) -> None:
        self._graph = graph
        self.outputs = outputs

    def replay(self) -> None:
        self._graph.replay()


class CudaCapturer:
    """CUDA graphs of one model. They share one pool of memory, for they never run at the same time.

    Graphs of one pool may put their passing results, and even their outputs, into the same places: a replay and the
    copying of its outputs must follow each other on one stream with no other replay between (see
    :class:`~hsd_viz.backends.cuda_graphs.slot.Slot`). ``compiled`` work is not checked before: torch.compile falls back
    under a dispatch mode.
    """

    # Only one capture may be under way in a process.
    _alone = threading.Lock()

    def __init__(self, device: torch.device, compiled: bool = False) -> None:
        self._device = device
        self._compiled = compiled
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream(device)

    def capture(self, work: Work) -> _CudaGraph:
        graph = torch.cuda.CUDAGraph()
        with self._alone, torch.cuda.device(self._device):
            before = torch.cuda.current_stream()
            self._stream.wait_stream(before)
            # Once on the side: libraries take their work space and compiled kernels are loaded while that is still
            # allowed.
            with torch.cuda.stream(self._stream), nullcontext() if self._compiled else Capturable():
                work()
            before.wait_stream(self._stream)
            collecting = gc.isenabled()
            gc.disable()
            try:
                with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
                    outputs = work()
            finally:
                # torch does not come back to the former stream where ending a capture fails.
                torch.cuda.set_stream(before)
                if collecting:
                    gc.enable()
        return _CudaGraph(graph, outputs)


class Capturable(TorchDispatchMode):
    """Raises ``RuntimeError`` at the first operation that makes the host wait or whose result's shape depends on the
    data.

    Such work cannot be captured. A failed capture is costly to clean up, so it is better found in an ordinary run.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        # What is made of other operations is judged by them.
        with self:
            whole = func.decompose(*args, **kwargs)
        if whole is not NotImplemented:
            return whole
        tags, found = func.tags, None
        if torch.Tag.data_dependent_output in tags:
            found = "reads a number back from the device"
        elif func is torch.ops.aten.index.Tensor:
            if any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1]):
                found = "selects by a mask"
        elif torch.Tag.dynamic_output_shape in tags:
            found = "makes a result whose size depends on the data"
        if found:
            raise RuntimeError(f"it {found} ({func})")
        return func(*args, **kwargs)
