"""Measuring stacks side by side: prompt suites, the runner, the report. Importing this package does not import torch."""

from .report import build_report, text_table
from .runner import Measurement, Progress, Settings, read_stacks, run_bench
from .suites import Prompt, Suite, load_suite

__all__ = ["Measurement", "Progress", "Prompt", "Settings", "Suite", "build_report", "load_suite", "read_stacks", "run_bench", "text_table"]
