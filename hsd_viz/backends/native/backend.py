"""The backend of the native runtime: the reference, with rows described in C++."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd_viz.backends.host import HostBackend
from hsd_viz.decoding.backend import TOP


class NativeBackend(HostBackend):
    """:class:`~hsd_viz.decoding.backend.Backend` for logits of a native model, float32 or float64 ``[n, V]`` in rows
    without gaps."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._describe = library.quick.hsd_describe

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int]) -> array:
        n, vocab = len(rows), logits.shape[1]
        most = min(TOP, vocab)
        numbers = array("d", bytes(8 * n * (2 + 2 * most)))
        self._describe(
            logits.data_ptr(),
            logits.dtype == torch.float64,
            vocab,
            (ctypes.c_int32 * n)(*rows),
            (ctypes.c_int32 * n)(*tokens),
            n,
            most,
            numbers.buffer_info()[0],
        )
        return numbers
