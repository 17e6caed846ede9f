"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from hsd_viz.words import counted


def describe(threads: int | None = None) -> dict[str, Any]:
    """CPU, cores open to this process, memory, GPU, versions; ``threads`` are torch's, asked from it when left out.

    ``load_average`` is that of the last minute when called: other work on the machine makes timings noisy.
    """
    import torch

    gpus = (
        [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    )
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_bytes": _memory(),
        "gpu": gpus[0] if gpus else None,
        "gpus": gpus,
        "threads": threads if threads is not None else torch.get_num_threads(),
        "load_average": load_average(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": metadata.version("transformers"),
        "hsd_viz": _own_version(),
    }


def cores() -> int | None:
    """The cores open to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def load_average() -> float | None:
    """That of the last minute, ``None`` where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def busy_words() -> str:
    """Return a one-line note where the machine had more to do in the last minute than it has cores; else ""."""
    load, there = load_average(), cores()
    if load is None or there is None or load <= there:
        return ""
    return f"The machine had more to do than its {counted(there, 'core')} (load average {load:.1f}): times and speeds are unsure."


def _own_version() -> str | None:
    """``None`` where the package is run from its source, uninstalled."""
    try:
        return metadata.version("hsd-viz")
    except metadata.PackageNotFoundError:
        return None


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
