"""Run the parts of a measurement on a Ray cluster; each node needs this checkout and the files
that the parts read.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.machine import describe
from hsd_viz.serve import start

#: How often a part is run again after its node or process was lost.
RETRIES = 5
#: Seconds between looks for interrupts.
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """A finished part of a sweep.

    Attributes:
        number: Its place among the parts.
        result: What the work returned.
        node: The node that computed it.
        processor: The processor of that node, if known.
    """

    number: int
    result: Any
    node: str
    processor: str | None


def sweep(
    work: Callable[[Any], Any],
    parts: Sequence[Any],
    address: str | None = None,
    *,
    cpus: float = 1,
    gpus: float = 0,
) -> Iterator[FinishedPart]:
    """Run ``work(part)`` for each part on Ray and yield the parts as they finish.

    Closing it cancels the others. Each part gets ``cpus`` and ``gpus``. One whose node or process
    is lost is run again elsewhere.

    Raises:
        UserError: if Ray does not start, no node has the GPUs, or a part raises one or is lost too
            often.
    """
    ray = start(address, int(cpus))
    try:
        if gpus > ray.cluster_resources().get("GPU", 0):
            raise UserError(
                f"the cluster has no {gpus:g} GPUs for a part: use --device cpu, or add nodes "
                "with GPUs"
            )
        task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)(_run)
        shared = ray.put(work)
        pending = {task.remote(shared, part): number for number, part in enumerate(parts)}
        try:
            while pending:
                for reference in ray.wait(list(pending), timeout=LOOK_SECONDS)[0]:
                    number = pending.pop(reference)
                    yield FinishedPart(number, *_result(ray, reference))
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
        raise UserError(
            f"a part of the work was lost {RETRIES + 1} times: {str(lost).splitlines()[0]}"
        ) from None


def _run(work: Callable[[Any], Any], part: Any) -> tuple[Any, str, str | None]:
    result = work(part)
    machine = describe()
    return result, socket.gethostname(), machine.get("gpu") or machine.get("cpu")
