"""Published figures of Hierarchy Drafting, for comparison: never mixed with measurements, always with their source.

All are for Vicuna-7B on Spec-Bench, from the authors' plotting script (repository zomss/Hierarchy_Drafting, commit
9d3f897, 2024-10-07, ``scripts/visualize.py``). The camera-ready paper may differ, and the machine is not named: compare
shapes and orders of magnitude. Their *acceptance ratio* is the share of tokens from steps that emitted more than one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SCRIPT = "zomss/Hierarchy_Drafting, commit 9d3f897, scripts/visualize.py"


@dataclass(frozen=True, slots=True)
class Published:
    """One row of a published figure: label, values by name, and source."""

    what: str
    figures: dict[str, Any] = field(default_factory=dict)
    source: str = SCRIPT


def _rows(names: tuple[str, ...], where: str, *rows: tuple) -> tuple[Published, ...]:
    return tuple(
        Published(what, dict(zip(names, figures, strict=True)), f"{SCRIPT} ({where})") for what, *figures in rows
    )


#: Drafting latency in ms per step, acceptance ratio, speed-up over plain decoding; greedy.
METHODS = _rows(
    ("draft_ms", "acceptance_ratio", "speedup"),
    "latency and acceptance of methods, greedy",
    ("HD", 2.17, 0.7521, 1.51),
    ("prompt lookup", 0.31, 0.4522, 1.33),
    ("REST", 2.86, 0.6651, 1.18),
    ("Lookahead", 0.01, 0.4392, 1.17),
)
#: Database subsets: acceptance ratio, drafting latency in ms per step. HD has 0.7952 here and 0.7521 in
#: :data:`METHODS`: two versions of the runs.
DATABASES = _rows(
    ("acceptance_ratio", "draft_ms"),
    "database ablation",
    ("context, model, statistics", 0.7952, 2.17),
    ("context, model", 0.7560, 0.03),
    ("context, statistics", 0.7842, 9.49),
    ("model, statistics", 0.6085, 2.88),
    ("context", 0.5878, 0.02),
    ("model", 0.4583, 0.03),
    ("statistics", 0.6182, 12.51),
)
#: Database orders: speed-up, and token shares by database where the script has them.
ORDERS = _rows(
    ("speedup", "shares"),
    "order ablation, an older version of the figure",
    ("context, model, statistics", 1.72, {"context": 0.5372, "model": 0.0916, "statistics": 0.0459}),
    ("context, statistics, model", 1.67, {"context": 0.5302, "statistics": 0.1726}),
    ("model, context, statistics", 1.31, {"model": 0.2754, "context": 0.1803, "statistics": 0.0429}),
    ("model, statistics, context", 1.22, {"model": 0.2912, "statistics": 0.1427}),
    ("statistics, context, model", 1.07, {"statistics": 0.5355}),
    ("statistics, model, context", 1.07, {"statistics": 0.5410}),
)
#: Speed-up over plain decoding by temperature.
TEMPERATURES = _rows(
    ("speedup",),
    "temperature sweep",
    (
        "HD",
        {0.1: 1.47, 0.2: 1.46, 0.3: 1.43, 0.4: 1.43, 0.5: 1.43, 0.6: 1.42, 0.7: 1.40, 0.8: 1.38, 0.9: 1.36, 1.0: 1.34},
    ),
    (
        "Lookahead",
        {0.1: 1.18, 0.2: 1.17, 0.3: 1.16, 0.4: 1.18, 0.5: 1.16, 0.6: 1.14, 0.7: 1.13, 0.8: 1.15, 0.9: 1.12, 1.0: 1.13},
    ),
    (
        "REST",
        {0.1: 1.18, 0.2: 1.17, 0.3: 1.17, 0.4: 1.20, 0.5: 1.19, 0.6: 1.19, 0.7: 1.18, 0.8: 1.20, 0.9: 1.18, 1.0: 1.20},
    ),
)
#: Credit line below a figure.
CREDIT = f"Published figures: Vicuna-7B on Spec-Bench, machine not named, from the authors' plotting script ({SCRIPT})."
