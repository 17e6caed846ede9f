"""Rotary angles: cosines and sines of place times frequency, from additions and multiplications alone.

A C library's sine may differ from another's in the last bit. Here every number comes from float64 operations that IEEE
754 defines to the last bit, in the order of ``docs/reference/arithmetic.md``, so tables are the same on every machine.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from math import factorial, pi
from typing import Any

import numpy as np

#: Places that a table begins with; it doubles.
_FIRST = 256


def unsupported_angles(config: Mapping[str, Any]) -> str | None:
    """Return why a model's rotary angles cannot be made; ``None`` if they can."""
    rope = _parameters(config)
    if (kind := rope.get("rope_type", rope.get("type", "default"))) not in ("default", "linear", "llama3"):
        return f"rotary angles of type {kind} are not supported"
    if rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0)) != 1.0:
        return "rotary angles for a part of the head are not supported"
    return None


def frequencies(config: Mapping[str, Any], head_dim: int) -> tuple[np.ndarray, float]:
    """Return the frequencies ``[head_dim / 2]``, float64 with the values of float32, and what cosines and sines are
    multiplied by.
    """
    rope = _parameters(config)
    theta = float(rope.get("rope_theta", config.get("rope_theta", 10000.0)))
    # Rounding to float32 leaves no trace of how a C library rounds powers.
    turns = np.array([theta ** (-2 * i / head_dim) for i in range(head_dim // 2)], np.float32)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "linear":
        turns = turns / np.float32(rope["factor"])
    elif kind == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        whole = rope["original_max_position_embeddings"] * turns.astype(np.float64) / (2 * pi)
        smooth = np.clip((whole - low) / (high - low), 0, 1)
        turns = ((1 - smooth) * turns / rope["factor"] + smooth * turns).astype(np.float32)
    return turns.astype(np.float64), 1.0


class Angles:
    """Tables of cosines and sines ``[places, n]`` of ``frequencies`` ``[n]`` (at most 1 each), times ``factor``, as
    ``dtype``.
    """

    def __init__(self, turns: np.ndarray, factor: float, dtype: np.dtype) -> None:
        self.factor, self._dtype = factor, dtype
        square = turns * turns
        #: The turn from one place to the next, by Taylor's series to the power of 23.
        self._cos, self._sin = np.zeros_like(turns), np.zeros_like(turns)
        for k in range(11, -1, -1):
            self._cos = (-1) ** k / factorial(2 * k) + self._cos * square
            self._sin = (-1) ** k / factorial(2 * k + 1) + self._sin * square
        self._sin = self._sin * turns
        #: The cosines and sines of one place.
        self.turn = self._cos, self._sin
        self._lock = threading.Lock()
        self._wide = np.ones((1, len(turns))), np.zeros((1, len(turns)))
        self._table = self._rounded()

    def __call__(self, places: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the tables of at least so many places."""
        if len(self._table[0]) < places:
            with self._lock:
                while len(self._wide[0]) < max(places, _FIRST):
                    self._double()
                self._table = self._rounded()
        return self._table

    def _double(self) -> None:
        """Turn all places by as many places as there are; then square the turn."""
        (cos, sin), c, s = self._wide, self._cos, self._sin
        self._wide = np.concatenate([cos, cos * c - sin * s]), np.concatenate([sin, sin * c + cos * s])
        self._cos, self._sin = c * c - s * s, 2.0 * (s * c)

    def _rounded(self) -> tuple[np.ndarray, np.ndarray]:
        cos, sin = ((part * self.factor).astype(self._dtype) for part in self._wide)
        return cos, sin


def _parameters(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get("rope_parameters") or config.get("rope_scaling") or {}
