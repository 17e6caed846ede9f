"""Acceptance profiles: acceptance by position without text, in the form of ``speculation_profile.json`` (NVIDIA
Model-Optimizer, specdec_bench, schema 1.0), and by category, context and temperature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise, zip_longest
from math import inf, sqrt
from operator import mul
from pathlib import Path
from typing import Any

from hsd_viz.adapters.observation import Observation, Served
from hsd_viz.disk import read_json
from hsd_viz.errors import UserError
from hsd_viz.latency.inputs import Edge

#: Contexts up to which acceptance is counted together.
CONTEXTS = (2048, 8192, 32_768)
#: Allowed difference of a profile's mean acceptance length from the one that its rates imply.
TOLERANCE = 0.02
#: Standard errors on each side of a 95 % interval.
Z = 1.959964


def acceptance_of(seen: Observation) -> tuple[float, ...]:
    """Return P(the first k draft tokens are accepted), k = 1, 2, ... Raises: ValueError: if only the mean is known."""
    if not (rates := seen.rates_by_position()):
        raise UserError(f"{seen.source} has no acceptance by position, only its mean")
    # Of drafts of many lengths, a rate may rise.
    return tuple(accumulate(rates, min))


def edge_of(rates: Sequence[float]) -> Edge:
    """Return the survival curve of acceptance by position; later positions continue with the last conditional rate."""
    return Edge(tuple(rates), _conditional(rates)[-1])


def profile_of(seen: Observation) -> dict[str, Any]:
    """Return the data of ``speculation_profile.json``. Raises: ValueError: as :func:`acceptance_of`."""
    marginal, histogram = acceptance_of(seen), Counter[int]()
    for (_, accepted), n in seen.rounds.items():
        histogram[accepted + 1] += n
    return {
        "schema_version": "1.0",
        "measured": True,
        "method": seen.method,
        "num_speculative_tokens": len(marginal),
        "verification_method": "longest_prefix",
        "conditional_accept_rates": [round(rate, 6) for rate in _conditional(marginal)],
        "marginal_accept_rates": [round(rate, 6) for rate in marginal],
        "mean_accept_length": round(1 + sum(marginal), 6),
        "acceptance_length_histogram": {str(k): n for k, n in sorted(histogram.items())} or None,
        "cells": cells_of(seen.requests) or None,
        "measurement_conditions": {"source": seen.source}
        | ({"rounds": seen.total} if seen.rounds else {}),
    }


def cells_of(requests: Iterable[Served]) -> list[dict[str, Any]]:
    """Return acceptance by ``category`` ("": not named), ``context`` (at most so many tokens, and above the next
    smaller of :data:`CONTEXTS`; ``None``: longer or unknown) and ``temperature``; [] where there is one cell.
    """
    sums: dict[tuple[str, float, float], list[float]] = {}
    for one in requests:
        context = next(
            (most for most in CONTEXTS if one.context is not None and one.context <= most), inf
        )
        key = one.category, context, -1.0 if one.temperature is None else one.temperature
        if one.histogram:
            sums[key] = [
                a + b for a, b in zip_longest(sums.get(key, []), one.histogram, fillvalue=0)
            ]
    cells = []
    for (category, context, temperature), counts in sorted(sums.items()):
        rounds = sum(counts)
        rates = (
            [round(sum(counts[k:]) / rounds, 6) for k in range(1, len(counts))] if rounds else []
        )
        about = {"category": category, "context": None if context == inf else context}
        about |= {"temperature": None if temperature < 0 else temperature, "rounds": round(rounds)}
        cells.append({**about, "marginal_accept_rates": rates})
    return cells if len(cells) > 1 else []


def _conditional(marginal: Sequence[float]) -> list[float]:
    return [b / a if a else 0.0 for a, b in pairwise((1.0, *marginal))]


def read_profile(path: Path) -> dict[str, Any]:
    """Return a profile as :func:`profile_of`. Raises: ValueError: if it is not usable or was not measured."""
    data = read_json(path, "profile")
    if not isinstance(data, dict) or not (
        "marginal_accept_rates" in data or "conditional_accept_rates" in data
    ):
        raise UserError(f"{path} is not an acceptance profile: it has no acceptance rates")
    if data.get("measured") is False:
        raise UserError(f"{path} is a placeholder: it says that nothing was measured")
    if (rule := data.get("verification_method")) not in (None, "longest_prefix"):
        raise UserError(
            f"{path} is of {rule} verification, whose rates do not form a survival curve"
        )
    try:
        rates = data.get("marginal_accept_rates") or accumulate(
            data["conditional_accept_rates"], mul
        )
        marginal = [float(rate) for rate in rates]
        if not marginal or any(not 0 <= b <= a + 1e-9 for a, b in pairwise((1.0, *marginal))):
            raise UserError("marginal acceptance rates must not rise and must stay from 1 to 0")
        histogram = {
            str(int(k)): int(n) for k, n in (data.get("acceptance_length_histogram") or {}).items()
        }
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError) as error:
        raise UserError(f"{path} is not a usable profile: {error}") from None
    mean, implied = data.get("mean_accept_length"), 1 + sum(marginal)
    if isinstance(mean, int | float) and abs(mean - implied) > TOLERANCE * implied:
        raise UserError(
            f"{path} contradicts itself: a mean length of {mean:.2f}, but its rates imply {implied:.2f}"
        )
    # Rounding in the file may let a rate rise in its last digit.
    rates = [*accumulate(marginal, min)]
    return {
        **data,
        "marginal_accept_rates": rates,
        "acceptance_length_histogram": histogram or None,
    }


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the change of the mean length between two profiles, with the ends of its 95 % interval."""
    means, errors = [], []
    for profile in (before, after):
        histogram = {
            int(k): n for k, n in (profile.get("acceptance_length_histogram") or {}).items()
        }
        if (rounds := sum(histogram.values())) < 2:
            raise UserError(
                "a profile without acceptance_length_histogram has no interval: measure it again"
            )
        means.append(mean := sum(k * n for k, n in histogram.items()) / rounds)
        errors.append(
            sum(n * (k - mean) ** 2 for k, n in histogram.items()) / (rounds - 1) / rounds
        )
    half, change = Z * sqrt(sum(errors)), means[1] - means[0]
    return change, change - half, change + half
