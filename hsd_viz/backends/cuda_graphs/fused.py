"""Which Triton kernels the lean forward uses."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec

import torch

from hsd_viz.backends.cuda_graphs.lean import Ops

#: Kernel by the operation of :class:`~hsd_viz.backends.cuda_graphs.lean.Ops` that it replaces.
KERNELS = {"attention": "attend", "rope": "rotate", "silu": "gate"}


def chosen(kernels: Collection[str] | None, device: torch.device, dtype: torch.dtype) -> frozenset[str]:
    """Return the kernels to use of those asked for (``None``: all where Triton runs).

    Raises:
        ValueError: for an unknown name, or where Triton is missing.
    """
    there = find_spec("triton") is not None
    if kernels is None:
        return frozenset(KERNELS if there and device.type == "cuda" and dtype != torch.float64 else ())
    if unknown := sorted(set(kernels) - set(KERNELS)):
        raise ValueError(f"unknown kernel {unknown[0]!r}: use {', '.join(KERNELS)}")
    if kernels and not there:
        raise ValueError(f"the kernels {', '.join(kernels)} need Triton, which is not installed")
    return frozenset(kernels)


def ops_with(kernels: Collection[str]) -> Ops:
    """Return the operations of a layer with these kernels."""
    if not kernels:
        return Ops()
    from hsd_viz.backends.cuda_graphs import kernels as triton_kernels

    return Ops(**{KERNELS[name]: getattr(triton_kernels, KERNELS[name]) for name in kernels})
