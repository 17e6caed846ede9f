"""Fit the efficiencies of :mod:`hsd_viz.latency.efficiency` on published figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.published import ROUNDS_FITTED, Published, PublishedSpeedUp
from benchmarks.published_figures import (
    FITTED_APPLE,
    FITTED_GAUDI,
    FITTED_GPT_FAST,
    FITTED_INSTINCT,
    FITTED_LLAMA_CPP,
    SPEED_UPS,
)
from hsd_viz.latency.efficiency import PUBLISHED, Efficiency
from hsd_viz.latency.shapes import WEIGHTS


def fit() -> None:
    """Print the efficiencies fitted on the parts of :data:`FITTED`."""
    import numpy as np
    from scipy.optimize import least_squares, minimize_scalar

    def efficiency(x: Any) -> Efficiency:
        formats = {**dict.fromkeys(PUBLISHED.bandwidth, x[0]), "int8": x[1], "int4": x[2]}
        return Efficiency(formats, PUBLISHED.compute, x[3], x[4], 0.0, "published", "")

    def llama_cpp(x: Any) -> Efficiency:
        formats = {**dict.fromkeys(WEIGHTS, x[0]), "int4": x[1]}
        return Efficiency(formats, PUBLISHED.compute, x[3], 0.0, 0.0, "published", "", cache=x[2])

    def instinct(x: Any) -> Efficiency:
        return replace(PUBLISHED, layer_us=x[0], sequence_us=x[1])

    def gaudi(x: Any) -> Efficiency:
        return replace(PUBLISHED, bandwidth=dict.fromkeys(WEIGHTS, x[0]), rereads=x[1])

    def fitted(
        rows: Sequence[Published], efficiency_of: Callable[[Any], Efficiency], *start: float
    ) -> Any:
        """Return the constants with the least error, from a start; times are up to 5000 us,
        shares up to 1.
        """
        is_share = np.array(start) < 1
        least = np.where(is_share, 0.02, 0.0)
        top = np.where(is_share, 1.0, 5000.0)

        def errors(x):
            return _log_errors(rows, efficiency_of(x))

        solution = least_squares(errors, start, bounds=(least, top), loss="soft_l1", f_scale=0.05)
        return solution.x.round(4)

    print("gpt-fast", fitted(FITTED_GPT_FAST, efficiency, 0.8, 0.65, 0.5, 40, 20))
    print("llama.cpp", fitted(FITTED_LLAMA_CPP, llama_cpp, 0.8, 0.6, 0.3, 20))
    print("apple", fitted(FITTED_APPLE, llama_cpp, 0.8, 0.6, 0.3, 20))
    print("instinct", fitted(FITTED_INSTINCT, instinct, 50, 100))
    print("gaudi", fitted(FITTED_GAUDI, gaudi, 0.8, 0.5))

    def loss(us: float) -> float:
        efficiency = replace(PUBLISHED, round_us=us)
        total = 0.0
        for model in ROUNDS_FITTED:
            rows = [row for row in SPEED_UPS if row.model == model]
            total += np.mean(np.square(_log_errors(rows, efficiency)))
        return total

    print(minimize_scalar(loss, bounds=(0, 5000), method="bounded").x)


def _log_errors(
    rows: Sequence[Published] | Sequence[PublishedSpeedUp], efficiency: Efficiency
) -> list[float]:
    """Return the logarithm of each predicted figure over the published one."""
    return [math.log1p(row.error(efficiency)) for row in rows]
