"""Settings that several products take, declared once."""

from __future__ import annotations

from typing import Annotated as A
from typing import Literal

from hsd_viz.measure.given_types import Engine
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import MAX_GPUS, Range

#: Figures of a GPU that is not known by its name.
Bandwidth = A[float | None, Setting("GB/s of an unknown GPU", CliOption("GB"))]
Flops = A[float | None, Setting("dense 16-bit TFLOP/s of an unknown GPU", CliOption("TF"))]
GpuMemory = A[float | None, Setting("memory of an unknown GPU", CliOption("GB"), unit="GB")]
#: How a model is stored on GPUs.
Weights = Literal["bf16", "fp8", "int8", "int4", "fp4"]
WeightsFormat = A[Weights, Setting("format of the weights", CliOption("FORMAT"))]
Tp = A[
    int,
    Setting(
        "GPUs that share each model",
        CliOption("N"),
        Range(1, MAX_GPUS),
        noun="the number of GPUs",
    ),
]
#: What decodes for a measurement.
MeasuringEngine = A[
    Engine | None,
    Setting("what decodes; by default the shipped models on one thread", option=None),
]
Repeats = A[
    int,
    Setting(
        "runs of each prompt and stack; times are medians",
        CliOption("N", shows_range=False),
        Range(1, 1_000_000),
        noun="the number of repeats",
    ),
]
