"""The settings of a GPU that is not known by its name: the doctor and predictions take them."""

from __future__ import annotations

from hsd_viz.settings.declare import CliOption, Setting

BANDWIDTH = Setting("GB/s of an unknown GPU", CliOption("GB"))
FLOPS = Setting("dense 16-bit TFLOP/s of an unknown GPU", CliOption("TF"))
GPU_MEMORY = Setting("memory of an unknown GPU", CliOption("GB"), unit="GB")
