"""Ray: start it or join a cluster, and run the parts of a measurement on its nodes.

Needs the extra ``cluster``; each node needs this package and the files that the parts read.
"""

import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hsd_viz.words import first_line

#: The address that means: start Ray on this machine.
LOCAL = "local"
#: How often a part is run again after its node or process was lost.
RETRIES = 5
#: Seconds between looks for interrupts.
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Part:
    """A finished part: its ``number``, the ``result``, and the ``node`` and ``processor`` that computed it."""

    number: int
    result: Any
    node: str
    processor: str | None


def start(address: str = LOCAL, cpus: int = 1) -> Any:
    """Start Ray on this machine with at least ``cpus`` CPUs, or join the cluster at ``address``; return the module.
    Raises: ValueError: if it does not start.
    """
    prepare(address)
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address != LOCAL:
            ray.init(address, **quiet)
        else:
            # Ray refuses work that needs more CPUs than it has; ours may share them.
            cpus = max(os.cpu_count() or 1, cpus)
            ray.init(num_cpus=cpus, include_dashboard=False, **quiet)
    except Exception as error:  # Ray raises plain exceptions
        raise ValueError(f"Ray did not start: {first_line(error)}") from None
    return ray


def prepare(address: str = LOCAL) -> None:
    """Set the environment of Ray, which it reads when it is imported: no reports of usage, patience on a busy machine;
    for a Ray that it starts also ports on loopback and a token that only its processes know.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Its own limits of 30 s and less are too short on a busy machine.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")
    os.environ.setdefault("RAY_agent_register_timeout_ms", "120000")
    if address == LOCAL:
        # The switch that makes Ray use loopback on systems other than Linux; `_node_ip_address` does not (Ray 2.60).
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def sweep(
    work: Callable[[Any], Any], parts: Sequence[Any], address: str = LOCAL, *, cpus: float = 1, gpus: float = 0
) -> Iterator[Part]:
    """Run ``work(part)`` for each part on Ray and yield the parts as they finish; closing it cancels the others. Each
    part gets ``cpus`` and ``gpus``. One whose node or process is lost is run again elsewhere. Raises: ValueError: if
    Ray does not start, no node has the GPUs, a part raises one, or is lost too often.
    """
    ray = start(address, int(cpus))
    try:
        if gpus > ray.cluster_resources().get("GPU", 0):
            raise ValueError(f"the cluster has no {gpus:g} GPUs for a part: use --device cpu, or add nodes with GPUs")
        task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)(_run)
        shared = ray.put(work)
        pending = {task.remote(shared, part): number for number, part in enumerate(parts)}
        try:
            while pending:
                for reference in ray.wait(list(pending), timeout=LOOK_SECONDS)[0]:
                    number = pending.pop(reference)
                    yield Part(number, *_result(ray, reference))
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)
    finally:
        ray.shutdown()


def _result(ray: Any, reference: Any) -> tuple[Any, str, str | None]:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as failed:
        raise failed.as_instanceof_cause() from None
    except ray.exceptions.RayError as lost:
        raise ValueError(f"a part of the work was lost {RETRIES + 1} times: {str(lost).splitlines()[0]}") from None


def _run(work: Callable[[Any], Any], part: Any) -> tuple[Any, str, str | None]:
    from hsd_viz.machine import describe

    result = work(part)
    machine = describe()
    return result, socket.gethostname(), machine.get("gpu") or machine.get("cpu")
