"""How fast this machine reads memory, to judge passes whose limit it is."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np

#: Bytes that are read in a run: many times what caches hold.
READ_BYTES = 400_000_000
_RUNS = 15


def read_bandwidth(threads: int, read_bytes: int | None = None, runs: int = _RUNS) -> float:
    """Return how many bytes per second ``threads`` threads read from memory, the median of the
    runs.

    Each thread finds the largest of its part of an array of float32 numbers, by numpy.
    """
    read_bytes = read_bytes or READ_BYTES
    parts = np.array_split(np.ones(read_bytes // 4, np.float32), threads)
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(runs):
            began = time.perf_counter()
            list(pool.map(np.max, parts))
            seconds.append(time.perf_counter() - began)
    return read_bytes / median(seconds)
