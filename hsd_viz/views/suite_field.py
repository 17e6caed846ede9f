"""The prompts of a measurement on the page: a bundled suite, or a custom file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ipywidgets as widgets

from hsd_viz.views.controls import Prose
from hsd_viz.views.drop_file import DropFile

#: Menu value and title of the reader's own file.
OWN, OWN_TITLE = "", "your own file"
#: Largest file, bytes; larger suites are for the command.
MOST_SUITE = 20_000_000
HINT = (
    "A text file with three or more blank lines between prompts, or questions as .jsonl (asked by the chat template)."
)


class SuiteField:
    """A menu of suites, what the chosen one is, and a field for a file: ``parts``. ``refused(error)`` for one that is
    not read.

    Names come from a list, never a path: the page reads bundled suites and files that the browser has sent.
    """

    def __init__(self, refused: Callable[[ValueError], None]) -> None:
        from hsd_viz.prompts.suites import SHIPPED

        self._words = {**SHIPPED, OWN: ""}
        self._file: Path | None = None
        self.menu = widgets.Dropdown(
            options=[*((name, name) for name in SHIPPED), (OWN_TITLE, OWN)], description="Suite"
        )
        self.about = Prose(self._words[self.menu.value])
        self.file = DropFile("Open a suite", HINT, ".txt,.md,.jsonl", MOST_SUITE, self._on_file, refused)
        self.menu.observe(lambda _change: self._show(), "value")
        self.parts = (self.menu, self.about, self.file)
        self._show()

    @property
    def value(self) -> str:
        """The argument of ``load_suite``. Raises: ValueError: if no file was opened."""
        if self.menu.value != OWN:
            return self.menu.value
        if self._file is None or not self._file.exists():
            raise ValueError("no suite: drop a file on the field above, or open one")
        return str(self._file)

    def _on_file(self, path: Path) -> None:
        self._file = path

    def _show(self) -> None:
        self.about.value = self._words[self.menu.value]
        self.file.layout.display = None if self.menu.value == OWN else "none"
