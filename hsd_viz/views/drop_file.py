"""A field that a local file is dropped on: it is stored in parts, so that its size is not limited by a message."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import traitlets

from hsd_viz.views.scripts import Part

#: Bytes of a part: the web server refuses messages of 10 MiB.
PART = 4_000_000


class DropFile(Part):
    """A field with a button; ``stored(path)`` is called with the file's copy, ``refused(error)`` for a file that is
    larger than ``most`` bytes or cannot be read. The copy is deleted when another file is opened, or with the page.
    """

    view = traitlets.Unicode("drop_file").tag(sync=True)

    label = traitlets.Unicode().tag(sync=True)
    hint = traitlets.Unicode().tag(sync=True)
    accept = traitlets.Unicode().tag(sync=True)
    most = traitlets.Int().tag(sync=True)
    part = traitlets.Int(PART).tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        label: str,
        hint: str,
        accept: str,
        most: int,
        stored: Callable[[Path], None],
        refused: Callable[[ValueError], None],
    ) -> None:
        self._stored, self._refused = stored, refused
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._size = self._done = 0
        self._path = Path()
        super().__init__(label=label, hint=hint, accept=accept, most=most)
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, content: Any, buffers: Any) -> None:
        kind = content.get("kind") if isinstance(content, dict) else None
        try:
            if kind == "start":
                self._start(str(content.get("name")), content.get("size"))
            elif kind == "part" and self._folder is not None:
                self._append(content.get("at"), buffers)
            elif kind == "unreadable":
                raise ValueError("the file cannot be read")
            elif kind == "cancel":
                self._forget()
        except (ValueError, OSError) as error:
            self._forget()
            self.send({"kind": "stop"})
            self._refused(error if isinstance(error, ValueError) else ValueError(f"the file cannot be stored: {error}"))

    def _start(self, name: str, size: Any) -> None:
        self._forget()
        if type(size) is not int or not 0 < size <= self.most:
            empty = "is empty" if size == 0 else f"is too large: the maximum is {self.most / 1e6:.0f} MB"
            raise ValueError(f"{name} {empty}")
        self._folder = tempfile.TemporaryDirectory(prefix="hsd_viz-")
        # The name is shown in reports; nothing of it may leave the folder.
        safe = re.sub(r"[^\w. -]", "_", name)[-80:].strip(". ") or "log"
        self._path, self._size, self._done = Path(self._folder.name) / safe, size, 0
        self._path.touch()
        self.send({"kind": "next", "at": 0})

    def _append(self, at: Any, buffers: Any) -> None:
        content = bytes(buffers[0]) if buffers else b""
        if at != self._done or not content or self._done + len(content) > self._size:
            raise ValueError("the file was not received completely: open it again")
        with self._path.open("ab") as file:
            file.write(content)
        self._done += len(content)
        if self._done == self._size:
            self.name = self._path.name
        self.send({"kind": "next", "at": self._done})
        if self._done == self._size:
            self._stored(self._path)

    def _forget(self) -> None:
        """Delete the copy."""
        self.name = ""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def close(self) -> None:
        """Close the widget and delete the copy."""
        self._forget()
        super().close()
