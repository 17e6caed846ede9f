"""A button that opens a local file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from hsd_viz.views.scripts import Part


class OpenFile(Part):
    """A button; ``opened(content, name)`` receives the file's bytes, ``refused(error)`` is called for more than
    ``most`` bytes. ``drops``: also a file dropped on the page.
    """

    view = traitlets.Unicode("open_file").tag(sync=True)

    label = traitlets.Unicode().tag(sync=True)
    accept = traitlets.Unicode().tag(sync=True)
    most = traitlets.Int().tag(sync=True)
    drops = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        label: str,
        accept: str,
        most: int,
        opened: Callable[[bytes, str], None],
        refused: Callable[[ValueError], None],
        drops: bool = False,
    ) -> None:
        self._opened, self._refused = opened, refused
        super().__init__(label=label, accept=accept, most=most, drops=drops)
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        name = str(content.get("name", "the file"))
        if content.get("kind") == "file" and buffers and len(buffers[0]) <= self.most:
            self._opened(bytes(buffers[0]), name)
        elif content.get("kind") == "unreadable":
            self._refused(ValueError(f"{name} cannot be read"))
        elif content.get("kind") in ("file", "too large"):
            self._refused(ValueError(f"{name} is too large: the maximum is {self.most / 1e6:.0f} MB"))
