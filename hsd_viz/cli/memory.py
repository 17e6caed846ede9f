"""Measure the memory of a stack in a separate process: in the process of a bench, stacks share their models."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.stack import HFStack, parse_bench

if TYPE_CHECKING:
    from hsd_viz.decoding.settings import Sampling

TIMEOUT = 900.0


def measure(
    stack: str, prompt: str | list[int], max_new_tokens: int, sampling: Sampling, engine: dict[str, Any]
) -> dict[str, int | None]:
    """Return the peak bytes of one decode of ``stack``, including models and databases.

    ``resident_bytes`` is the growth of the process over an engine that has loaded nothing yet (weights may be held
    twice while they are converted). ``device_bytes`` is the peak allocation on the GPU, ``None`` without one.
    ``engine`` are the arguments of :func:`hsd_viz.engine.local.load_engine`.

    Raises ValueError if the process fails.
    """
    task = {"stack": stack, "prompt": prompt, "max_new_tokens": max_new_tokens, "sampling": asdict(sampling)}
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "hsd_viz.cli.memory"],
            input=json.dumps(task | {"engine": engine}),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        return json.loads(ran.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        raise ValueError(f"the memory of '{stack}' cannot be measured: the process that decodes it failed") from None


def main() -> int:
    """Decode what standard input describes and print the measurements."""
    task = json.load(sys.stdin)
    import torch

    from hsd_viz.decoding.settings import Sampling
    from hsd_viz.engine.local import load_engine

    engine = load_engine(**task["engine"])
    if hasattr(engine, "wait_ready"):
        engine.wait_ready()
    sampling = Sampling(**task["sampling"])
    stack = parse_bench(task["stack"])
    before = _resident()
    if isinstance(stack, HFStack):
        from hsd_viz.bench.hf import HFDecoder

        HFDecoder(engine, stack)(task["prompt"], task["max_new_tokens"], sampling)
    else:
        engine.run(task["prompt"], task["stack"], max_new_tokens=task["max_new_tokens"], **task["sampling"])
    cuda = str(engine.device).startswith("cuda")
    found = {
        "resident_bytes": max(0, _peak() - before),
        "device_bytes": torch.cuda.max_memory_allocated() if cuda else None,
    }
    print(json.dumps(found))
    return 0


def _peak() -> int:
    """Return the peak memory of this process in bytes."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # The second choice: on Linux a new process inherits this value from its parent.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _resident() -> int:
    """Return the current memory of this process in bytes, its peak where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return _peak()


if __name__ == "__main__":
    sys.exit(main())
