"""The values that commands and the Python interface return: estimates, tables, and results that
can be displayed.
"""

from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.results.kinds import StackKind, kind_of
from hsd_viz.results.result import Result, print_result
from hsd_viz.results.table import Table

__all__ = ["UNKNOWN", "Estimate", "Result", "StackKind", "Table", "kind_of", "print_result"]
