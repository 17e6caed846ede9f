"""Streams of responses: the counts of chunks are cumulative, so the last chunk of each counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hsd_viz.records.forms import Form
from hsd_viz.records.sample import Sample


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a stream.

    Attributes:
        sample: the figures so far.
        form: the form of the response.
        model: the named model; "": not named.
    """

    sample: Sample
    form: Form
    model: str


class Streams:
    """The streams of a file whose response has not been completed.

    Requests are distinguished by their id. Chunks without an id are of one request as long as no
    count decreases.

    Attributes:
        superseded: the number of chunks whose counts a later record of the request includes.
    """

    def __init__(self) -> None:
        self.superseded = 0
        self._last: dict[str, Chunk] = {}

    def add(self, request_id: str, chunk: Chunk) -> Chunk | None:
        """Add a chunk.

        Args:
            request_id: the id of the request; "": none.
            chunk: the chunk.

        Returns:
            The last chunk of the previous request without an id, if this is the first chunk of
            another one.
        """
        before = self._last.get(request_id)
        self._last[request_id] = chunk
        if before is None:
            return None
        if request_id or _continues(before, chunk):
            self.superseded += 1
            return None
        return before

    def complete(self, request_id: str, response: Chunk) -> None:
        """Drop the last chunk of a stream, if a response is the complete one of its request."""
        before = self._last.get(request_id)
        if before is not None and (request_id or _continues(before, response)):
            self.superseded += 1
            del self._last[request_id]

    def unfinished(self) -> Iterable[Chunk]:
        """Return the last chunks of the streams without a complete response."""
        return self._last.values()


def _continues(before: Chunk, after: Chunk) -> bool:
    """Return whether a record without an id may be of the same request as the chunk before it: no
    count decreases.
    """
    earlier = before.sample
    later = after.sample
    if before.form is not after.form:
        return False
    if (earlier.tokens or 0) > (later.tokens or 0):
        return False
    if (earlier.drafted or 0) > (later.drafted or 0):
        return False
    return earlier.prefill_seconds == later.prefill_seconds
