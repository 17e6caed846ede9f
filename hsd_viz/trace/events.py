"""The events of a decode, and their JSON form: what a server streams, one record per line.

A record has the key ``event``: ``queued`` (``position``, 1 is next), ``stage``, ``started``, ``step``, ``finished`` or
``error`` (``message``, ``retry``: whether the same request may be sent again). A step has its four tables as columns
(:mod:`hsd_viz.trace.tables`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hsd_viz.trace.tables import TABLES
from hsd_viz.trace.trace import Step, Trace


@dataclass(frozen=True, slots=True)
class Stage:
    """Progress before the first token: the current step (``loading nano``, ``prefill``) and the part done, if known."""

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The decode begins. ``meta`` is the trace's meta so far, ``pieces`` the text of the prompt's tokens by id."""

    meta: dict
    pieces: dict[int, str]


@dataclass(frozen=True, slots=True)
class Finished:
    """The decode is over; ``trace`` is the complete recording."""

    trace: Trace


Event = Stage | Started | Step | Finished


class ServerError(ValueError):
    """A server ended a decode with an error. ``retry``: the same request may be sent again."""

    def __init__(self, message: str, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


def to_record(event: Event) -> dict[str, Any]:
    """Return an event as JSON data. A finished event has only the meta: its tables were in the steps."""
    match event:
        case Started(meta, pieces):
            return {"event": "started", "meta": meta, "pieces": {str(k): text for k, text in pieces.items()}}
        case Step():
            return {"event": "step", **event.columns, "pieces": {str(k): text for k, text in event.pieces.items()}}
        case Finished(trace):
            return {"event": "finished", "meta": trace.meta}
    return {"event": "stage", **asdict(event)}


def read_events(records: Iterable[Any]) -> Iterator[Event]:
    """Yield the events of the records of one decode; a queued request is a :class:`Stage`. Raises: ServerError: if a
    record reports an error or is not valid.
    """
    trace: Any = None
    by_id = lambda pieces: {int(token): str(text) for token, text in pieces.items()}
    for record in records:
        try:
            match record["event"]:
                case "queued":
                    event: Event = Stage(f"waiting in the queue: position {int(record['position'])}")
                case "stage":
                    event = Stage(str(record["text"]), record["done"], record["total"])
                case "started":
                    trace = Trace(dict(record["meta"]), by_id(record["pieces"]))
                    event = Started(trace.meta, trace.pieces)
                case "step":
                    made = {name: table.read(record[name]) for name, table in TABLES.items()}, by_id(record["pieces"])
                    event = Step(lambda made=made: made)  # type: ignore[misc]
                    trace.append(event)
                case "finished":
                    # In place, as in a local decode: the meta of the start becomes the final one.
                    trace.meta.update(record["meta"])
                    event = Finished(trace)
                case "error":
                    raise ServerError(str(record["message"]), bool(record.get("retry")))
                case _:
                    raise ValueError
        except ServerError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            what = "the server sent an invalid event: client and server need the same version of hsd_viz"
            raise ServerError(what) from None
        yield event
