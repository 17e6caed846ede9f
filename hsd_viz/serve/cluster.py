"""The service on Ray Serve: one ingress that owns the queue, and any number of replicas that
decode.
"""

import logging
import math
import signal
import sys
import threading
from collections.abc import AsyncGenerator
from dataclasses import asdict, replace
from typing import Any

from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from hsd_viz.errors import UserError
from hsd_viz.machine import url
from hsd_viz.serve import start
from hsd_viz.serve.app import Page, Record, Settings, create_app, error, load_decode
from hsd_viz.words import first_line

#: Connections that the ingress holds open at a time, refused ones among them, and the name of the
#: application.
CONNECTIONS = 2048
APPLICATION = "hsd_viz"


@serve.deployment(max_ongoing_requests=1)
class Replica:
    """An engine in a process of its own; decodes one request at a time."""

    def __init__(self, options: Record) -> None:
        self._decode = load_decode(options)

    async def decode(self, request: Record) -> AsyncGenerator[list[Record]]:
        """Yield the events of a request in batches of records."""
        async for records in self._decode(request):
            yield records


@serve.deployment(max_ongoing_requests=CONNECTIONS)
@serve.ingress()
class Ingress:
    """The web application; there is one, because it owns the queue."""

    def __init__(self, settings: Record, replicas: DeploymentHandle, page: Page | None) -> None:
        self._settings = Settings(**settings)
        self._replicas = replicas
        self._page = page

    async def decode(self, request: Record) -> AsyncGenerator[list[Record]]:
        """Pass a request to a replica that is free."""
        batches = self._replicas.options(stream=True).decode.remote(request)
        try:
            async for records in batches:
                yield records
        except (RayError, RayServeException):
            yield [error("the worker of this request stopped: send the request again", retry=True)]
        finally:
            batches.cancel()

    def __serve_build_asgi_app__(self) -> Any:
        return create_app(self.decode, self._settings, self._page)


def build(arguments: Record) -> serve.Application:
    """Return the application; the builder that ``serve deploy`` calls. ``arguments``: ``settings``
    (fields of :class:`~hsd_viz.serve.app.Settings`), ``engine`` (arguments of
    :func:`hsd_viz.engine.local.load_engine`), ``replicas``, ``cpus`` and ``gpus`` of each replica,
    and ``page`` (see :func:`~hsd_viz.serve.app.create_app`).
    """
    replicas = int(arguments.get("replicas", 1))
    settings = replace(Settings(**arguments.get("settings", {})), slots=replicas)
    resources = {"num_cpus": arguments.get("cpus", 1), "num_gpus": arguments.get("gpus", 0)}
    # The decorator makes deployments of the classes, which its types do not say.
    replica: Any = Replica
    ingress: Any = Ingress
    decoder = replica.options(num_replicas=replicas, ray_actor_options=resources).bind(
        arguments.get("engine", {})
    )
    return ingress.options(ray_actor_options={"num_cpus": 0}).bind(
        asdict(settings), decoder, arguments.get("page")
    )


def run(host: str, port: int, arguments: Record, address: str | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM; ``arguments`` are those of :func:`build`. Without ``address``
    Ray is started on this machine and ends with the service; otherwise the service runs on the
    cluster there and is removed from it at the end. Raises: ValueError: if it does not start.
    """
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    # Ray's processes inherit the mask: Ctrl-C in the terminal reaches only this process, which then
    # ends them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if address is not None:
        print(
            f"Ray at {address}: who reaches its ports can run code there; its operator protects it",
            file=sys.stderr,
        )
    ray = start(address, math.ceil(arguments["replicas"] * arguments["cpus"]))
    try:
        print("loading the models", file=sys.stderr, flush=True)
        serve.start(http_options={"host": host, "port": port})
        serve.run(build(arguments), name=APPLICATION, logging_config={"enable_access_log": False})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        print(f"engine: {url(host, port)} (Ctrl-C to stop)", flush=True)
        stopped.wait()
        serve.delete(APPLICATION)
    except RuntimeError as failed:
        raise UserError(f"the service did not start: {first_line(failed)}") from None
    finally:
        if address is None:
            serve.shutdown()
        ray.shutdown()
    return 0
