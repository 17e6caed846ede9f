"""What is measured of a load: spreads, and the memory of processes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import psutil

TOKENS = 64


def summary(values: list[float]) -> dict[str, float]:
    """Return median, 95th percentile and maximum."""
    if not values:
        return {}
    return {
        "median": round(float(np.median(values)), 2),
        "p95": round(float(np.quantile(values, 0.95)), 2),
        "max": round(max(values), 2),
    }


def memory(pid: int | None) -> dict[str, float]:
    """Return the proportional memory in MB of a process and all below it, by kind, shared pages
    counted once.
    """
    bytes_by_kind: Counter = Counter()
    if pid is None:
        return {}
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        try:
            command = " ".join(process.cmdline())
            if "ipykernel_launcher" in command:
                kind = "kernels"
            elif "ray" in command:
                kind = "ray"
            else:
                kind = "servers"
            bytes_by_kind[kind] += process.memory_full_info().pss / 1e6
            bytes_by_kind[f"{kind}_count"] += 1
        except psutil.Error:
            continue
    return {kind: round(value) for kind, value in bytes_by_kind.items()}
