"""The names and the times of the levels in a trace."""

from hsd_viz.stack import decoded_stack
from hsd_viz.trace import Trace
from hsd_viz.trace.tables import observed

#: The number of milliseconds in a nanosecond.
MS = 1e-6
#: The names of a drafter and its verifier.
Pair = tuple[str, str]


def names_of(trace: Trace) -> tuple[dict[int, str], str | None]:
    """Return the names of the levels of a trace's stack.

    Returns:
        The name of each level, and the text of the database below the models; ``None`` without a
        database.
    """
    names: dict[int, str] = {}
    database = None
    for call in trace.call_rows:
        names[call.level] = call.name
        if call.kind == "lookup" and database is None:
            database = str(decoded_stack(trace.meta).bottom)
    return names, database


def own_times(trace: Trace) -> dict[int, int]:
    """Return the time of each round in ns, by id, without the rounds and calls inside it."""
    exclusive_ns = {r.id: observed(r.duration_ns) for r in trace.round_rows}
    for r in trace.round_rows:
        if r.parent in exclusive_ns:
            exclusive_ns[r.parent] -= observed(r.duration_ns)
    for c in trace.call_rows:
        if c.round in exclusive_ns:
            exclusive_ns[c.round] -= c.duration_ns
    return exclusive_ns
