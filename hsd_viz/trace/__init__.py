"""Recorded decodes: rows, the :class:`Trace`, its metrics and exports. Pure: no torch."""

from hsd_viz.trace.records import CallRow, DraftRow, Event, Finished, RoundRow, Stage, Started, Step, TokenRow
from hsd_viz.trace.trace import SCHEMA_VERSION, Trace, TraceError

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
