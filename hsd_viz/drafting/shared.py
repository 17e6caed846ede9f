"""The databases that outlive a run: opened once, memory-mapped, read-only, shared by every run and process."""

from __future__ import annotations

from dataclasses import dataclass, field

from .hierarchy import Database


@dataclass(frozen=True, slots=True)
class SharedDatabases:
    """The model and statistics databases by source name; ``absent`` says in one sentence why one is not there."""

    found: dict[str, Database] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def why_absent(self, source: str) -> str:
        """One sentence on why ``source`` is not among the databases."""
        return self.absent.get(source, f"no {source} database is at hand for these models")
