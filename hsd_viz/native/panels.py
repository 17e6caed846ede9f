"""Pack matrices with a scale per group into panels, the layout that the native runtime reads.

A panel contains 32 rows of the matrix (columns of the result), as a block for each group of 32
along the depth. A block consists of the numbers, the scales and, for 4-bit numbers, the minima of
the group, the latter two in float16. 8-bit numbers are ``[16 pairs][32 rows][2]``. 4-bit numbers
are ``[4][32 rows][2]`` words of 16 bits, each with the numbers of four pairs, the first in the
lowest bits. ``src/groups.hpp`` multiplies by panels; the layout is the same for all kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native.rounding import GROUP, are_halves, padded, rounded_groups

#: Rows of a matrix in a panel.
PANEL_ROWS = 32
#: The number of pairs of adjacent numbers in a group.
PAIRS = GROUP // 2


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """A packed matrix.

    Attributes:
        content: the bytes of all panels, concatenated.
        bits: the bits of a number: 4 or 8.
    """

    content: np.ndarray
    bits: int


def block_bytes(bits: int) -> int:
    """Return the size of a block in bytes."""
    numbers = GROUP * PANEL_ROWS * bits // 8
    halves = 2 if bits == 4 else 1
    return numbers + 2 * PANEL_ROWS * halves


def panel_bytes(rows: int, depth: int, bits: int) -> int:
    """Return the size of all panels of a matrix in bytes."""
    panels = -(-rows // PANEL_ROWS)
    groups = -(-depth // GROUP)
    return panels * groups * block_bytes(bits)


def grouped(matrix: np.ndarray | GroupedMatrix) -> GroupedMatrix:
    """Convert a matrix to a form that panels support, without rounding if possible.

    Groups have 32 numbers and scales in float16. Numbers are int8 without minima, or 4-bit uint8
    with minima. Symmetric 4-bit numbers, -8 to 7, become unsigned with the minimum -8 times the
    scale. All other matrices are widened and rounded.
    """
    if isinstance(matrix, np.ndarray):
        return rounded_groups(matrix)
    exact = matrix.group_size == GROUP and are_halves(matrix.scales)
    if matrix.minima is not None:
        exact = exact and matrix.bits == 4 and are_halves(matrix.minima)
    if not exact:
        return rounded_groups(matrix.widened())
    if matrix.bits == 4 and matrix.minima is None:
        minima = np.float32(-8) * matrix.scales
        if not are_halves(minima):
            return matrix
        unsigned = (matrix.numbers + np.int8(8)).view(np.uint8)
        return GroupedMatrix(unsigned, matrix.scales, minima, bits=4)
    return matrix


def pack(matrix: GroupedMatrix) -> PackedMatrix:
    """Pack a matrix that has a form of :func:`grouped`."""
    bits = 4 if matrix.minima is not None else 8
    rows, depth = matrix.numbers.shape
    panels = -(-rows // PANEL_ROWS)
    groups = -(-depth // GROUP)
    numbers = padded(_whole_panels(matrix.numbers))
    # [panel, row, group, pair, 2] -> [panel, group, pair, row, 2], a pair as one number.
    pairs = numbers.view(np.uint16).reshape(panels, PANEL_ROWS, groups, PAIRS)
    if bits == 4:
        # Each unit has two 4-bit numbers in 16 bits, that of the even and that of the odd column.
        quads = pairs.reshape(panels, PANEL_ROWS, groups, PAIRS // 4, 4)
        bytes_of_two = quads[..., 0::2] | quads[..., 1::2] << 4
        even = (bytes_of_two & 0xFF).astype(np.uint16)
        odd = bytes_of_two >> 8
        words = np.stack(
            [even[..., 0] | even[..., 1] << 8, odd[..., 0] | odd[..., 1] << 8], axis=-1
        )
        units: np.ndarray = np.ascontiguousarray(words).view(np.uint32)[..., 0]
    else:
        units = pairs
    content = np.empty((panels, groups, block_bytes(bits)), np.uint8)
    size = GROUP * PANEL_ROWS * bits // 8
    in_blocks = content[:, :, :size].view(units.dtype).reshape(panels, groups, -1, PANEL_ROWS)
    in_blocks[:] = units.transpose(0, 2, 3, 1)
    halves = [matrix.scales] if matrix.minima is None else [matrix.scales, matrix.minima]
    for place, values in enumerate(halves):
        start = size + 2 * PANEL_ROWS * place
        target = content[:, :, start : start + 2 * PANEL_ROWS].view(np.float16)
        target[:] = _whole_panels(values).reshape(panels, PANEL_ROWS, groups).transpose(0, 2, 1)
    return PackedMatrix(content.reshape(-1), bits)


def _whole_panels(rows: np.ndarray) -> np.ndarray:
    """Return an array, padded with rows of zeros to a whole number of panels."""
    missing = -len(rows) % PANEL_ROWS
    if not missing:
        return np.ascontiguousarray(rows)
    return np.pad(rows, ((0, missing), (0, 0)))
