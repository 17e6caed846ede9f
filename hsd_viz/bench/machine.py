"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any


def describe(threads: int | None = None) -> dict[str, Any]:
    """CPU, cores open to this process, memory, GPU, versions; ``threads`` are torch's, asked from it when left out.

    ``load_average`` is that of the last minute when called: other work on the machine makes timings noisy.
    """
    import torch

    gpus = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory(),
        "gpu": gpus[0] if gpus else None,
        "gpus": gpus,
        "threads": threads if threads is not None else torch.get_num_threads(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": metadata.version("transformers"),
        "hsd_viz": _own_version(),
    }


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
