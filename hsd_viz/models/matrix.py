"""Matrices of small integers with scales, as files store them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class GroupedMatrix:
    """A matrix ``[out, in]`` of small integers with a scale for each group along the depth.

    Number ``[n, k]`` is ``numbers[n, k] * scales[n, k // size] + minima[n, k // size]``, where
    ``size`` is ``in / groups``. A single group per row is a scale per row.

    Attributes:
        numbers: integers ``[out, in]``, ``int8`` (symmetric) or ``uint8`` (with minima).
        scales: float32 ``[out, groups]``.
        minima: float32 ``[out, groups]``, or ``None`` for symmetric numbers.
        bits: bits that a number needs: 4 or 8.
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
        """The numbers of a row that share a scale."""
        return self.numbers.shape[1] // self.scales.shape[1]

    def widened(self) -> np.ndarray:
        """Return the matrix in float32 ``[out, in]``."""
        rows, depth = self.numbers.shape
        grouped = self.numbers.reshape(rows, self.scales.shape[1], -1).astype(np.float32)
        values = grouped * self.scales[:, :, None]
        if self.minima is not None:
            values = values + self.minima[:, :, None]
        return values.reshape(rows, depth)
