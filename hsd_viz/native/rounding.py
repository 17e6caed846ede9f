"""Round matrices to small integers, as specified in ``docs/reference/arithmetic.md``."""

from __future__ import annotations

import numpy as np

from hsd_viz.errors import BadFile
from hsd_viz.models.matrix import GroupedMatrix

#: The number of weights along the depth that share a scale in the native runtime.
GROUP = 32
#: The largest 8-bit integer.
MAX_INT8 = np.float32(127)
#: The largest float16 number.
MAX_FLOAT16 = 65504.0


def rounded_rows(matrix: np.ndarray) -> GroupedMatrix:
    """Round the rows of a matrix ``[out, in]`` to 8 bits, with a scale per row.

    s = max |w| / 127, q = w / s rounded to nearest, ties to even. A row of zeros has s = 0.
    """
    matrix = matrix.astype(np.float32, copy=False)
    scales = np.abs(matrix).max(1, keepdims=True) / MAX_INT8
    divisors = np.where(scales > 0, scales, np.float32(1))
    numbers = np.rint(matrix / divisors).clip(-MAX_INT8, MAX_INT8)
    return GroupedMatrix(numbers.astype(np.int8), scales)


def rounded_groups(matrix: np.ndarray) -> GroupedMatrix:
    """Round a matrix ``[out, in]`` to 8 bits, with a float16 scale per group of 32 along the depth.

    The scale s is max |w| / 127 rounded up to the next float16 number, so that no quotient exceeds
    127; q = w / s is rounded to nearest, ties to even. The last group of a row may be shorter.

    Raises:
        BadFile: if a number of the matrix is not finite, or too large for such a scale.
    """
    matrix = padded(matrix.astype(np.float32, copy=False))
    groups = matrix.reshape(len(matrix), -1, GROUP)
    largest = np.abs(groups).max(-1)
    if not largest.max(initial=0) <= MAX_INT8 * MAX_FLOAT16:
        raise BadFile(f"a weight is {largest.max()}, expected a magnitude up to 8 million")
    scales = _rounded_up(largest / MAX_INT8)
    divisors = np.where(scales > 0, scales, np.float32(1))
    numbers = np.rint(groups / divisors[:, :, None]).clip(-MAX_INT8, MAX_INT8)
    return GroupedMatrix(numbers.astype(np.int8).reshape(matrix.shape), scales)


def padded(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix ``[out, in]``, padded with zeros to a whole number of groups."""
    missing = -matrix.shape[1] % GROUP
    if not missing:
        return matrix
    return np.pad(matrix, ((0, 0), (0, missing)))


def are_halves(values: np.ndarray) -> bool:
    """Return whether float16 represents all values exactly."""
    if np.abs(values).max(initial=0) > MAX_FLOAT16:
        return False
    return bool((values.astype(np.float16) == values).all())


def _rounded_up(values: np.ndarray) -> np.ndarray:
    """Return the values rounded up to float16 numbers, in float32."""
    halves = values.astype(np.float16)
    below = halves.astype(np.float32) < values
    halves[below] = np.nextafter(halves[below], np.float16(np.inf))
    return halves.astype(np.float32)
