"""The figures of cards in their data sheets, and the look-up of cards by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hsd_viz.latency.known import PUBLISHED_FIGURES, by_name
from hsd_viz.settings.ranges import check_range


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card with the figures of its data sheet.

    Attributes:
        name: the name of the card.
        bandwidth: the memory bandwidth in GB/s.
        flops: the dense TFLOP/s with 16 bits.
        flops8: the dense TFLOP/s with 8 bits.
        memory: the memory in GB.
        vendor: ``nvidia``, ``amd``, ``intel`` or ``apple``.
        flops4: the dense TFLOP/s with 4 bits; 0 means as with 8 bits.
    """

    name: str
    bandwidth: float
    flops: float
    flops8: float
    memory: float
    vendor: str = "nvidia"
    flops4: float = 0.0

    def peak(self, weights: str) -> float:
        """Return the TFLOP/s for a weight format; integer weights are multiplied in 16 bits."""
        if weights == "fp8":
            return self.flops8
        if weights == "fp4":
            return self.flops4 or self.flops8
        return self.flops


def _gpu(name: str, row: Sequence[Any]) -> Gpu:
    """Return the card of a row in ``hardware.json``, whose last two columns may be left out."""
    return Gpu(
        name=name,
        bandwidth=row[0],
        flops=row[1],
        flops8=row[2],
        memory=row[3],
        vendor=row[4] if len(row) > 4 else "nvidia",
        flops4=row[5] if len(row) > 5 else 0.0,
    )


GPUS = {name: _gpu(name, row) for name, row in PUBLISHED_FIGURES["gpus"].items()}


def gpu_of(
    name: str,
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
    hint: str = ", or give its bandwidth, FLOP rate and memory",
) -> Gpu:
    """Return a card by name, by its figures, or by name with some figures replaced.

    Spelling and case do not matter, and names as ``nvidia-smi`` prints them are known.

    Args:
        name: the name of the card.
        bandwidth: the memory bandwidth in GB/s.
        flops: the dense TFLOP/s with 16 bits.
        memory: the memory in GB.
        hint: the end of the error message.

    Raises:
        UserError: if the name is unknown and not all three figures are given.
    """
    figures = {"bandwidth": bandwidth, "FLOP rate": flops, "memory": memory}
    for what, value in figures.items():
        if value is not None:
            check_range(f"the {what} of {name or 'the GPU'}", value, 1e-3, 1e6)
    if bandwidth and flops and memory:
        return Gpu(name or "custom", bandwidth, flops, 2 * flops, memory)
    gpu = by_name(GPUS, _without_vendor(name), "GPU", hint, written=name)
    return replace(
        gpu,
        bandwidth=bandwidth or gpu.bandwidth,
        flops=flops or gpu.flops,
        flops8=2 * flops if flops else gpu.flops8,
        memory=memory or gpu.memory,
    )


#: Words in the names of ``nvidia-smi`` and ``rocm-smi`` that the names here do not contain.
_DRIVER_WORDS = {
    *("nvidia", "amd", "intel", "apple", "geforce", "instinct", "radeon", "tesla", "graphics"),
    *("workstation", "edition", "server", "generation", "max", "q", "accelerator", "oam"),
    *("hbm3e", "hbm3", "hbm2e", "hbm2"),
}
_TRADEMARKS = re.compile(r"\((?:r|tm)\)", re.IGNORECASE)
_SOCKETS = re.compile(r"\bsxm\d\b")


def _without_vendor(name: str) -> str:
    """Return the name in :data:`GPUS` of a card that a driver names, else the name without vendor.

    ``NVIDIA A100-SXM4-80GB`` is ``A100 SXM``. Words may be in any order, and the size of the memory
    matters only if names in :data:`GPUS` differ in it.
    """
    plain = _SOCKETS.sub("sxm", _TRADEMARKS.sub("", name).lower().replace("-", " "))
    words = [word for word in plain.replace("_", " ").split() if word not in _DRIVER_WORDS]
    unsized = [word for word in words if not re.fullmatch(r"\d+gb", word)]
    for candidate in (words, unsized):
        for key in GPUS:
            if sorted(candidate) == sorted(key.lower().split()):
                return key
    return " ".join(unsized) or name
