"""Counts of the entries of a log."""

from __future__ import annotations

from dataclasses import dataclass, field

from hsd_viz.measure.replay.requests import LoggedRequest
from hsd_viz.records.entries import BrokenEntry

#: Maximum number of broken entries that are reported individually.
EXAMPLES = 20


@dataclass(slots=True)
class LogFacts:
    """Counts of the entries that were read so far.

    Attributes:
        name: the name of the file.
        requests: the number of replayed requests.
        prompt_tokens: the number of tokens of their prompts.
        output_tokens: the number of tokens of their outputs.
        broken: the number of unusable entries.
        cut: the number of requests longer than the limit.
        encoded: the number of outputs that were text and were encoded again.
        sampled: the number of requests with a temperature above 0.
        parts: the numbers of outputs with ``reasoning`` and with ``tool calls``.
        examples: the first :data:`EXAMPLES` broken entries, as (number, reason).
    """

    name: str
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    broken: int = 0
    cut: int = 0
    encoded: int = 0
    sampled: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    examples: list[tuple[int, str]] = field(default_factory=list)

    def add_broken(self, entry: BrokenEntry) -> None:
        """Count an unusable entry."""
        self.broken += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((entry.number, entry.why))

    def add(self, request: LoggedRequest, temperature: float) -> None:
        """Count a replayed request."""
        self.requests += 1
        self.prompt_tokens += len(request.text.prompt)
        self.output_tokens += len(request.text.output)
        self.cut += request.cut
        self.encoded += request.encoded
        self.sampled += temperature > 0
        for part in request.parts:
            self.parts[part] = self.parts.get(part, 0) + 1
