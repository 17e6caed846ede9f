"""The events of a decode, from which a trace is built, and the JSON form in which servers stream
them.

A server sends a record per line. The key ``event`` is the kind of the record:

- ``queued``: the request is waiting; ``position`` 1 is the next request.
- ``stage``, ``started``, ``step``, ``finished``: the record has the fields of :class:`Stage`,
  :class:`Started`, :class:`~hsd_viz.trace.trace.Step` or :class:`Finished`.
- ``error``: the decode ended with an error; ``message`` describes it, and ``retry`` is whether the
  same request may be sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

from hsd_viz.errors import MALFORMED, UserError
from hsd_viz.trace.file import read_tables
from hsd_viz.trace.meta import TraceMeta
from hsd_viz.trace.trace import Step, Trace


@dataclass(frozen=True, slots=True)
class Stage:
    """An event that reports progress before the first token.

    Attributes:
        text: the current activity, such as ``loading nano`` or ``prefill target``.
        done: the completed amount; ``None`` if it is not known.
        total: the total amount; ``None`` if it is not known.
    """

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """An event that reports the end of the prefill, before the first step.

    Attributes:
        meta: the meta of the trace so far.
        pieces: the texts of the prompt's tokens by id.
    """

    meta: TraceMeta
    pieces: dict[int, str]


@dataclass(frozen=True, slots=True)
class Finished:
    """An event that reports the end of the decode.

    Attributes:
        trace: the complete trace.
    """

    trace: Trace


Event = Stage | Started | Step | Finished


class ServerError(UserError):
    """An error that a server reported for a decode.

    Attributes:
        retry: whether the same request may be sent again.
    """

    def __init__(self, message: str, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


def to_record(event: Event) -> dict[str, Any]:
    """Return an event as data for ``json.dumps``.

    The record of a finished event has only the meta, because its tables were sent in the steps.
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
    """Yield the events of a decode from its records; a queued request yields a :class:`Stage`.

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
        record: the JSON data of a line of the server's response.
        trace: the trace; ``None`` before the decode has started.
    """
    match record["event"]:
        case "queued":
            return Stage(f"waiting in the queue: position {int(record['position'])}")
        case "stage":
            return Stage(str(record["text"]), record["done"], record["total"])
        case "started":
            pieces = {int(token): str(text) for token, text in record["pieces"].items()}
            return Started(cast("TraceMeta", dict(record["meta"])), pieces)
        case "step":
            tables = read_tables(record)
            step = Step(lambda: tables)
            trace.append(step)
            return step
        case "finished":
            # Updated in place, as in a local decode, so that the meta of Started becomes complete.
            trace.meta.update(record["meta"])
            return Finished(trace)
        case "error":
            raise ServerError(str(record["message"]), bool(record.get("retry")))
    raise ValueError(f"unknown event {record['event']!r}")
