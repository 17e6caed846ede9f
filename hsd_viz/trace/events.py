"""The events that make a trace, and their form as JSON, in which a server streams them.

A server sends one record per line, of one of these kinds in its key ``event``:

- ``queued``: waiting; ``position`` 1 is the next request.
- ``stage``, ``started``, ``step``, ``finished``: the fields of :class:`Stage`, :class:`Started`,
  :class:`~hsd_viz.trace.trace.Step` and :class:`Finished`.
- ``error``: the decode ended; ``message``, and ``retry``: whether the same request may be sent
  again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hsd_viz.errors import MALFORMED, UserError
from hsd_viz.trace.file import read_tables
from hsd_viz.trace.trace import Step, Trace


@dataclass(frozen=True, slots=True)
class Stage:
    """Progress before the first token.

    Attributes:
        text: the current step, as in ``loading nano`` or ``prefill``.
        done: the part done, if known.
        total: all of it, if known.
    """

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The decode begins.

    Attributes:
        meta: the trace's meta so far.
        pieces: the text of the prompt's tokens by id.
    """

    meta: dict
    pieces: dict[int, str]


@dataclass(frozen=True, slots=True)
class Finished:
    """The decode is over.

    Attributes:
        trace: the complete recording.
    """

    trace: Trace


Event = Stage | Started | Step | Finished


class ServerError(UserError):
    """A server ended a decode with an error.

    Attributes:
        retry: whether the same request may be sent again.
    """

    def __init__(self, message: str, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


def to_record(event: Event) -> dict[str, Any]:
    """Return an event as data for ``json.dumps``. A finished event has only the meta: its tables
    were in the steps.
    """
    match event:
        case Step():
            record: dict[str, Any] = {"event": "step"}
            record["pieces"] = {str(token): text for token, text in event.pieces.items()}
            record.update(event.columns)
        case Finished(trace):
            record = {"event": "finished", "meta": trace.meta}
        case Stage() | Started():
            record = {"event": type(event).__name__.lower()}
            record.update(asdict(event))
    return record


def read_events(records: Iterable[Any]) -> Iterator[Event]:
    """Yield the events of the records of one decode; a queued request is a :class:`Stage`.

    Raises:
        ServerError: if a record reports an error or is not valid.
    """
    trace: Any = None
    for record in records:
        try:
            event = _event_of(record, trace)
        except ServerError:
            raise
        except MALFORMED:
            what = (
                "the server sent an invalid event: client and server "
                "need the same version of hsd_viz"
            )
            raise ServerError(what) from None
        if isinstance(event, Started):
            trace = Trace(event.meta, event.pieces)
        yield event


def _event_of(record: Any, trace: Any) -> Event:
    """Return the event of a record, and add its rows to the trace under construction.

    Args:
        record: a line of the server's answer, as data.
        trace: the trace, once it has started.
    """
    match record["event"]:
        case "queued":
            return Stage(f"waiting in the queue: position {int(record['position'])}")
        case "stage":
            return Stage(str(record["text"]), record["done"], record["total"])
        case "started":
            pieces = {int(token): str(text) for token, text in record["pieces"].items()}
            return Started(dict(record["meta"]), pieces)
        case "step":
            tables = read_tables(record)
            step = Step(lambda: tables)
            trace.append(step)
            return step
        case "finished":
            # In place, as in a local decode: the meta of the start becomes the final one.
            trace.meta.update(record["meta"])
            return Finished(trace)
        case "error":
            raise ServerError(str(record["message"]), bool(record.get("retry")))
    raise ValueError(f"unknown event {record['event']!r}")
