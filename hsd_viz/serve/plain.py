"""The service without Ray: the web application and one engine in this process."""

import signal
import sys
from contextlib import suppress
from typing import Any

import uvicorn

from hsd_viz.listen import url
from hsd_viz.serve.app import Settings, create_app
from hsd_viz.serve.worker import load_worker


class _Server(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        """Listen, and print the address."""
        await super().startup(sockets)
        if self.started:
            print(f"engine: {url(self.config.host, self.config.port)} (Ctrl-C to stop)", flush=True)


def run(host: str, port: int, settings: dict[str, Any], engine: dict[str, Any]) -> int:
    """Serve until Ctrl-C or SIGTERM. ``settings`` are fields of :class:`~hsd_viz.serve.app.Settings`, ``engine``
    arguments of :func:`hsd_viz.engine.local.load_engine`.
    """
    # uvicorn ends at the first signal, then raises it again: SIGTERM would count as a failure.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        print("loading the models", file=sys.stderr, flush=True)
        application = create_app(load_worker(engine), Settings(**settings))
        _Server(uvicorn.Config(application, host, port, log_level="error", access_log=False)).run()
    return 0
