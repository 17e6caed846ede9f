"""Memory for rows of logits that is reused when they are no longer referenced.

New memory is expensive: the system maps it page by page on first access, and takes large pieces back when they are
freed.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from torch import Tensor

#: Blocks that are kept: the loop still looks at one while it asks for the next.
_KEPT = 3
#: The most bytes of a block that is kept.
_LARGEST = 1 << 23


class Blocks:
    """Rows of ``width`` numbers, for one session. Rows are not overwritten while a tensor of them, or a view, is
    referenced."""

    def __init__(self, width: int, dtype: torch.dtype) -> None:
        self._width = width
        self._dtype = dtype
        self._type = np.float64 if dtype == torch.float64 else np.float32
        self._blocks: list[_Block] = []

    def take(self, rows: int) -> tuple[Tensor, int]:
        """A tensor ``[rows, width]`` with any contents, and its address."""
        for block in self._blocks:
            if block.rows >= rows and sys.getrefcount(block.numbers) == block.free:
                break
        else:
            if rows * self._width * self._dtype.itemsize > _LARGEST:
                rare = torch.empty(rows, self._width, dtype=self._dtype)
                return rare, rare.data_ptr()
            # As many rows again are likely to be asked for, and a few more.
            block = _Block(1 << (rows - 1).bit_length(), self._width, self._type)
            self._blocks = [*self._blocks[1 - _KEPT :], block]
        return torch.from_numpy(block.numbers[:rows]), block.address


class _Block:
    """``free`` is what its numbers' reference count is while no tensor holds them."""

    __slots__ = ("address", "free", "numbers", "rows")

    def __init__(self, rows: int, width: int, dtype: type) -> None:
        self.rows = rows
        self.numbers = np.empty((rows, width), dtype)
        self.address: int = self.numbers.ctypes.data
        self.free = sys.getrefcount(self.numbers)
