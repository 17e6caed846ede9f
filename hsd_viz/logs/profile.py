"""Acceptance profiles: acceptance by position in a small file without text, in the form of ``speculation_profile.json``
(NVIDIA Model-Optimizer, specdec_bench, schema 1.0). Conditional rates are P(position i + 1 is accepted | the first i
were), marginal ones P(the first i + 1 are all accepted).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise, zip_longest
from math import sqrt
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.adapters.signatures import Served
from hsd_viz.disk import write_whole
from hsd_viz.latency.inputs import Edge

SCHEMA = "1.0"
#: Contexts up to which acceptance is counted together.
CONTEXTS = (2048, 8192, 32_768)
#: Allowed difference of the mean acceptance length from the one that the marginal rates imply.
TOLERANCE = 0.02
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Cell:
    """Acceptance of the requests of one category ("": not named) whose context has at most ``context`` tokens, above
    the next smaller of :data:`CONTEXTS` (``None``: not known, or longer).
    """

    category: str
    context: int | None
    rounds: int
    marginal_accept_rates: tuple[float, ...]


def cells_of(requests: Iterable[Served]) -> tuple[Cell, ...]:
    """Return acceptance by category and context; () where there is one of each."""
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
        cells.append(Cell(category, (*CONTEXTS, None)[bucket], round(sum(counts)), tuple(rates)))
    return tuple(cells) if len(cells) > 1 else ()


@dataclass(frozen=True, slots=True)
class AcceptanceProfile:
    """Acceptance of one drafter by one target. ``marginal[i]`` is P(the first i + 1 tokens are accepted);
    ``histogram`` counts rounds by emitted tokens (1: nothing was accepted), empty if unknown; ``cells`` divides them by
    category and context.
    """

    marginal: tuple[float, ...]
    method: str = ""
    draft: str = ""
    target: str = ""
    histogram: Mapping[int, int] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()

    def __post_init__(self) -> None:
        chain = (1.0, *self.marginal)
        if not self.marginal or any(not 0 <= b <= a + 1e-9 for a, b in pairwise(chain)):
            raise ValueError("marginal acceptance rates must not rise and must stay from 1 to 0")

    @property
    def conditional(self) -> tuple[float, ...]:
        return tuple(b / a if a else 0.0 for a, b in pairwise((1.0, *self.marginal)))

    @property
    def mean_length(self) -> float:
        """Emitted tokens per round, the target's own included."""
        return 1 + sum(self.marginal)

    def edge(self) -> Edge:
        """Return the survival curve for the law; later positions continue with the last conditional rate."""
        # Rounding in the file may let a rate rise in its last digit.
        return Edge(tuple(accumulate(self.marginal, min)), self.conditional[-1])

    def to_dict(self) -> dict[str, Any]:
        """Return the data of ``speculation_profile.json``."""
        rounded = lambda rates: [round(rate, 6) for rate in rates]
        return {
            "schema_version": SCHEMA,
            "measured": True,
            "method": self.method or None,
            "draft_checkpoint": {"name": self.draft} if self.draft else None,
            "target_model": {"name": self.target} if self.target else None,
            "num_speculative_tokens": len(self.marginal),
            "max_supported_k": len(self.marginal),
            "verification_method": "longest_prefix",
            "conditional_accept_rates": rounded(self.conditional),
            "marginal_accept_rates": rounded(self.marginal),
            "mean_accept_length": round(self.mean_length, 6),
            "accept_length_model": "chain_analytic",
            "accept_length_by_k": {str(len(self.marginal)): round(self.mean_length, 6)},
            "acceptance_length_histogram": {str(k): n for k, n in self.histogram.items()} or None,
            "measurement_conditions": dict(self.conditions) or None,
            "cells": [asdict(cell) for cell in self.cells] or None,
        }

    def save(self, path: str | Path) -> Path:
        """Write the profile."""
        write_whole(Path(path), json.dumps(self.to_dict(), indent=1) + "\n")
        return Path(path)


def read_profile(path: str | Path) -> AcceptanceProfile:
    """Read a ``speculation_profile.json``. Raises: ValueError: if it cannot be read, was not measured, describes block
    verification, or contradicts itself.
    """
    path = Path(path).expanduser()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
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
        cells = data.get("cells") or ()
        marginal = data.get("marginal_accept_rates") or accumulate(data["conditional_accept_rates"], mul)
        found = AcceptanceProfile(
            tuple(map(float, marginal)),
            data.get("method") or "",
            _name(data.get("draft_checkpoint")),
            _name(data.get("target_model")),
            {int(k): int(n) for k, n in (data.get("acceptance_length_histogram") or {}).items()},
            data.get("measurement_conditions") or {},
            tuple(Cell(**row | {"marginal_accept_rates": tuple(row["marginal_accept_rates"])}) for row in cells),
        )
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a usable profile: {error}") from None
    mean = data.get("mean_accept_length")
    if isinstance(mean, int | float) and abs(mean - found.mean_length) > TOLERANCE * found.mean_length:
        raise ValueError(
            f"{path} contradicts itself: a mean length of {mean:.2f}, but its rates imply {found.mean_length:.2f}"
        )
    return found


def difference(before: AcceptanceProfile, after: AcceptanceProfile) -> tuple[float, float, float]:
    """Return the change of the mean acceptance length with its 95 % interval. Raises: ValueError: if a profile has no
    histogram of at least two rounds.
    """
    means, errors = [], []
    for profile in (before, after):
        lengths = np.repeat(list(profile.histogram), list(profile.histogram.values()))
        if len(lengths) < 2:
            raise ValueError("a profile without acceptance_length_histogram has no interval: measure it again")
        means.append(float(lengths.mean()))
        errors.append(float(lengths.var(ddof=1)) / len(lengths))
    half, change = _Z * sqrt(sum(errors)), means[1] - means[0]
    return change, change - half, change + half


def _name(given: Any) -> str:
    if isinstance(given, Mapping):
        given = given.get("name") or given.get("id") or given.get("path") or ""
    return str(given or "")
