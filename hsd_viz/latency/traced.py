"""What a trace says of the levels of its stack."""

from hsd_viz.stack import decoded_stack
from hsd_viz.trace import Trace
from hsd_viz.trace.tables import observed

#: Milliseconds of a nanosecond.
MS = 1e-6
#: The names of a drafter and its verifier.
Pair = tuple[str, str]


def names_of(trace: Trace) -> tuple[dict[int, str], str | None]:
    """Return the name of each level of the stack that a trace decoded with, and the database below
    the models as the stack names it, if there is one.
    """
    names: dict[int, str] = {}
    database = None
    for call in trace.call_rows:
        names[call.level] = call.name
        if call.kind == "lookup" and database is None:
            database = str(decoded_stack(trace.meta).bottom)
    return names, database


def own_times(trace: Trace) -> dict[int, int]:
    """Return the ns of each round without the rounds and calls inside it."""
    own_ns = {r.id: observed(r.duration_ns) for r in trace.round_rows}
    for r in trace.round_rows:
        if r.parent in own_ns:
            own_ns[r.parent] -= observed(r.duration_ns)
    for c in trace.call_rows:
        if c.round in own_ns:
            own_ns[c.round] -= c.duration_ns
    return own_ns
