"""Start the service with Ray and keep it until interrupted."""

from __future__ import annotations

import logging
import math
import signal
import sys
import threading
from typing import Any

from hsd_viz import cluster
from hsd_viz.listen import url

#: Seconds between looks at the state of the replicas.
LOOK_SECONDS = 0.2


def serve(host: str, port: int, arguments: dict[str, Any], address: str | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM; ``arguments`` are those of :func:`hsd_viz.serve.cluster.build`.

    Without ``address`` Ray is started on this machine and ends with the service; otherwise the service runs on the
    cluster there and is removed from it at the end.
    """
    from ray import serve as ray_serve

    from hsd_viz.serve.cluster import APPLICATION, build

    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    ray = cluster.start(address or cluster.LOCAL, math.ceil(arguments["replicas"] * arguments["cpus"]))
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
