"""Quantized matrices: small integers with scales, as files store them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class GroupedMatrix:
    """A matrix ``[out, in]`` of small integers, with a scale per group of columns.

    Element ``[n, k]`` is ``numbers[n, k] * scales[n, k // size] + minima[n, k // size]``, where
    ``size`` is ``in / groups``. With a single group there is a scale per row.

    Attributes:
        numbers: the integers ``[out, in]``: ``int8`` (symmetric) or ``uint8`` (with minima).
        scales: the scales ``[out, groups]`` in float32.
        minima: the minima ``[out, groups]`` in float32; ``None`` for symmetric numbers.
        bits: the number of bits that an integer needs: 4 or 8.
    """

    numbers: np.ndarray
    scales: np.ndarray
    minima: np.ndarray | None = None
    bits: int = 8

    @property
    def shape(self) -> tuple[int, int]:
        """The shape ``(out, in)``."""
        rows, depth = self.numbers.shape
        return rows, depth

    @property
    def group_size(self) -> int:
        """The number of integers that share a scale."""
        return self.numbers.shape[1] // self.scales.shape[1]

    def widened(self) -> np.ndarray:
        """Return the matrix in float32 ``[out, in]``."""
        rows, depth = self.numbers.shape
        grouped = self.numbers.reshape(rows, self.scales.shape[1], -1).astype(np.float32)
        values = grouped * self.scales[:, :, None]
        if self.minima is not None:
            values = values + self.minima[:, :, None]
        return values.reshape(rows, depth)
