"""Recorded decodes: tables, the :class:`Trace`, its metrics and exports. Pure: no torch."""

from hsd_viz.trace.events import Event, Finished, Stage, Started
from hsd_viz.trace.tables import CallRow, DraftRow, RoundRow, TokenRow
from hsd_viz.trace.trace import SCHEMA_VERSION, Step, Trace, TraceError

__all__ = [
    "SCHEMA_VERSION",
    "CallRow",
    "DraftRow",
    "Event",
    "Finished",
    "RoundRow",
    "Stage",
    "Started",
    "Step",
    "TokenRow",
    "Trace",
    "TraceError",
]
