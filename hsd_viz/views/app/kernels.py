"""Kernels of served pages: each is shut down soon after its page is closed.

The message of a closing page may be lost (reload, sleep, killed browser), and a kernel holds about 200 MB. The
connection decides: a kernel with an open page is never shut down; one without is, even during a run. The preheated
kernel stays.

Imported only by Voilà's process, as configured by :func:`hsd_viz.views.app.server.command`.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import traitlets
from jupyter_core.utils import ensure_async
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.web import HTTPError

#: The niceness of kernels where many pages share the machine.
NICE = 10


class PageKernels(AsyncMappingKernelManager):
    """Jupyter's kernel manager with another culler: ``cull_idle_timeout`` counts seconds without a page.

    Jupyter counts from the last message, so it would shut down a preheated kernel while its first page loads.
    """

    pages = traitlets.Int(
        0, help="the most kernels, one more is refused with 503; 0: no limit"
    ).tag(config=True)
    #: ``time.monotonic()`` since when a kernel that has started has no page.
    _left = traitlets.Dict()
    #: The task that started a kernel, as long as it is needed: of Voilà's pool until a visitor takes it.
    _starts = traitlets.Instance(WeakValueDictionary, ())
    #: The process of each kernel when it started: another one, after a restart, has no widgets.
    _processes = traitlets.Dict()

    async def start_kernel(self, **kwargs: Any) -> str:
        """Start a kernel. Raises: HTTPError: 503 if all pages are in use."""
        if self.pages and len(self.list_kernel_ids()) >= self.pages:
            raise HTTPError(
                503,
                reason=f"all {self.pages} pages of this server are in use: try again in a minute",
            )
        kernel = await super().start_kernel(**kwargs)
        if self.pages:
            # Thirty pages that start leave the processor to the server, which answers all of them.
            with suppress(AttributeError, OSError):
                os.setpriority(os.PRIO_PROCESS, self.get_kernel(kernel).provisioner.pid, NICE)
        self._left[kernel] = time.monotonic()
        self._processes[kernel] = self._process(kernel)
        if task := asyncio.current_task():
            self._starts[kernel] = task
        return kernel

    def notify_connect(self, kernel_id: str) -> None:
        """Note that a page is open."""
        self._left.pop(kernel_id, None)
        super().notify_connect(kernel_id)

    def notify_disconnect(self, kernel_id: str) -> None:
        """Note that a page was closed."""
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

    def ready(self) -> int:
        """Return how many warm kernels with a rendered page wait for visitors. One that could not start, because all
        pages were in use, is started again when there is room.
        """
        count = 0
        for notebook, pool in getattr(self, "_pools", {}).items():
            for task in [one for one in pool if one.done()]:
                if _failed(task):
                    pool.remove(task)
                    if len(self.list_kernel_ids()) < self.pages:
                        self.fill_if_needed(notebook_name=notebook)
                else:
                    count += task.result()["task"].done()
        return count

    async def replace_dead(self) -> None:
        """Start kernels in the places of those in Voilà's pools whose process ended.

        A visitor would get a page without a kernel.
        """
        for notebook, pool in getattr(self, "_pools", {}).items():
            rendered = [task for task in pool if task.done() and not _failed(task)]
            for task in rendered:
                kernel = task.result()["kernel_id"]
                if await self._lives(kernel) or task not in pool:
                    continue
                pool.remove(task)
                if kernel in self:
                    await ensure_async(self.shutdown_kernel(kernel, now=True))
                self.fill_if_needed(delay=0, notebook_name=notebook)

    async def _lives(self, kernel_id: str) -> bool:
        """Return whether the process that rendered the kernel's page still runs."""
        if kernel_id not in self or self._process(kernel_id) != self._processes.get(kernel_id):
            return False
        return bool(await ensure_async(self.get_kernel(kernel_id).is_alive()))

    def _process(self, kernel_id: str) -> int | None:
        return getattr(self.get_kernel(kernel_id).provisioner, "pid", None)

    def remove_kernel(self, kernel_id: str) -> Any:
        """Forget a kernel that was shut down."""
        self._processes.pop(kernel_id, None)
        return super().remove_kernel(kernel_id)

    def _awaits_visitor(self, kernel_id: str) -> bool:
        """Return whether the kernel is in Voilà's pool."""
        task = self._starts.get(kernel_id)
        failed = task is not None and task.done() and _failed(task)
        return not failed and any(task in pool for pool in getattr(self, "_pools", {}).values())


def _failed(task: asyncio.Task) -> bool:
    """Return whether a task that is done has no result."""
    return task.cancelled() or task.exception() is not None
