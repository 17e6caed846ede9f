"""The service on Ray Serve: one ingress that owns the queue, and replicas that decode."""

import logging
import math
import signal
import sys
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import Any

from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError, first_line
from hsd_viz.machine import url
from hsd_viz.serve import start
from hsd_viz.serve.app import Page, create_app
from hsd_viz.serve.requests import Record, error, load_decode
from hsd_viz.serve.settings import ServerSettings
from hsd_viz.settings.declare import from_data

#: The maximum number of open connections of the ingress, including refused ones.
CONNECTIONS = 2048
#: Name of the Ray Serve application.
APPLICATION = "hsd_viz"


@serve.deployment(max_ongoing_requests=1)
class Replica:
    """An engine in its own process, which decodes one request at a time."""

    def __init__(self, options: EngineOptions) -> None:
        self._decode = load_decode(options)

    async def decode(self, request: Record) -> AsyncGenerator[list[Record]]:
        """Yield the events of a decode in batches of records."""
        async for records in self._decode(request):
            yield records


@serve.deployment(max_ongoing_requests=CONNECTIONS)
@serve.ingress()
class Ingress:
    """The web application; a cluster has exactly one, because it owns the queue."""

    def __init__(
        self, settings: ServerSettings, replicas: DeploymentHandle, page: Page | None
    ) -> None:
        self._settings = settings
        self._replicas = replicas
        self._page = page

    async def decode(self, request: Record) -> AsyncGenerator[list[Record]]:
        """Pass a request to a free replica and yield its events."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterService:
    """A service on a cluster.

    Attributes:
        settings: limits on requests and access.
        engine: options of the engine of each replica.
        replicas: number of processes that decode.
        cpus: CPUs reserved for each replica.
        gpus: GPUs reserved for each replica.
        page: function that returns the page (see :func:`~hsd_viz.serve.app.create_app`), or
            ``None`` to serve no page.
    """

    settings: ServerSettings = field(default_factory=ServerSettings)
    engine: EngineOptions = field(default_factory=EngineOptions)
    replicas: int = 1
    cpus: float = 1
    gpus: float = 0
    page: Page | None = None

    def application(self) -> serve.Application:
        """Return the Ray Serve application."""
        resources = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        # The decorator turns the classes into deployments, which its annotations do not express.
        replica: Any = Replica
        ingress: Any = Ingress
        decoder = replica.options(num_replicas=self.replicas, ray_actor_options=resources)
        return ingress.options(ray_actor_options={"num_cpus": 0}).bind(
            replace(self.settings, slots=self.replicas), decoder.bind(self.engine), self.page
        )


def build(arguments: Record) -> serve.Application:
    """Return the Ray Serve application; ``serve deploy`` calls this builder.

    Args:
        arguments: fields of :class:`ClusterService` as JSON data.

    Raises:
        TypeError: if a field is unknown.
    """
    service = from_data(ClusterService, arguments)
    return replace(service, replicas=int(service.replicas)).application()


def run(host: str, port: int, service: ClusterService, address: str | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        host: the address to serve on.
        port: the port.
        service: the service to deploy.
        address: address of a running cluster, from which the service is removed at the end. With
            ``None``, Ray is started on this machine and stopped with the service.

    Returns:
        The exit code.

    Raises:
        UserError: if the service does not start.
    """
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    # Ray's processes inherit the signal mask. Ctrl-C in the terminal then reaches only this
    # process, which stops them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if address is not None:
        print(
            f"Ray at {address}: who reaches its ports can run code there; its operator protects it",
            file=sys.stderr,
        )
    ray = start(address, math.ceil(service.replicas * service.cpus))
    try:
        print("loading the models", file=sys.stderr, flush=True)
        serve.start(http_options={"host": host, "port": port})
        application = service.application()
        serve.run(application, name=APPLICATION, logging_config={"enable_access_log": False})
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
