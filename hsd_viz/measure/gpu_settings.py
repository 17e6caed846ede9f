"""The settings of a GPU that is not known by its name: the doctor and predictions take them."""

from __future__ import annotations

from hsd_viz.declare import Setting

BANDWIDTH = Setting(metavar="GB", help="GB/s of an unknown GPU")
FLOPS = Setting(metavar="TF", help="dense 16-bit TFLOP/s of an unknown GPU")
GPU_MEMORY = Setting(metavar="GB", help="memory of an unknown GPU", unit="GB", option="gpu-memory")
