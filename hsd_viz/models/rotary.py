"""The frequencies of rotary position embeddings."""

from __future__ import annotations

import math

import numpy as np

from hsd_viz.models.form import Rotary


def default_frequencies(theta: float, head_dim: int) -> np.ndarray:
    """Return the unscaled angles per position ``[head_dim / 2]``, in float64."""
    exponents = np.arange(0, head_dim, 2) / head_dim
    return theta**-exponents


def llama3_factors(rotary: Rotary, head_dim: int) -> np.ndarray:
    """Return the divisors of the frequencies in Llama 3.1, ``[head_dim / 2]`` in float64.

    Frequencies of long wavelengths are divided by ``factor``, those of short ones are kept, and
    those between are interpolated (``_compute_llama3_parameters`` in transformers).
    """
    frequencies = default_frequencies(rotary.theta, head_dim)
    wavelengths = 2 * math.pi / frequencies
    low = rotary.low_frequency_factor
    high = rotary.high_frequency_factor
    share = (rotary.original_positions / wavelengths - low) / (high - low)
    share = share.clip(0.0, 1.0)
    scaled = (1 - share) / rotary.factor + share
    return 1 / scaled


def frequencies(rotary: Rotary, head_dim: int) -> np.ndarray:
    """Return the scaled angles per position ``[head_dim / 2]``, in float64."""
    plain = default_frequencies(rotary.theta, head_dim)
    if rotary.kind == "linear":
        return plain / rotary.factor
    if rotary.kind == "llama3":
        return plain / llama3_factors(rotary, head_dim)
    return plain
