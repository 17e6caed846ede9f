"""What was read of a log."""

from __future__ import annotations

from dataclasses import dataclass, field

from hsd_viz.measure.replay.requests import LoggedRequest
from hsd_viz.records.entries import BrokenEntry

#: Broken entries that are reported one by one.
EXAMPLES = 20


@dataclass(slots=True)
class LogFacts:
    """What was read of a log so far.

    Attributes:
        name: the name of the file.
        requests: requests that were replayed.
        prompt_tokens: tokens of their prompts.
        output_tokens: tokens of their outputs.
        broken: entries that could not be used.
        cut: requests longer than the limit.
        encoded: outputs that were text and were encoded again.
        sampled: requests of a temperature above 0.
        parts: outputs with ``reasoning`` and with ``tool calls``.
        examples: the first :data:`EXAMPLES` broken entries: number and reason.
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
        """Count an entry that could not be used."""
        self.broken += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((entry.number, entry.why))

    def add(self, request: LoggedRequest, temperature: float) -> None:
        """Count a request that was replayed."""
        self.requests += 1
        self.prompt_tokens += len(request.text.prompt)
        self.output_tokens += len(request.text.output)
        self.cut += request.cut
        self.encoded += request.encoded
        self.sampled += temperature > 0
        for part in request.parts:
            self.parts[part] = self.parts.get(part, 0) + 1
