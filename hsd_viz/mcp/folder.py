"""The one folder whose files tools may read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.errors import BadFile, UserError

#: Maximum number of listed files, and maximum size of a file that is read.
MAX_FILES = 500
MAX_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder whose files may be read.

    Attributes:
        root: the path of the folder with links resolved; ``None``: no file may be read.
    """

    root: Path | None

    @classmethod
    def of(cls, path: Path | None) -> Folder:
        """Return the folder at a path.

        Raises:
            UserError: if it is not a folder.
        """
        if path is None:
            return cls(None)
        if not path.is_dir():
            raise UserError(f"{path} is not a folder")
        return cls(path.resolve(strict=True))

    def find(self, name: str) -> Path:
        """Return the path of a file in the folder.

        Raises:
            UserError: if there is no folder, or the name leads out of it, also through a link,
                whether or not that file exists.
            BadFile: if the file is missing, or not a regular file.
        """
        if self.root is None:
            raise UserError(
                "no file can be read: start the server with a folder, as in "
                "`hsd-viz mcp --folder logs/`"
            )
        if not name.strip() or "\0" in name:
            raise UserError(f"{name!r} is not the name of a file")
        path = Path(os.path.realpath(self.root / name))
        if not path.is_relative_to(self.root):
            raise UserError(f"{name!r} is not in the folder of this server")
        try:
            status = path.stat()
        except OSError:
            status = None
        if status is None or not stat.S_ISREG(status.st_mode):
            raise BadFile(f"there is no file {name!r} in the folder of this server")
        if status.st_size > MAX_BYTES:
            raise BadFile(f"{name!r} is too large: the limit is {MAX_BYTES // 2**20} MiB")
        return path

    def names(self) -> list[str]:
        """Return the names of the files in the folder, relative to it, without hidden files."""
        if self.root is None:
            return []
        names: list[str] = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            for file in sorted(files):
                path = Path(folder) / file
                if file.startswith(".") or not path.is_file():
                    continue
                if not path.resolve().is_relative_to(self.root):
                    continue
                names.append(path.relative_to(self.root).as_posix())
                if len(names) == MAX_FILES:
                    return names
        return names
