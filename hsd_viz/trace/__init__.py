"""Recorded decodes: the :class:`Trace` with its tables, metrics and exports.

Importing this package does not load torch.
"""

from hsd_viz.trace.events import Event, Finished, Stage, Started
from hsd_viz.trace.file import SCHEMA_VERSION, TraceError
from hsd_viz.trace.rows import CallRow, DraftRow, RoundRow, Row, TokenRow
from hsd_viz.trace.trace import Step, Trace

__all__ = ["SCHEMA_VERSION", "Event", "Finished", "Stage", "Started", "Step", "Trace", "TraceError"]
__all__ += ["CallRow", "DraftRow", "RoundRow", "Row", "TokenRow"]
