"""One request to an OpenAI-compatible server, streamed: what arrives when, and the server's own record of it.

vLLM, SGLang, llama-server and TensorRT-LLM serve ``/v1/completions`` and ``/v1/chat/completions`` with server-sent
events. A chunk need not be a round, so rounds are those of the record that the last chunks hold, if any; the times of a
server without one are those of the arrivals. Imports only the standard library.
"""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from hsd_viz.adapters.read import read_response
from hsd_viz.adapters.record import imported
from hsd_viz.trace import Trace
from hsd_viz.words import counted

#: Seconds without any data from the server, and the longest line of a stream in bytes.
SILENT_SECONDS, MOST_LINE = 120.0, 2**20
#: Keys of a chunk that hold a record; of each, the last one counts.
RECORDS = ("usage", "timings", "metrics", "meta_info")


@dataclass(slots=True)
class LiveRequest:
    """A request to the server at ``url``; iterating sends it and yields each text as it arrives. ``options`` are
    further fields of the body (``max_tokens``, ``temperature``, ``model``). After the iteration, or an interrupted one,
    :meth:`trace` has what was observed.
    """

    url: str
    prompt: str
    chat: bool = False
    key: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Nanoseconds from sending the request, and the text.
    chunks: list[tuple[int, str]] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    stop_reason: str = "cancelled"

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.url!r} is not the address of a server: use one such as http://127.0.0.1:8080")

    def __iter__(self) -> Iterator[str]:
        """Yield the texts. Raises: ValueError: if the server refuses, breaks off or sends something else."""
        started = time.perf_counter_ns()
        try:
            with urllib.request.urlopen(self._request(), timeout=SILENT_SECONDS) as response:
                for event in _events(response):
                    if text := self._read(event):
                        self.chunks.append((time.perf_counter_ns() - started, text))
                        yield text
        except urllib.error.HTTPError as error:
            raise ValueError(f"{self.url} refused the request: {_said(error)}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ValueError(f"the connection to {self.url} failed: {reason}") from None
        if not self.chunks and not self.record:
            raise ValueError(f"{self.url} did not stream a completion")

    def _request(self) -> urllib.request.Request:
        base = self.url.rstrip("/").removesuffix("/v1")
        asked = {"messages": [{"role": "user", "content": self.prompt}]} if self.chat else {"prompt": self.prompt}
        body = asked | {"stream": True, "stream_options": {"include_usage": True}} | dict(self.options)
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        path = "/v1/chat/completions" if self.chat else "/v1/completions"
        return urllib.request.Request(base + path, json.dumps(body).encode(), headers)

    def _read(self, event: Mapping[str, Any]) -> str:
        """Keep the records of a chunk and return its text."""
        if event.get("error"):
            raise ValueError(f"{self.url} reports an error: {_one_line(event['error'])}")
        self.record |= {name: event[name] for name in RECORDS if isinstance(event.get(name), Mapping)}
        parts = []
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or choice
            parts += [delta.get(name) or "" for name in ("reasoning_content", "content", "text")]
            self.stop_reason = str(choice.get("finish_reason") or self.stop_reason)
            self.record |= {name: choice[name] for name in RECORDS if isinstance(choice.get(name), Mapping)}
        return "".join(part for part in parts if isinstance(part, str))

    def trace(self) -> Trace:
        """Return what was observed; ``meta["chunks"]`` has the texts with their times of arrival."""
        tokens = (self.record.get("usage") or {}).get("completion_tokens")
        found = read_response(self.record) or imported("openai", "v1", {"tokens": tokens})
        meta, about = found.meta, found.meta["imported"]
        if meta["wall_ns"] is None and self.chunks:
            first, last = self.chunks[0][0], self.chunks[-1][0]
            meta |= {"prefill_ns": first, "decode_ns": last - first, "wall_ns": last}
            about["not_observed"] = [name for name in about["not_observed"] if name not in ("prefill", "time")]
            about["derived"] = [*about["derived"], "prefill", "time"]
        meta |= {"prompt": self.prompt, "chunks": self.chunks, "stop_reason": self.stop_reason}
        return found

    def arrivals(self) -> dict[str, float]:
        """Return the time to the first text, and the median and the 99th percentile of the gaps after it, in ms."""
        times = [at / 1e6 for at, _ in self.chunks]
        gaps = sorted(b - a for a, b in pairwise(times))
        found = {"first_ms": times[0]} if times else {}
        if gaps:
            found |= {"gap_ms": gaps[len(gaps) // 2], "gap_p99_ms": gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))]}
        return found


def _events(response: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a stream of server-sent events."""
    while line := response.readline(MOST_LINE):
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        try:
            event = json.loads(data)
        except ValueError:
            raise ValueError(f"the stream is damaged: {_one_line(data.decode('utf-8', 'replace'))}") from None
        if isinstance(event, Mapping):
            yield event


def _said(error: urllib.error.HTTPError) -> str:
    """Return the status and the message of a refusal."""
    text = error.read(65536).decode("utf-8", "replace")
    try:
        data = json.loads(text)
        text = data.get("error", data.get("message", text)) if isinstance(data, Mapping) else text
    except ValueError:
        pass
    return f"{error.code} {error.reason}: {_one_line(text)}"


def _one_line(said: Any) -> str:
    said = said.get("message", said) if isinstance(said, Mapping) else said
    return " ".join(printable(str(said)).split())[:200]


def printable(text: str) -> str:
    """Return text without control characters other than line ends and tabs: a terminal would obey them."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in text)


def lines(request: LiveRequest) -> Sequence[str]:
    """Return the arrival times as lines for the terminal."""
    names = {"first_ms": "first text", "gap_ms": "gap between chunks, median", "gap_p99_ms": "99th percentile"}
    parts = [f"{names[name]} {value:.1f} ms" for name, value in request.arrivals().items()]
    return [f"{counted(len(request.chunks), 'chunk')}; {'; '.join(parts)}"] if parts else []
