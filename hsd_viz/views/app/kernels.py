"""Management of the kernels of served pages: each is shut down soon after its page is closed.

A kernel holds about 200 MB, and the message of a closing page may be lost (sleep, killed browser).
Therefore the connection decides: a kernel with an open page is never shut down, and one without is
shut down even during a run. The preheated kernel stays. On a server where visitors take turns, a
closed page frees its place after some seconds, within which a reload returns to it, and an
abandoned page frees its place when another visitor waits.

Imported only by the process of Voilà, as configured by :func:`hsd_viz.views.app.server.command`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import traitlets
from jupyter_core.utils import ensure_async
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.web import HTTPError

#: Niceness of kernels if many pages share the machine.
NICE = 10
#: Seconds within which a closed page may come back, since a reload closes it, too.
RETURN_SECONDS = 4.0
#: Seconds for a browser to connect to the kernel of the page that it received.
CONNECT_SECONDS = 60.0
#: Number of most recent ends of pages that are stored, to estimate the next end.
_REMEMBERED = 20


class PageKernels(AsyncMappingKernelManager):
    """Jupyter's kernel manager with another rule for culling: ``cull_idle_timeout`` counts the
    seconds without a page.

    Jupyter counts from the last message, and would shut down a preheated kernel while its first
    page loads.
    """

    pages = traitlets.Int(
        0, help="the most kernels, one more is refused with 503; 0: no limit"
    ).tag(config=True)
    #: Time (``time.monotonic()``) since which each started kernel has no page.
    _left: traitlets.Dict[str, float] = traitlets.Dict()
    #: The task that started each kernel, weakly referenced: Voilà's pool holds it until a visitor
    #: takes the kernel.
    _starts = traitlets.Instance(WeakValueDictionary, ())
    #: The process id of each kernel at its start. A restarted process has no widgets.
    _processes = traitlets.Dict()
    #: The kernels whose page reported that it was closed.
    _closed = traitlets.Set()
    #: Times (``time.monotonic()``) of the latest ends of pages.
    _ends: traitlets.List[float] = traitlets.List()

    async def start_kernel(self, **kwargs: Any) -> str:  # type: ignore[override]
        """Start a kernel.

        Raises:
            HTTPError: 503 if all pages are in use.
        """
        if self.pages and len(self.list_kernel_ids()) >= self.pages:
            raise HTTPError(
                503,
                reason=f"all {self.pages} pages of this server are in use: try again in a minute",
            )
        kernel = await super().start_kernel(**kwargs)
        if self.pages:
            # Lower the priority, so that thirty starting pages leave the processor to the server.
            process = self._process(kernel)
            if process is not None:
                with suppress(AttributeError, OSError):
                    os.setpriority(os.PRIO_PROCESS, process, NICE)
        self._left[kernel] = time.monotonic()
        self._processes[kernel] = self._process(kernel)
        if task := asyncio.current_task():
            self._starts[kernel] = task
        return kernel

    def notify_connect(self, kernel_id: str) -> None:
        """Record that a page is open."""
        self._left.pop(kernel_id, None)
        self._closed.discard(kernel_id)
        super().notify_connect(kernel_id)

    def notify_disconnect(self, kernel_id: str) -> None:
        """Record that the connection of a page was closed."""
        super().notify_disconnect(kernel_id)
        if kernel_id in self:
            self._left[kernel_id] = time.monotonic()

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """Shut down the kernel if it has had no page for ``cull_idle_timeout`` seconds."""
        if self._kernel_connections.get(kernel_id, 0) > 0 or kernel_id not in self._left:
            return
        if self._awaits_visitor(kernel_id):
            self._left[kernel_id] = time.monotonic()
        elif time.monotonic() - self._left[kernel_id] >= self.cull_idle_timeout:
            del self._left[kernel_id]
            await ensure_async(self.shutdown_kernel(kernel_id))

    def give(self, kernel_id: str) -> None:
        """Record that the page of a kernel was sent to a visitor, whose browser will connect
        soon.
        """
        if self._kernel_connections.get(kernel_id, 0) == 0:
            self._left[kernel_id] = time.monotonic() + CONNECT_SECONDS - RETURN_SECONDS
        self._closed.discard(kernel_id)

    def close(self, kernel_id: str) -> None:
        """Record that the page of a kernel reported its closing, which a reload does, too."""
        if kernel_id in self:
            self._closed.add(kernel_id)
            self._left[kernel_id] = time.monotonic()

    async def release(self, waiting: int) -> None:
        """Shut down the kernels of closed pages and, if visitors wait, of the longest abandoned
        pages.

        A page that lost its connection without a message (sleep, a killed browser) keeps its
        kernel for ``cull_idle_timeout`` seconds unless another visitor waits.
        """
        now = time.monotonic()
        for kernel_id in sorted(self._left, key=self._left.__getitem__):
            needed = kernel_id in self._closed or waiting > self.pages - self._taken()
            if now - self._left[kernel_id] < RETURN_SECONDS or not needed:
                continue
            if self._kernel_connections.get(kernel_id, 0) > 0 or self._awaits_visitor(kernel_id):
                continue
            del self._left[kernel_id]
            if kernel_id in self:
                await ensure_async(self.shutdown_kernel(kernel_id))

    def seconds_to_wait(self, place: int) -> float | None:
        """Estimate the waiting time of the visitor at a place in the queue from the latest ends of
        pages, in seconds.

        Return ``None`` if fewer than two pages have ended.
        """
        if len(self._ends) < 2:
            return None
        between = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        return place * between

    def _taken(self) -> int:
        """Return the number of kernels that visitors use or have left only recently."""
        return sum(not self._awaits_visitor(kernel_id) for kernel_id in self.list_kernel_ids())

    def ready(self) -> int:
        """Return the number of warm kernels with a rendered page that wait for visitors.

        If there is room, also start the kernels that could not start while all pages were in use.
        """
        count = 0
        for notebook, pool in getattr(self, "_pools", {}).items():
            for task in [task for task in pool if task.done()]:
                if _failed(task):
                    pool.remove(task)
                else:
                    count += task.result()["task"].done()
            starting = sum(not task.done() for task in pool)
            if len(self.list_kernel_ids()) + starting < self.pages:
                self._fill(notebook_name=notebook)
        return count

    async def replace_dead(self) -> None:
        """Replace the kernels in Voilà's pools whose process has ended.

        Otherwise a visitor would get a page without a kernel.
        """
        for notebook, pool in getattr(self, "_pools", {}).items():
            rendered = [task for task in pool if task.done() and not _failed(task)]
            for task in rendered:
                kernel = task.result()["kernel_id"]
                if await self.lives(kernel) or task not in pool:
                    continue
                pool.remove(task)
                if kernel in self:
                    await ensure_async(self.shutdown_kernel(kernel, now=True))
                self._fill(delay=0, notebook_name=notebook)

    @property
    def _fill(self) -> Callable[..., None]:
        """Return the method that starts the kernels which Voilà's pool of a notebook lacks. Voilà
        adds it to the class of its kernel manager, which it derives from this one.
        """
        manager: Any = self
        return manager.fill_if_needed

    def all_in_use(self) -> bool:
        """Return whether visitors use all pages, so that no kernel is or will be warm."""
        return bool(self.pages) and self._taken() >= self.pages

    async def lives(self, kernel_id: str) -> bool:
        """Return whether the process that rendered the kernel's page is still running."""
        if kernel_id not in self or self._process(kernel_id) != self._processes.get(kernel_id):
            return False
        return bool(await ensure_async(self.get_kernel(kernel_id).is_alive()))

    def _process(self, kernel_id: str) -> int | None:
        return getattr(self.get_kernel(kernel_id).provisioner, "pid", None)

    def remove_kernel(self, kernel_id: str) -> Any:
        """Remove the records of a kernel that was shut down."""
        self._processes.pop(kernel_id, None)
        self._closed.discard(kernel_id)
        self._left.pop(kernel_id, None)
        self._ends = [*self._ends, time.monotonic()][-_REMEMBERED:]
        return super().remove_kernel(kernel_id)

    def _awaits_visitor(self, kernel_id: str) -> bool:
        """Return whether the kernel is in Voilà's pool."""
        task = self._starts.get(kernel_id)
        failed = task is not None and task.done() and _failed(task)
        return not failed and any(task in pool for pool in getattr(self, "_pools", {}).values())


def _failed(task: asyncio.Task) -> bool:
    """Return whether a finished task has no result."""
    return task.cancelled() or task.exception() is not None
