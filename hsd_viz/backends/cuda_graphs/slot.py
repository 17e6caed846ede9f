"""Work captured once and replayed, which is all that needs a GPU here, and buffers for one decode at a time with it."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from hsd_viz.backends.cuda_graphs.buffers import Layout, StaticCache
from hsd_viz.backends.cuda_graphs.forward import Feed, Forward, Rules
from hsd_viz.backends.cuda_graphs.strict import StrictFeed
from hsd_viz.backends.device import Shapes
from hsd_viz.decoding.cache import capacity
from hsd_viz.words import first_line

#: Graphs kept per slot. Widths, buckets and settings of sampling make many over the days of a server; the one not used
#: longest goes.
MOST = 64

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
    :class:`Slot`).
    """

    # Only one capture may be under way in a process.
    _alone = threading.Lock()

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream(device)

    def capture(self, work: Work) -> _CudaGraph:
        graph = torch.cuda.CUDAGraph()
        with self._alone, torch.cuda.device(self._device):
            before = torch.cuda.current_stream()
            self._stream.wait_stream(before)
            # Once on the side: libraries take their work space and compiled kernels are loaded while that is still
            # allowed.
            with torch.cuda.stream(self._stream), Capturable():
                work()
            before.wait_stream(self._stream)
            collecting = gc.isenabled()
            gc.disable()
            try:
                with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
                    outputs = work()
            except BaseException:
                self._abandon()
                raise
            finally:
                # torch does not come back to the former stream where ending a capture fails.
                torch.cuda.set_stream(before)
                if collecting:
                    gc.enable()
        return _CudaGraph(graph, outputs)

    def _abandon(self) -> None:
        """Take a fresh pool after a failed capture: torch before 2.9 leaves the old one recording all allocations."""
        with suppress(Exception):  # it was not recording
            torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), self._pool)
        self._pool = torch.cuda.graph_pool_handle()


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


class Replays:
    """What a model's slots share: how work is captured (``None``: it is called each time), and the result.

    ``reason`` is why some work could not be captured, ``None`` where nothing failed.
    """

    def __init__(self, capturer: Capturer | None) -> None:
        self.capturer = capturer
        self.reason: str | None = None
        self.captures = 0
        # A replay and the copying of its outputs belong together, and no replay may run beside the first run of other
        # work on the capturer's own stream: see CudaCapturer.
        self.lock = threading.Lock()


class Slot:
    """Static buffers for one sequence of the model ``name``. What is done over them is captured, then replayed.

    ``forward`` and ``rules`` are the model's forward pass and which positions its layers attend to, ``positions`` its
    longest text, ``strict`` the width of every forward pass in strict mode (0: another mode).
    """

    def __init__(
        self,
        name: str,
        forward: Forward,
        rules: Rules,
        positions: int | None,
        layout: Layout,
        device: torch.device,
        replays: Replays,
        strict: int = 0,
    ) -> None:
        self.name, self.forward, self.rules, self.positions, self.device = name, forward, rules, positions, device
        self.strict = strict
        self._replays = replays
        self.cache = StaticCache(layout, capacity(1), device)
        forward.prepare(self.cache)
        self._feeds: dict[int, Feed] = {}
        self._strict_feeds: dict[int, StrictFeed] = {}
        self._chances: dict[int, Tensor] = {}
        self._transfers: dict[tuple, tuple[Tensor, Shapes]] = {}
        self._captured: dict[tuple, Captured] = {}
        self._refused: set[tuple] = set()
        self._asked: Counter[tuple] = Counter()
        self.dropped = False

    def feed(self, width: int) -> Feed:
        """The feed of that width, always the same one."""
        if width not in self._feeds:
            self._feeds[width] = Feed(width, self.device)
        return self._feeds[width]

    def strict_feed(self, bucket: int) -> StrictFeed:
        """The feed of strict mode for a bucket, always the same one."""
        if bucket not in self._strict_feeds:
            self._strict_feeds[bucket] = StrictFeed(self.strict, bucket, self.device)
        return self._strict_feeds[bucket]

    def chances(self, n: int) -> Tensor:
        """Room for ``n`` uniform numbers ``[n]``, always the same."""
        if n not in self._chances:
            self._chances[n] = torch.zeros(n, dtype=torch.float64, device=self.device)
        return self._chances[n]

    def transfer(self, key: tuple, numbers: Tensor, shapes: Shapes) -> None:
        """Copy ``numbers`` to the host without waiting, for :meth:`received`: always to the same place."""
        if key not in self._transfers:
            on_gpu = self.device.type == "cuda"
            self._transfers[key] = torch.empty(len(numbers), dtype=torch.float64, pin_memory=on_gpu), shapes
        self._transfers[key][0].copy_(numbers, non_blocking=True)

    def received(self, key: tuple) -> tuple[list[float], Shapes]:
        """Wait for what was transferred last and return it."""
        numbers, shapes = self._transfers[key]
        if self.device.type == "cuda":
            done = torch.cuda.Event()
            done.record()
            done.synchronize()
        return numbers.tolist(), shapes

    def reserve(self, length: int) -> None:
        """Make room for ``length`` places; what is cached stays."""
        if length > self.cache.capacity:
            # Graphs write where the buffers were when they were captured.
            self._captured.clear()
            self._refused.clear()
            self._asked.clear()
            self.cache.grow(capacity(length))
            self.forward.prepare(self.cache)

    @property
    def captures(self) -> bool:
        """Whether work is captured at all."""
        return self._replays.capturer is not None

    def captured(self) -> list[tuple]:
        """The names of all that was captured."""
        return list(self._captured)

    def asked(self, key: tuple) -> int:
        """Count a request for the work ``key``; returns how many there were."""
        self._asked[key] += 1
        return self._asked[key]

    def run(self, key: tuple, work: Work) -> tuple[Tensor, ...]:
        """Do ``work`` over static tensors, captured at the first time. The results are the caller's own."""
        replays = self._replays
        captured = self._captured.pop(key, None)
        if captured is None:
            if replays.capturer is None or key in self._refused:
                return work()
            try:
                with replays.lock:
                    captured = replays.capturer.capture(work)
            except RuntimeError as error:
                self._refused.add(key)
                if replays.reason is None:
                    replays.reason = f"{key} cannot be captured: {first_line(error)}"
                return work()
            replays.captures += 1
            if len(self._captured) >= MOST:
                del self._captured[next(iter(self._captured))]
        # The order of use: the last one at the end.
        self._captured[key] = captured
        with replays.lock:
            captured.replay()
            return tuple(output.clone() for output in captured.outputs)

    def drop(self) -> None:
        """Release all memory; the slot cannot be used afterwards."""
        self.dropped = True
        self._captured.clear()
        self._feeds.clear()
        self._strict_feeds.clear()
        self._transfers.clear()
        self.cache.blocks.clear()
        for layer in self.cache.layers:
            layer.keys = layer.values = None
