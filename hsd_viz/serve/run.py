"""Start the service with Ray and keep it until interrupted."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
from typing import Any

from hsd_viz.listen import url

#: Seconds between looks at the state of the replicas.
LOOK_SECONDS = 0.2


def serve(host: str, port: int, arguments: dict[str, Any], address: str | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM; ``arguments`` are those of :func:`hsd_viz.serve.cluster.build`.

    Without ``address`` Ray is started on this machine and ends with the service; otherwise the service runs on the
    cluster there and is removed from it at the end.
    """
    # Ray reports its usage over the network otherwise, and looks for a newer version.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray import serve as ray_serve

    from hsd_viz.serve.cluster import APPLICATION, build

    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        _start_ray(ray, arguments, address)
    except Exception as error:  # Ray raises plain exceptions
        raise ValueError(f"Ray did not start: {str(error).strip().splitlines()[0]}") from None
    try:
        ray_serve.start(http_options={"host": host, "port": port})
        ray_serve.run(build(arguments), name=APPLICATION, logging_config={"enable_access_log": False})
        print("loading the models", file=sys.stderr, flush=True)
        if _ready(ray_serve, stopped):
            print(f"engine: {url(host, port)} (Ctrl-C to stop)", flush=True)
            stopped.wait()
        ray_serve.delete(APPLICATION)
    finally:
        if address is None:
            ray_serve.shutdown()
        ray.shutdown()
    return 0


def _start_ray(ray: Any, arguments: dict[str, Any], address: str | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is not None:
        ray.init(address, **quiet)
        return
    # Ray refuses replicas that need more CPUs than it has; ours may share them.
    cpus = max(os.cpu_count() or 1, math.ceil(arguments["replicas"] * arguments["cpus"]))
    ray.init(num_cpus=cpus, include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)


def _ready(ray_serve: Any, stopped: threading.Event) -> bool:
    """Wait until all replicas have loaded their models; return False if interrupted.

    Raises:
        ValueError: if a replica cannot start.
    """
    from hsd_viz.serve.cluster import APPLICATION

    while not stopped.wait(LOOK_SECONDS):
        application = ray_serve.status().applications[APPLICATION]
        if application.status == "RUNNING":
            return True
        if application.status in ("DEPLOY_FAILED", "UNHEALTHY"):
            raise ValueError(f"the service did not start: {application.message.strip().splitlines()[-1]}")
    return False
