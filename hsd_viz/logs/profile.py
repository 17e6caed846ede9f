"""Acceptance profiles: acceptance by position in a small file without text, in the form of ``speculation_profile.json``
(NVIDIA Model-Optimizer, specdec_bench, schema 1.0). Conditional rates are P(position i + 1 is accepted | the first i
were), marginal ones P(the first i + 1 are all accepted).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise, zip_longest
from math import sqrt
from operator import mul
from pathlib import Path
from typing import Any

from hsd_viz.adapters.observation import Observation, Served
from hsd_viz.disk import MOST_JSON, read_text
from hsd_viz.latency.inputs import Edge

SCHEMA = "1.0"
#: Contexts up to which acceptance is counted together.
CONTEXTS = (2048, 8192, 32_768)
#: Allowed difference of the mean acceptance length from the one that the marginal rates imply.
TOLERANCE = 0.02
_Z = 1.959964


def cells_of(requests: Iterable[Served]) -> list[dict[str, Any]]:
    """Return acceptance by ``category`` ("": not named) and ``context`` (at most so many tokens and above the next
    smaller of :data:`CONTEXTS`; ``None``: longer or unknown); [] where there is one of each.
    """
    sums: dict[tuple[str, int], list[float]] = {}
    for one in requests:
        if one.histogram:
            length = float("inf") if one.context is None else one.context
            bucket = next((k for k, most in enumerate(CONTEXTS) if length <= most), len(CONTEXTS))
            so_far = sums.get((one.category, bucket), [])
            sums[one.category, bucket] = [a + b for a, b in zip_longest(so_far, one.histogram, fillvalue=0)]
    cells = []
    for (category, bucket), counts in sorted(sums.items()):
        rates = [round(sum(counts[k:]) / sum(counts), 6) for k in range(1, len(counts))] if sum(counts) else []
        about = {"category": category, "context": (*CONTEXTS, None)[bucket], "rounds": round(sum(counts))}
        cells.append({**about, "marginal_accept_rates": rates})
    return cells if len(cells) > 1 else []


def profile_of(seen: Observation) -> dict[str, Any]:
    """Return the data of ``speculation_profile.json`` of an observation. Raises: ValueError: if only the mean of its
    acceptance is known.
    """
    if not (rates := seen.rates_by_position()):
        raise ValueError(f"{seen.source} has no acceptance by position, only its mean")
    marginal = tuple(accumulate(rates, min))
    histogram: Counter[int] = Counter()
    for (_, accepted), n in seen.rounds.items():
        histogram[accepted + 1] += n
    length = round(1 + sum(marginal), 6)
    return {
        "schema_version": SCHEMA,
        "measured": True,
        "method": seen.method,
        "draft_checkpoint": None,
        "target_model": None,
        "num_speculative_tokens": len(marginal),
        "max_supported_k": len(marginal),
        "verification_method": "longest_prefix",
        "conditional_accept_rates": [round(rate, 6) for rate in conditional(marginal)],
        "marginal_accept_rates": [round(rate, 6) for rate in marginal],
        "mean_accept_length": length,
        "accept_length_model": "chain_analytic",
        "accept_length_by_k": {str(len(marginal)): length},
        "acceptance_length_histogram": {str(k): n for k, n in sorted(histogram.items())} or None,
        "measurement_conditions": {"source": seen.source} | ({"rounds": seen.total} if seen.rounds else {}),
        "cells": cells_of(seen.requests) or None,
    }


def conditional(marginal: Sequence[float]) -> list[float]:
    """Return the conditional rates of marginal ones."""
    return [b / a if a else 0.0 for a, b in pairwise((1.0, *marginal))]


def edge_of(profile: Mapping[str, Any]) -> Edge:
    """Return the survival curve of a profile for the law; later positions continue with the last conditional rate."""
    # Rounding in the file may let a rate rise in its last digit.
    marginal = tuple(accumulate(profile["marginal_accept_rates"], min))
    return Edge(marginal, conditional(marginal)[-1])


def read_profile(path: str | Path) -> dict[str, Any]:
    """Read a ``speculation_profile.json``; its marginal rates are always filled in. Raises: ValueError: if it cannot be
    read, was not measured, describes block verification, or contradicts itself.
    """
    path = Path(path).expanduser()
    try:
        data = json.loads(read_text(path, "profile", MOST_JSON))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a readable profile: {error}") from None
    if not isinstance(data, dict) or not ("marginal_accept_rates" in data or "conditional_accept_rates" in data):
        raise ValueError(f"{path} is not an acceptance profile: it has no acceptance rates")
    if data.get("measured") is False:
        raise ValueError(f"{path} is a placeholder: it says that nothing was measured")
    if data.get("verification_method") not in (None, "longest_prefix"):
        raise ValueError(
            f"{path} is of {data['verification_method']} verification, whose rates do not form a survival curve"
        )
    try:
        rates = data.get("marginal_accept_rates") or accumulate(data["conditional_accept_rates"], mul)
        marginal = [float(rate) for rate in rates]
        if not marginal or any(not 0 <= b <= a + 1e-9 for a, b in pairwise((1.0, *marginal))):
            raise ValueError("marginal acceptance rates must not rise and must stay from 1 to 0")
        histogram = {int(k): int(n) for k, n in (data.get("acceptance_length_histogram") or {}).items()}
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a usable profile: {error}") from None
    mean, implied = data.get("mean_accept_length"), 1 + sum(marginal)
    if isinstance(mean, int | float) and abs(mean - implied) > TOLERANCE * implied:
        raise ValueError(f"{path} contradicts itself: a mean length of {mean:.2f}, but its rates imply {implied:.2f}")
    return {**data, "marginal_accept_rates": marginal, "acceptance_length_histogram": histogram}


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the change of the mean acceptance length between two profiles with its 95 % interval. Raises: ValueError:
    if a profile has no histogram of at least two rounds.
    """
    means, errors = [], []
    for profile in (before, after):
        histogram = profile.get("acceptance_length_histogram") or {}
        if (rounds := sum(histogram.values())) < 2:
            raise ValueError("a profile without acceptance_length_histogram has no interval: measure it again")
        mean = sum(int(k) * n for k, n in histogram.items()) / rounds
        means.append(mean)
        errors.append(sum(n * (int(k) - mean) ** 2 for k, n in histogram.items()) / (rounds - 1) / rounds)
    half, change = _Z * sqrt(sum(errors)), means[1] - means[0]
    return change, change - half, change + half
