"""The output of commands that inspect something: facts, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hsd_viz.results.result import Result


class Facts(Result):
    """Facts of what is installed or stored.

    Attributes:
        data: the facts as JSON data: an object, or a list of objects.
    """

    title = "Facts"
    noun = "list"

    def __init__(self, data: Any, lines: Sequence[str]) -> None:
        self.data = data
        self._lines = tuple(lines)

    def lines(self) -> list[str]:
        """Return the facts as lines for a terminal."""
        return list(self._lines)

    def to_dict(self) -> Any:
        """Return the facts as JSON data."""
        return self.data
