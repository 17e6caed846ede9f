"""Measure stacks side by side: prompt suites, the runner, the report.

``bench(suite, stacks)`` is :func:`hsd_viz.bench.api.bench`. Importing this package does not import
torch.
"""

import sys
from types import ModuleType
from typing import Any

from hsd_viz.bench.report import Report as Report
from hsd_viz.bench.report import build_report as build_report
from hsd_viz.bench.report import read_report as read_report
from hsd_viz.bench.runner import BenchSettings as BenchSettings
from hsd_viz.bench.runner import Measurement as Measurement
from hsd_viz.bench.runner import read_stacks as read_stacks
from hsd_viz.bench.runner import run_bench as run_bench
from hsd_viz.prompts.suites import Prompt as Prompt
from hsd_viz.prompts.suites import Suite as Suite
from hsd_viz.prompts.suites import load_suite as load_suite


class _Bench(ModuleType):
    """This package as a function."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Measure stacks side by side: see :func:`hsd_viz.bench.api.bench`."""
        from hsd_viz.bench.api import bench

        return bench(*args, **options)


sys.modules[__name__].__class__ = _Bench
