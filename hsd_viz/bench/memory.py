"""Measure the memory of a stack in a separate process: in the process of a bench, stacks share their models."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hsd_viz.machine import system_bytes
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
    ``engine`` are the arguments of :func:`hsd_viz.engine.local.load_engine`. Raises: ValueError: if the process fails.
    """
    task = {"stack": stack, "prompt": prompt, "max_new_tokens": max_new_tokens, "sampling": asdict(sampling)}
    command = [sys.executable, "-m", "hsd_viz.bench.memory"]
    try:
        given = json.dumps(task | {"engine": engine})
        return json.loads(subprocess.run(command, input=given, capture_output=True, text=True, timeout=TIMEOUT).stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        raise ValueError(f"the memory of '{stack}' cannot be measured: the process that decodes it failed") from None


def main() -> None:
    """Decode what standard input describes and print the measurements."""
    task = json.load(sys.stdin)
    import torch

    from hsd_viz.decoding.settings import Sampling
    from hsd_viz.engine.local import load_engine

    engine = load_engine(**task["engine"])
    if hasattr(engine, "wait_ready"):
        engine.wait_ready()
    stack, tokens = parse_bench(task["stack"]), task["max_new_tokens"]
    # Where the system does not report the current memory, the peak so far.
    before = system_bytes("self/status", "VmRSS") or _peak()
    if isinstance(stack, HFStack):
        from hsd_viz.bench.hf import HFDecoder

        HFDecoder(engine, stack)(task["prompt"], tokens, Sampling(**task["sampling"]))
    else:
        engine.run(task["prompt"], task["stack"], max_new_tokens=tokens, **task["sampling"])
    cuda = str(engine.device).startswith("cuda")
    device_bytes = torch.cuda.max_memory_allocated() if cuda else None
    print(json.dumps({"resident_bytes": max(0, _peak() - before), "device_bytes": device_bytes}))


def _peak() -> int:
    """Return the peak memory of this process in bytes."""
    # The second choice: on Linux a new process inherits this value from its parent.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return system_bytes("self/status", "VmHWM") or (most if sys.platform == "darwin" else most * 1024)


if __name__ == "__main__":
    main()
