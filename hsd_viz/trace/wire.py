"""Events as JSON records, one per line: what a server streams and :class:`hsd_viz.engine.remote.RemoteEngine` reads.

A record has the key ``event``: ``queued`` (``position``, 1 is next), ``stage``, ``started``, ``step``, ``finished`` or
``error`` (``message``, ``retry``: whether the same request may be sent again). Rows are lists in the order of their
fields (:mod:`hsd_viz.trace.records`).
"""

from typing import Any

from hsd_viz.trace.records import Event, Finished, Stage, Started, Step
from hsd_viz.trace.trace import TABLES, Trace, TraceError, tuples

#: Why a record cannot be read: the server has another version.
_DAMAGED = "the server sent an invalid event: client and server need the same version of hsd_viz"


class ServerError(ValueError):
    """A server ended a decode with an error. ``retry``: the same request may be sent again."""

    def __init__(self, message: str, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


def to_record(event: Event) -> dict[str, Any]:
    """Return an event as JSON data. A finished event has only the meta: its rows were in the steps."""
    match event:
        case Stage():
            return {"event": "stage", "text": event.text, "done": event.done, "total": event.total}
        case Started():
            return {"event": "started", "meta": event.meta, "pieces": _texts(event.pieces)}
        case Step():
            tables = {name: getattr(event, name) for name in TABLES}
            return {"event": "step", **tables, "pieces": _texts(event.pieces)}
        case Finished(trace):
            return {"event": "finished", "meta": trace.meta}  # type: ignore[attr-defined]
    raise TypeError(f"{type(event).__name__} is not an event")


class EventReader:
    """Reads the records of one decode. ``trace`` is the recording so far, ``None`` before the decode started."""

    def __init__(self) -> None:
        self.trace: Trace | None = None

    def read(self, record: Any) -> Event:
        """Return the event of a record; a queued request is a :class:`~hsd_viz.trace.Stage`. Raises: ServerError: if
        the record reports an error or is not valid.
        """
        try:
            return self._read(record)
        except (KeyError, TypeError, AttributeError, TraceError):
            raise ServerError(_DAMAGED) from None

    def _read(self, record: Any) -> Event:
        match record["event"]:
            case "queued":
                return Stage(f"waiting in the queue: position {int(record['position'])}")
            case "stage":
                return Stage(str(record["text"]), record["done"], record["total"])
            case "started":
                self.trace = Trace(dict(record["meta"]))
                self.trace.pieces.update(_by_id(record["pieces"]))
                return Started(self.trace.meta, dict(self.trace.pieces))
            case "step":
                rows = {name: [row(*map(tuples, values)) for values in record[name]] for name, row in TABLES.items()}
                step = Step(**rows, pieces=_by_id(record["pieces"]))
                self.trace.append(step)  # type: ignore[union-attr]
                return step
            case "finished":
                # In place, as in a local decode: the meta of the start becomes the final one.
                self.trace.meta.update(record["meta"])  # type: ignore[union-attr]
                return Finished(self.trace)
            case "error":
                raise ServerError(str(record["message"]), bool(record.get("retry")))
        raise ServerError(_DAMAGED)


def _texts(pieces: dict[int, str]) -> dict[str, str]:
    return {str(token): text for token, text in pieces.items()}


def _by_id(pieces: dict[str, str]) -> dict[int, str]:
    return {int(token): str(text) for token, text in pieces.items()}
