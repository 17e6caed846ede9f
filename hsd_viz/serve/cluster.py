"""The service on Ray Serve: one ingress that owns the queue, and any number of replicas that decode."""

import logging
import math
import signal
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from typing import Any

from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from hsd_viz.machine import url
from hsd_viz.serve import LOCAL, start
from hsd_viz.serve.app import Settings, create_app, error, load_worker

#: Connections that the ingress holds open at a time, refused ones among them.
CONNECTIONS = 2048
APPLICATION = "hsd_viz"
#: Seconds between looks at the state of the replicas.
LOOK_SECONDS = 0.2


@serve.deployment(max_ongoing_requests=1)
class Replica:
    """An engine in a process of its own; decodes one request at a time."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._worker = load_worker(options)

    async def decode(self, request: dict[str, Any]) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the events of a request in batches of records."""
        async for batch in self._worker.decode(request):
            yield batch


class _Replicas:
    """Passes requests to a replica that is free."""

    def __init__(self, handle: DeploymentHandle) -> None:
        self._handle = handle

    async def decode(self, request: dict[str, Any]) -> AsyncIterator[list[dict[str, Any]]]:
        batches = self._handle.options(stream=True).decode.remote(request)
        try:
            async for batch in batches:
                yield batch
        except (RayError, RayServeException):
            yield [error("the worker of this request stopped: send the request again", retry=True)]
        finally:
            batches.cancel()


@serve.deployment(max_ongoing_requests=CONNECTIONS)
@serve.ingress()
class Ingress:
    """The web application; there is one, because it owns the queue."""

    def __init__(self, settings: dict[str, Any], replicas: DeploymentHandle) -> None:
        self._settings, self._replicas = Settings(**settings), replicas

    def __serve_build_asgi_app__(self) -> Any:
        return create_app(_Replicas(self._replicas), self._settings)


def build(arguments: dict[str, Any]) -> serve.Application:
    """Return the application; the builder that ``serve deploy`` calls. ``arguments``: ``settings`` (fields of
    :class:`~hsd_viz.serve.app.Settings`), ``engine`` (arguments of :func:`hsd_viz.engine.local.load_engine`),
    ``replicas``, ``cpus`` and ``gpus`` of each replica.
    """
    replicas = int(arguments.get("replicas", 1))
    settings = replace(Settings(**arguments.get("settings", {})), slots=replicas)
    resources = {"num_cpus": arguments.get("cpus", 1), "num_gpus": arguments.get("gpus", 0)}
    decoder = Replica.options(num_replicas=replicas, ray_actor_options=resources).bind(arguments.get("engine", {}))
    return Ingress.options(ray_actor_options={"num_cpus": 0}).bind(asdict(settings), decoder)


def run(host: str, port: int, arguments: dict[str, Any], address: str | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM; ``arguments`` are those of :func:`build`. Without ``address`` Ray is started on
    this machine and ends with the service; otherwise the service runs on the cluster there and is removed from it at
    the end.
    """
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    # Ray's processes inherit the mask: Ctrl-C in the terminal reaches only this process, which then ends them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if address is not None:
        print(f"Ray at {address}: who reaches its ports can run code there; its operator protects it", file=sys.stderr)
    ray = start(address or LOCAL, math.ceil(arguments["replicas"] * arguments["cpus"]))
    try:
        serve.start(http_options={"host": host, "port": port})
        serve.run(build(arguments), name=APPLICATION, logging_config={"enable_access_log": False})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        print("loading the models", file=sys.stderr, flush=True)
        if _ready(stopped):
            print(f"engine: {url(host, port)} (Ctrl-C to stop)", flush=True)
            stopped.wait()
        serve.delete(APPLICATION)
    finally:
        if address is None:
            serve.shutdown()
        ray.shutdown()
    return 0


def _ready(stopped: threading.Event) -> bool:
    """Wait until all replicas have loaded their models; return False if interrupted. Raises: ValueError: if a replica
    cannot start.
    """
    while not stopped.wait(LOOK_SECONDS):
        application = serve.status().applications[APPLICATION]
        if application.status == "RUNNING":
            return True
        if application.status in ("DEPLOY_FAILED", "UNHEALTHY"):
            raise ValueError(f"the service did not start: {application.message.strip().splitlines()[-1]}")
    return False
