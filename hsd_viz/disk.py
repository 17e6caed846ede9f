"""What is kept on disk between runs: where it is stored, and how it is written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """Where things of one ``kind`` are kept: ``~/.cache/hsd_viz/kind``.

    Below ``$XDG_CACHE_HOME`` where that is set, or in ``$HSD_VIZ_CACHE``. The folder need not be there.
    """
    if named := os.environ.get("HSD_VIZ_CACHE"):
        return Path(named).expanduser() / kind
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "hsd_viz" / kind


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file that appears whole or not at all, text in UTF-8; its folder is made. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
