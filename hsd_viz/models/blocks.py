"""Decode the number formats of GGUF files: floats, and blocks of small integers with scales.

Layouts are those of ``ggml-common.h`` in llama.cpp. A
:class:`~hsd_viz.models.matrix.GroupedMatrix` represents each integer format exactly, because the
products of scales are exact in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hsd_viz.models.matrix import GroupedMatrix

#: The number of elements in a block of the K formats.
SUPER_BLOCK = 256


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """A number format.

    Attributes:
        name: the name in llama.cpp.
        numbers: the number of elements in a block.
        size: the size of a block in bytes.
        decode: a function that decodes a tensor from its bytes ``[rows, blocks, size]``.
    """

    name: str
    numbers: int
    size: int
    decode: Callable[[np.ndarray], np.ndarray | GroupedMatrix]


def _floats(kind: str) -> Callable[[np.ndarray], np.ndarray]:
    def decode(blocks: np.ndarray) -> np.ndarray:
        return blocks.reshape(len(blocks), -1).view(kind)

    return decode


def widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    """Return bfloat16 numbers, given as uint16, in float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _bfloat16(blocks: np.ndarray) -> np.ndarray:
    return widen_bfloat16(blocks.reshape(len(blocks), -1).view("<u2"))


def _half(blocks: np.ndarray, byte: int) -> np.ndarray:
    """Return the float16 number at an offset in each block, as float32 ``[rows, blocks]``."""
    return blocks[:, :, byte : byte + 2].copy().view("<f2")[:, :, 0].astype(np.float32)


def _flat(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers.reshape(len(numbers), -1))


def _nibbles(packed: np.ndarray) -> np.ndarray:
    """Return the 4-bit numbers ``[..., 2 n]`` of ``n`` bytes: the low halves, then the high."""
    low = packed & 15
    high = packed >> 4
    return np.concatenate([low, high], axis=-1)


def _q8_0(blocks: np.ndarray) -> GroupedMatrix:
    numbers = _flat(blocks[:, :, 2:]).view(np.int8)
    return GroupedMatrix(numbers, _half(blocks, 0))


def _q4_0(blocks: np.ndarray) -> GroupedMatrix:
    numbers = _nibbles(blocks[:, :, 2:]).astype(np.int8) - np.int8(8)
    return GroupedMatrix(_flat(numbers), _half(blocks, 0), bits=4)


def _q4_1(blocks: np.ndarray) -> GroupedMatrix:
    numbers = _flat(_nibbles(blocks[:, :, 4:]))
    return GroupedMatrix(numbers, _half(blocks, 0), _half(blocks, 2), bits=4)


def _sub_scales(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 6-bit scales and minima of 8 sub-blocks ``[rows, blocks, 8]`` from 12 bytes."""
    scale_bytes = packed[:, :, 0:4]
    minimum_bytes = packed[:, :, 4:8]
    high_bytes = packed[:, :, 8:12]
    low_scales = scale_bytes & 63
    high_scales = (high_bytes & 15) | ((scale_bytes >> 6) << 4)
    low_minima = minimum_bytes & 63
    high_minima = (high_bytes >> 4) | ((minimum_bytes >> 6) << 4)
    scales = np.concatenate([low_scales, high_scales], axis=-1)
    minima = np.concatenate([low_minima, high_minima], axis=-1)
    return scales, minima


def _with_sub_scales(blocks: np.ndarray, numbers: np.ndarray, bits: int) -> GroupedMatrix:
    """Return a matrix in the format Q4_K or Q5_K, which have the same layout of scales."""
    scales, minima = _sub_scales(blocks[:, :, 4:16])
    group_scales = _half(blocks, 0)[:, :, None] * scales.astype(np.float32)
    group_minima = _half(blocks, 2)[:, :, None] * minima.astype(np.float32)
    return GroupedMatrix(_flat(numbers), _flat(group_scales), _flat(-group_minima), bits)


def _q4_k(blocks: np.ndarray) -> GroupedMatrix:
    rows, count, _ = blocks.shape
    packed = blocks[:, :, 16:].reshape(rows, count, 4, 32)
    return _with_sub_scales(blocks, _nibbles(packed), bits=4)


def _q5_k(blocks: np.ndarray) -> GroupedMatrix:
    rows, count, _ = blocks.shape
    packed = blocks[:, :, 48:].reshape(rows, count, 4, 32)
    low = _nibbles(packed).reshape(rows, count, 8, 32)
    shifts = np.arange(8, dtype=np.uint8)[:, None]
    fifth = (blocks[:, :, None, 16:48] >> shifts) & 1
    return _with_sub_scales(blocks, low | (fifth << 4), bits=8)


def _q6_k(blocks: np.ndarray) -> GroupedMatrix:
    rows, count, _ = blocks.shape
    low = _nibbles(blocks[:, :, 0:128].reshape(rows, count, 2, 64))
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    high = (blocks[:, :, 128:192].reshape(rows, count, 2, 1, 32) >> shifts) & 3
    numbers = low.reshape(rows, count, 2, 4, 32) | (high << 4)
    centred = numbers.astype(np.int8) - np.int8(32)
    scales = blocks[:, :, 192:208].view(np.int8).astype(np.float32)
    group_scales = _half(blocks, 208)[:, :, None] * scales
    return GroupedMatrix(_flat(centred), _flat(group_scales))


#: The formats by their type number in GGUF files.
FORMATS = {
    0: BlockFormat("F32", 1, 4, _floats("<f4")),
    1: BlockFormat("F16", 1, 2, _floats("<f2")),
    30: BlockFormat("BF16", 1, 2, _bfloat16),
    2: BlockFormat("Q4_0", 32, 18, _q4_0),
    3: BlockFormat("Q4_1", 32, 20, _q4_1),
    8: BlockFormat("Q8_0", 32, 34, _q8_0),
    12: BlockFormat("Q4_K", SUPER_BLOCK, 144, _q4_k),
    13: BlockFormat("Q5_K", SUPER_BLOCK, 176, _q5_k),
    14: BlockFormat("Q6_K", SUPER_BLOCK, 210, _q6_k),
}
