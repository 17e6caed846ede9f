"""One request to an OpenAI-compatible server, streamed: what arrives when, and the server's own record of it.

vLLM, SGLang, llama-server and TensorRT-LLM serve ``/v1/completions`` and ``/v1/chat/completions`` with server-sent
events. A chunk need not be a round, so rounds are those of the record that the last chunks hold, if any; the times of a
server without one are those of the arrivals.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx

from hsd_viz.adapters.read import read_response
from hsd_viz.adapters.record import imported
from hsd_viz.trace import Trace
from hsd_viz.words import counted

#: Seconds without any data from the server, and the most characters of a line of its stream or of a refusal.
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
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL:
            parsed = httpx.URL()
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(f"{self.url!r} is not the address of a server: use one such as http://127.0.0.1:8080")

    def __iter__(self) -> Iterator[str]:
        """Yield the texts. Raises: ValueError: if the server refuses, breaks off or sends something else."""
        asked = {"messages": [{"role": "user", "content": self.prompt}]} if self.chat else {"prompt": self.prompt}
        body = asked | {"stream": True, "stream_options": {"include_usage": True}} | dict(self.options)
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        path = "/v1/chat/completions" if self.chat else "/v1/completions"
        address, started = self.url.rstrip("/").removesuffix("/v1") + path, time.perf_counter_ns()
        try:
            with httpx.stream("POST", address, json=body, headers=headers, timeout=SILENT_SECONDS) as response:
                if response.is_error:
                    raise ValueError(f"{self.url} refused the request: {_refusal(response)}")
                for event in _events(response):
                    if text := self._read(event):
                        self.chunks.append((time.perf_counter_ns() - started, text))
                        yield text
        except httpx.HTTPError as error:
            raise ValueError(f"the connection to {self.url} failed: {_one_line(error)}") from None
        if not self.chunks and not self.record:
            raise ValueError(f"{self.url} did not stream a completion")

    def _read(self, event: Mapping[str, Any]) -> str:
        """Keep the records of a chunk and return its text."""
        if event.get("error"):
            raise ValueError(f"{self.url} reports an error: {_one_line(event['error'])}")
        parts, choices = [], event.get("choices") or ()
        for holder in (event, *choices):
            self.record |= {name: holder[name] for name in RECORDS if isinstance(holder.get(name), Mapping)}
        for choice in choices:
            delta = choice.get("delta") or choice
            parts += [delta.get(name) or "" for name in ("reasoning_content", "content", "text")]
            self.stop_reason = str(choice.get("finish_reason") or self.stop_reason)
        return "".join(part for part in parts if isinstance(part, str))

    def trace(self) -> Trace:
        """Return what was observed; ``meta["chunks"]`` has the texts with their times of arrival."""
        tokens = (self.record.get("usage") or {}).get("completion_tokens")
        trace = read_response(self.record) or imported("openai", "v1", {"tokens": tokens})
        meta, about = trace.meta, trace.meta["imported"]
        if meta["wall_ns"] is None and self.chunks:
            first, last = self.chunks[0][0], self.chunks[-1][0]
            meta |= {"prefill_ns": first, "decode_ns": last - first, "wall_ns": last}
            about["not_observed"] = [name for name in about["not_observed"] if name not in ("prefill", "time")]
            about["derived"] = [*about["derived"], "prefill", "time"]
        meta |= {"prompt": self.prompt, "chunks": self.chunks, "stop_reason": self.stop_reason}
        return trace

    def arrivals(self) -> dict[str, float]:
        """Return the time to the first text, and the median and the 99th percentile of the gaps after it, in ms."""
        times = [at / 1e6 for at, _ in self.chunks]
        gaps = sorted(b - a for a, b in pairwise(times))
        figures = {"first_ms": times[0]} if times else {}
        if gaps:
            figures |= {"gap_ms": gaps[len(gaps) // 2], "gap_p99_ms": gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))]}
        return figures


def _events(response: httpx.Response) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a stream of server-sent events."""
    for line in response.iter_lines():
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            return
        try:
            event = json.loads(data[:MOST_LINE])
        except ValueError:
            raise ValueError(f"the stream is damaged: {_one_line(data)}") from None
        if isinstance(event, Mapping):
            yield event


def _refusal(response: httpx.Response) -> str:
    """Return the status and the message of a refusal."""
    text = "".join(response.iter_text())[:MOST_LINE]
    try:
        data = json.loads(text)
        text = data.get("error", data.get("message", text)) if isinstance(data, Mapping) else text
    except ValueError:
        pass
    return f"{response.status_code} {response.reason_phrase}: {_one_line(text)}"


def _one_line(message: Any) -> str:
    message = message.get("message", message) if isinstance(message, Mapping) else message
    return " ".join(printable(str(message)).split())[:200]


def printable(text: str) -> str:
    """Return text without control characters other than line ends and tabs: a terminal would obey them."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in text)


def lines(request: LiveRequest) -> Sequence[str]:
    """Return the arrival times as lines for the terminal."""
    names = {"first_ms": "first text", "gap_ms": "gap between chunks, median", "gap_p99_ms": "99th percentile"}
    parts = [f"{names[name]} {value:.1f} ms" for name, value in request.arrivals().items()]
    return [f"{counted(len(request.chunks), 'chunk')}; {'; '.join(parts)}"] if parts else []
