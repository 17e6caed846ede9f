"""A journal of JSON lines, so that an interrupted command resumes where it stopped.

The first line identifies the work (``about``), each later one is an entry. Lines are only ever appended; a last line
that a crash has cut off is dropped when the file is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hsd_viz.disk import write_whole, writing


class Journal:
    """The entries of one piece of work. ``path``: its file, ``None``: not stored. Raises: ValueError: if the file is of
    other work or damaged, unless ``restart``, which deletes it.
    """

    def __init__(self, path: Path | None, identity: Mapping[str, Any] | None = None, restart: bool = False) -> None:
        self.path, self.identity = path, json.loads(json.dumps(identity or {}))
        self.entries: list[Any] = []
        if restart:
            self.remove()
        if path is None or not path.exists():
            return
        try:
            text = path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]
            head, *self.entries = map(json.loads, whole.splitlines())
            stored = head["about"]
            if different := [
                name for name in {**stored, **self.identity} if stored.get(name) != self.identity.get(name)
            ]:
                raise LookupError(" and ".join(different))
        except (ValueError, TypeError, AttributeError, KeyError):
            raise ValueError(f"{path} is damaged and cannot be resumed: start again with --restart") from None
        except LookupError as error:
            raise ValueError(
                f"{path} holds unfinished work of other {error}: "
                "give the same command to resume it, --restart to start again, or another --json"
            ) from None
        if whole != text:
            write_whole(path, whole)

    def add(self, entry: Any) -> None:
        """Append an entry and force it to disk. Raises: ValueError: if it cannot be written."""
        self.entries.append(entry)
        if self.path is None:
            return
        lines = [entry] if self.path.exists() else [{"about": self.identity}, entry]
        with writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{json.dumps(line)}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Delete the file: the work is complete or restarts."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
