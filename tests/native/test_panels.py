"""Test matrices in groups: their rounding, the exact formats, and the layout of panels."""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.errors import BadFile
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native.panels import block_bytes, grouped, pack, panel_bytes
from hsd_viz.native.rounding import rounded_groups


def random_matrix(rows: int, depth: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, depth)).astype(np.float32)


def four_bits(rows: int, depth: int) -> GroupedMatrix:
    """Return a matrix of 4-bit numbers with minima and float16 scales."""
    random = np.random.default_rng(1)
    halves = random.normal(size=(2, rows, depth // 32)).astype(np.float16).astype(np.float32)
    numbers = random.integers(0, 16, (rows, depth)).astype(np.uint8)
    return GroupedMatrix(numbers, halves[0], halves[1], bits=4)


def unpacked(content: np.ndarray, bits: int, rows: int, depth: int) -> np.ndarray:
    """Return the floats of panels, read number by number as the layout is documented."""
    groups = -(-depth // 32)
    values = np.zeros((rows, depth), np.float32)
    for row in range(rows):
        for k in range(depth):
            start = (row // 32 * groups + k // 32) * block_bytes(bits)
            block = content[start : start + block_bytes(bits)]
            column = row % 32
            place = k % 32
            halves = block[1024 * bits // 8 :].view(np.float16).astype(np.float32)
            if bits == 8:
                number = (
                    block[:1024].view(np.int8).reshape(16, 32, 2)[place // 2, column, place % 2]
                )
                values[row, k] = number * halves[column]
            else:
                words = block[:512].view(np.uint16).reshape(4, 32, 2)
                word = int(words[place // 8, column, place % 2])
                number = word >> 4 * (place % 8 // 2) & 15
                values[row, k] = np.float32(number) * halves[column] + halves[32 + column]
    return values


@pytest.mark.parametrize(("rows", "depth"), [(5, 64), (64, 32), (70, 96)])
def test_panels_have_the_documented_layout(rows, depth):
    for matrix in (rounded_groups(random_matrix(rows, depth)), four_bits(rows, depth)):
        panels = pack(matrix)
        assert len(panels.content) == panel_bytes(rows, depth, panels.bits)
        values = unpacked(panels.content, panels.bits, rows, depth)
        np.testing.assert_array_equal(values, matrix.widened())


def test_rounding_is_to_the_nearest_step_of_a_scale_of_float16():
    matrix = random_matrix(3, 70)
    rounded = rounded_groups(matrix)
    assert rounded.scales.shape == (3, 3)
    np.testing.assert_array_equal(rounded.scales, rounded.scales.astype(np.float16))
    steps = rounded.scales.repeat(32, 1)[:, :70]
    difference = np.abs(rounded.widened()[:, :70] - matrix)
    assert (difference <= steps / 2 * 1.0001).all()
    assert np.abs(rounded.numbers).max() == 127


def test_a_scale_is_rounded_up_so_that_no_quotient_is_above_127():
    matrix = np.zeros((1, 32), np.float32)
    matrix[0, 5] = 1
    rounded = rounded_groups(matrix)
    # 1 / 127 is 1032.06 steps of float16, which are 2**-17 there; 1033 / 2**17 goes into 1 126.9
    # times.
    assert rounded.scales.tolist() == [[1033 / 2**17]]
    assert rounded.numbers[0, 5] == 127


def test_a_group_of_zeros_is_zero():
    matrix = random_matrix(2, 64)
    matrix[1, 32:] = 0
    assert not rounded_groups(matrix).widened()[1, 32:].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_weights_that_no_scale_fits_are_refused(value):
    matrix = random_matrix(2, 64)
    matrix[1, 3] = value
    with pytest.raises(BadFile, match="a weight is"):
        rounded_groups(matrix)


def test_numbers_of_a_file_stay_as_they_are():
    matrix = four_bits(8, 64)
    assert grouped(matrix) is matrix


def test_symmetric_4_bit_numbers_are_exact():
    unsigned = four_bits(8, 64)
    signed = GroupedMatrix(unsigned.numbers.astype(np.int8) - np.int8(8), unsigned.scales, bits=4)
    stored = grouped(signed)
    assert stored.numbers.dtype == np.uint8
    np.testing.assert_array_equal(stored.widened(), signed.widened())


@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param(
            GroupedMatrix(four_bits(4, 64).numbers, np.full((4, 2), 0.1, np.float32)),
            id="scales that float16 has not",
        ),
        pytest.param(
            GroupedMatrix(four_bits(4, 64).numbers.view(np.int8), np.ones((4, 4), np.float32)),
            id="groups of 16",
        ),
    ],
)
def test_other_forms_are_rounded(matrix):
    expected = rounded_groups(matrix.widened())
    stored = grouped(matrix)
    np.testing.assert_array_equal(stored.numbers, expected.numbers)
    np.testing.assert_array_equal(stored.scales, expected.scales)
