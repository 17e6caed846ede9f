"""Kernels of served pages: each ends soon after its page has gone.

A page that is closed tells the server so, but the message may be lost (a reload, a closed lid, a killed browser), and a kernel holds
some 200 MB. What counts here is the connection: a kernel with an open page is never ended, be it idle or not; one without is, even where
a run of its goes on, which nobody sees. The kernel that waits for the next visitor has no page yet, and stays.

Imported by Voilà's process alone, as the configuration that :func:`hsd_viz.views.app.server.command` writes asks for.
"""

from __future__ import annotations

import time
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager


class PageKernels(AsyncMappingKernelManager):
    """Jupyter's kernel manager with a culler of its own: ``cull_idle_timeout`` is counted in seconds without a page.

    Jupyter's counts from the last message. A kernel that has waited an hour for its visitor would be ended while the visitor's page loads.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        #: Since when a kernel is known to be without a page, as ``time.monotonic()`` has it.
        self._left: dict[str, float] = {}

    def notify_connect(self, kernel_id: str) -> None:
        self._left.pop(kernel_id, None)
        super().notify_connect(kernel_id)

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """End the kernel if its page went ``cull_idle_timeout`` seconds ago, or never came."""
        if self._kernel_connections.get(kernel_id, 0) > 0 or self._awaits_visitor(kernel_id):
            self._left.pop(kernel_id, None)
            return
        since = self._left.setdefault(kernel_id, time.monotonic())
        if time.monotonic() - since >= self.cull_idle_timeout:
            self._left.pop(kernel_id, None)
            await ensure_async(self.shutdown_kernel(kernel_id))

    def _awaits_visitor(self, kernel_id: str) -> bool:
        """Whether Voilà keeps the kernel in its pool. While one is still being heated, which it is is not known."""
        heating = False
        for pool in getattr(self, "_pools", {}).values():
            for task in pool:
                if not task.done():
                    heating = True
                elif not task.cancelled() and task.exception() is None and task.result().get("kernel_id") == kernel_id:
                    return True
        return heating
