"""The settings of audits with their defaults, declared once for the command and for Python."""

from __future__ import annotations

from typing import Annotated as A

from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import MAX_TOY_MODELS, Range

#: The difference below which probabilities count as equal.
Tolerance = A[
    float,
    Setting(
        "probabilities that differ by less are equal; 1e-5 for float32",
        CliOption("E"),
        Range(0, 0.1),
    ),
]
TOLERANCE = 1e-9
#: The number of toy models of an audited function.
ToyModels = A[
    int, Setting("toy models, the target included", CliOption("N"), Range(1, MAX_TOY_MODELS))
]
TOY_MODELS = 2
#: The number of pairs of sampled texts of two endpoints.
Samples = A[int, Setting("most pairs", CliOption("N"), Range(0, 1_000_000))]
SAMPLES = 400
#: The temperature of these texts.
Temperature = A[float, Setting("temperature of the samples", CliOption("T"), Range(0.01, 10))]
TEMPERATURE = 1.0
#: The significance of their test.
Alpha = A[float, Setting("the largest rate of false alarms", CliOption("A"), Range(1e-9, 0.5))]
ALPHA = 0.001
#: The difference between the log probabilities of two tokens that rounding explains.
NearTie = A[
    float,
    Setting(
        "difference of log probabilities that rounding may explain, in nats",
        CliOption("D"),
        Range(0, 10),
    ),
]
NEAR_TIE = 0.05
