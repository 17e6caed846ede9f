"""Measure stacks side by side: prompt suites, the runner, the report. Importing this package does not import torch."""

from hsd_viz.bench.report import Report, build_report, read_report
from hsd_viz.bench.runner import Measurement, Settings, read_stacks, run_bench
from hsd_viz.prompts.suites import Prompt, Suite, load_suite
from hsd_viz.terminal import Progress

__all__ = [
    "Measurement",
    "Progress",
    "Prompt",
    "Report",
    "Settings",
    "Suite",
    "build_report",
    "load_suite",
    "read_report",
    "read_stacks",
    "run_bench",
]
