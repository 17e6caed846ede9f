"""Acceptance profiles: the acceptance by position, without the text.

The format is that of ``speculation_profile.json`` (NVIDIA Model-Optimizer, specdec_bench, schema
1.0), extended by the acceptance by category, context and temperature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise, zip_longest
from math import inf, sqrt
from operator import mul
from pathlib import Path
from typing import Any

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.disk import read_object
from hsd_viz.errors import BadFile, UserError
from hsd_viz.latency.inputs import Edge
from hsd_viz.latency.speedup import Z
from hsd_viz.measure.doctor.observation import Observation, Served
from hsd_viz.results.positions import at_least

#: Upper bounds of the groups of contexts, in tokens.
CONTEXTS = (2048, 8192, 32_768)
#: Allowed difference between a profile's mean acceptance length and that of its rates.
LENGTH_TOLERANCE = 0.02


def acceptance_of(seen: Observation) -> tuple[float, ...]:
    """Return P(the first k draft tokens are accepted), k = 1, 2, ...

    If lengths vary and are unknown, these are the rates over all drafts, as engines define them.

    Raises:
        UserError: if only the mean is known.
    """
    rates = seen.rates_by_position()
    if not rates and seen.varied:
        rates = [*seen.rates]
    if not rates:
        raise UserError(f"{seen.source} has no acceptance by position, only its mean")
    # With drafts of many lengths, a rate may exceed the previous one.
    return tuple(accumulate(rates, min))


def edge_of(rates: Sequence[float]) -> Edge:
    """Return the survival curve of acceptance rates by position. Later positions have the last
    conditional rate.
    """
    return Edge(tuple(rates), _conditional(rates)[-1])


def profile_of(seen: Observation) -> dict[str, Any]:
    """Return the data of ``speculation_profile.json``.

    Raises:
        UserError: as :func:`acceptance_of`.
    """
    marginal = acceptance_of(seen)
    histogram: Counter[int] = Counter()
    for (depth, accepted), n in seen.rounds.items():
        if depth:
            histogram[accepted + 1] += n
    conditions: dict[str, Any] = {"source": seen.source}
    if seen.total:
        conditions["rounds"] = seen.total
    if seen.varied:
        conditions["draft_lengths"] = "several, unknown: rates are of all drafts"
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
        "measurement_conditions": conditions,
    }


def cells_of(requests: Iterable[Served]) -> list[dict[str, Any]]:
    """Return the acceptance by category, context and temperature; [] if there is only one cell.

    ``category`` is "" if it is not named. ``context`` is the upper bound of the group, of
    :data:`CONTEXTS`; ``None``: longer or unknown.
    """
    sums: dict[tuple[str, float, float], list[float]] = {}
    for request in requests:
        if not request.histogram:
            continue
        key = (
            request.category,
            _context_cell(request.context),
            -1.0 if request.temperature is None else request.temperature,
        )
        rows = zip_longest(sums.get(key, []), request.histogram, fillvalue=0)
        sums[key] = list(map(sum, rows))
    cells = [_cell(key, counts) for key, counts in sorted(sums.items())]
    return cells if len(cells) > 1 else []


def _context_cell(context: float | None) -> float:
    if context is None:
        return inf
    return next((most for most in CONTEXTS if context <= most), inf)


def _cell(key: tuple[str, float, float], counts: Sequence[float]) -> dict[str, Any]:
    category, context, temperature = key
    rounds = sum(counts)
    rates = []
    if rounds:
        rates = [round(reached / rounds, 6) for reached in at_least(counts)]
    return {
        "category": category,
        "context": None if context == inf else context,
        "temperature": None if temperature < 0 else temperature,
        "rounds": round(rounds),
        "marginal_accept_rates": rates,
    }


def _conditional(marginal: Sequence[float]) -> list[float]:
    return [b / a if a else 0.0 for a, b in pairwise((1.0, *marginal))]


class _SavedProfile(msgspec.Struct):
    """The fields of a saved profile that are read.

    Attributes:
        marginal_accept_rates: P(the first k tokens are accepted), k = 1, 2, ...
        conditional_accept_rates: P(token k is accepted after those before it).
        acceptance_length_histogram: rounds by tokens per forward pass.
        mean_accept_length: mean tokens per forward pass.
    """

    marginal_accept_rates: list[float] | None = None
    conditional_accept_rates: list[float] | None = None
    acceptance_length_histogram: dict[int, int] | None = None
    mean_accept_length: float | None = None


def read_profile(path: Path) -> dict[str, Any]:
    """Return a profile as :func:`profile_of`.

    Raises:
        BadFile: if it is not usable or was not measured.
    """
    data = read_object(path, "profile")
    if "marginal_accept_rates" not in data and "conditional_accept_rates" not in data:
        raise BadFile(f"{path} is not an acceptance profile: it has no acceptance rates")
    if data.get("measured") is False:
        raise BadFile(f"{path} is a placeholder: it says that nothing was measured")
    rule = data.get("verification_method")
    if rule not in (None, "longest_prefix"):
        raise BadFile(f"{path} is of {rule} verification, whose rates do not form a survival curve")
    try:
        profile = msgspec.convert(data, _SavedProfile, str_keys=True)
        marginal = _marginal(profile)
    except (UserError, *OF_ANOTHER_TYPE) as error:
        raise BadFile(f"{path} is not a usable profile: {error}") from None
    mean = profile.mean_accept_length
    implied = 1 + sum(marginal)
    if mean is not None and abs(mean - implied) > LENGTH_TOLERANCE * implied:
        raise BadFile(
            f"{path} contradicts itself: a mean length of {mean:.2f}, but its rates imply "
            f"{implied:.2f}"
        )
    histogram = profile.acceptance_length_histogram or {}
    return {
        **data,
        # Rounding in the file may let a rate rise in its last digit.
        "marginal_accept_rates": [*accumulate(marginal, min)],
        "acceptance_length_histogram": {str(k): n for k, n in histogram.items()} or None,
    }


def _marginal(profile: _SavedProfile) -> list[float]:
    """Return the marginal rates of a profile.

    Raises:
        UserError: if there are none, or if they rise.
    """
    rates = profile.marginal_accept_rates
    if not rates:
        rates = list(accumulate(profile.conditional_accept_rates or (), mul))
    pairs = pairwise((1.0, *rates))
    if not rates or any(not 0 <= later <= earlier + 1e-9 for earlier, later in pairs):
        raise UserError("marginal acceptance rates must not rise and must stay from 1 to 0")
    return rates


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the change of the mean acceptance length between two profiles, and the ends of its
    95 % interval.

    Raises:
        UserError: if a profile has no histogram.
    """
    means = []
    errors = []
    for profile in (before, after):
        histogram = profile.get("acceptance_length_histogram") or {}
        rounds = sum(histogram.values())
        if rounds < 2:
            raise UserError(
                "a profile without acceptance_length_histogram has no interval: measure it again"
            )
        mean = sum(int(length) * count for length, count in histogram.items()) / rounds
        squares = 0.0
        for length, count in histogram.items():
            squares += count * (int(length) - mean) ** 2
        means.append(mean)
        errors.append(squares / (rounds - 1) / rounds)
    half = Z * sqrt(sum(errors))
    change = means[1] - means[0]
    return change, change - half, change + half
