"""Compare matrices with a scale per group of their depth with results computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.models.matrix import GroupedMatrix


def float32(*rows: list[float]) -> np.ndarray:
    return np.array(rows, np.float32)


#: One row of two groups of two: scale 0.5, then scale 2.
SYMMETRIC = GroupedMatrix(np.array([[1, -2, 3, -4]], np.int8), float32([0.5, 2.0]))
WITH_MINIMA = GroupedMatrix(
    np.array([[1, 2, 3, 4]], np.uint8), float32([0.5, 2.0]), float32([-1.0, 10.0]), bits=4
)


@pytest.mark.parametrize(
    ("matrix", "numbers"),
    [
        pytest.param(SYMMETRIC, [0.5, -1.0, 6.0, -8.0], id="symmetric"),
        pytest.param(WITH_MINIMA, [-0.5, 0.0, 16.0, 18.0], id="with minima"),
    ],
)
def test_a_number_is_its_integer_by_the_scale_of_its_group(matrix, numbers):
    assert matrix.widened().tolist() == [numbers]


def test_shape_and_group_size():
    assert SYMMETRIC.shape == (1, 4)
    assert SYMMETRIC.group_size == 2
