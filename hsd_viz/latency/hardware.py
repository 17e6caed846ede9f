"""Step times of models on graphics cards, estimated from published memory bandwidth; nothing is measured here.

At batch size 1 a forward pass reads every weight once, so that a step takes at least bytes of weights / bandwidth.
Weights have 2 bytes per parameter (bfloat16); KV cache, launches and arithmetic are left out, so that verifying a few
tokens is free. Bandwidths are those of NVIDIA's data sheets: H200 (4.8 TB/s), H100 SXM (3.35 TB/s), A100 80GB SXM
(2,039 GB/s) and GeForce RTX 4090 (1,008 GB/s).
"""

from __future__ import annotations

#: Bytes per second.
BANDWIDTH = {"H200": 4.8e12, "H100 SXM": 3.35e12, "A100 80GB SXM": 2.04e12, "RTX 4090": 1.01e12}
BYTES_PER_PARAMETER = 2
#: Parameters of the target and of its draft models, the largest first, in billions.
MODELS = (8, 3, 1)


def step_ms(billions: float, gpu: str) -> float:
    """Return the estimated milliseconds of a forward pass. Raises: ValueError: if the card is unknown."""
    if gpu not in BANDWIDTH:
        raise ValueError(f"no bandwidth is known for {gpu!r}: use {', '.join(BANDWIDTH)}")
    return 1e3 * billions * 1e9 * BYTES_PER_PARAMETER / BANDWIDTH[gpu]


def source(gpu: str, sizes: tuple[float, ...]) -> str:
    """Return where the step times of models of these sizes come from, target first."""
    steps = ", ".join(f"{size:g}B {step_ms(size, gpu):.2f} ms" for size in sizes)
    return (
        f"Estimated from published bandwidth, not measured: {gpu} with {BANDWIDTH[gpu] / 1e12:g} TB/s, "
        f"{BYTES_PER_PARAMETER} bytes per parameter; per step {steps}. Verifying is taken as free, and acceptance "
        "is not that of these models."
    )
