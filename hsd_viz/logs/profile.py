"""Acceptance profiles: acceptance by position in a small file without text, in the form of ``speculation_profile.json``
(NVIDIA Model-Optimizer, specdec_bench, schema 1.0). Conditional rates are P(position i + 1 is accepted | the first i
were), marginal ones P(the first i + 1 are all accepted).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from operator import mul
from pathlib import Path
from typing import Any

from hsd_viz.adapters.observation import Observation
from hsd_viz.disk import MOST_JSON, read_text
from hsd_viz.latency.inputs import Edge

SCHEMA = "1.0"
#: Allowed difference of the mean acceptance length from the one that the marginal rates imply.
TOLERANCE = 0.02


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
    return {
        "schema_version": SCHEMA,
        "measured": True,
        "method": seen.method,
        "num_speculative_tokens": len(marginal),
        "verification_method": "longest_prefix",
        "conditional_accept_rates": [round(rate, 6) for rate in _conditional(marginal)],
        "marginal_accept_rates": [round(rate, 6) for rate in marginal],
        "mean_accept_length": round(1 + sum(marginal), 6),
        "acceptance_length_histogram": {str(k): n for k, n in sorted(histogram.items())} or None,
        "measurement_conditions": {"source": seen.source} | ({"rounds": seen.total} if seen.rounds else {}),
    }


def edge_of(profile: Mapping[str, Any]) -> Edge:
    """Return the survival curve of a profile for the law; later positions continue with the last conditional rate."""
    # Rounding in the file may let a rate rise in its last digit.
    marginal = tuple(accumulate(profile["marginal_accept_rates"], min))
    return Edge(marginal, _conditional(marginal)[-1])


def _conditional(marginal: Sequence[float]) -> list[float]:
    return [b / a if a else 0.0 for a, b in pairwise((1.0, *marginal))]


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
    if (rule := data.get("verification_method")) not in (None, "longest_prefix"):
        raise ValueError(f"{path} is of {rule} verification, whose rates do not form a survival curve")
    try:
        rates = data.get("marginal_accept_rates") or accumulate(data["conditional_accept_rates"], mul)
        marginal = [float(rate) for rate in rates]
        if not marginal or any(not 0 <= b <= a + 1e-9 for a, b in pairwise((1.0, *marginal))):
            raise ValueError("marginal acceptance rates must not rise and must stay from 1 to 0")
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a usable profile: {error}") from None
    mean, implied = data.get("mean_accept_length"), 1 + sum(marginal)
    if isinstance(mean, int | float) and abs(mean - implied) > TOLERANCE * implied:
        raise ValueError(f"{path} contradicts itself: a mean length of {mean:.2f}, but its rates imply {implied:.2f}")
    return {**data, "marginal_accept_rates": marginal}
