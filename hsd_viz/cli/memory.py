"""How much memory a stack needs: decoded in a fresh process, from before its models are loaded to the peak.

In the process of a bench the stacks share their models and what was once resident stays so: only a process of its own tells.
"""

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
    """Bytes that one decode of ``stack`` needs, models and databases included.

    ``resident_bytes``: growth of this process's memory over that of a process with an engine that has loaded nothing yet, at its
    highest: while weights are read and laid out anew they may lie in memory twice. ``device_bytes``: the most that was allocated on the
    GPU, ``None`` without one. ``engine`` are the arguments of :func:`hsd_viz.engine.local.load_engine`. Raises ``ValueError``
    with one sentence where it cannot be measured.
    """
    task = {
        "stack": stack,
        "prompt": prompt,
        "max_new_tokens": max_new_tokens,
        "sampling": asdict(sampling),
        "engine": engine,
    }
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "hsd_viz.cli.memory"],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        return json.loads(ran.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        raise ValueError(
            f"the memory of '{stack}' cannot be measured: the process that was to decode it failed"
        ) from None


def main() -> int:
    """Decode what standard input describes and print the measures."""
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
    """The most memory this process ever had, in bytes."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # Not asked first: on Linux a new process inherits this one from whoever started it.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _resident() -> int:
    """The memory this process has now, in bytes; where the system does not say, the most it ever had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return _peak()


if __name__ == "__main__":
    sys.exit(main())
