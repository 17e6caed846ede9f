"""Cache folders, and files that appear whole or not at all."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def cache_folder(kind: str) -> Path:
    """Return the folder for cached files of one ``kind``: ``~/.cache/hsd_viz/kind``, which may not exist yet.
    ``$XDG_CACHE_HOME`` replaces ``~/.cache`` where it is set, ``$HSD_VIZ_CACHE`` the whole ``~/.cache/hsd_viz``.
    """
    if named := os.environ.get("HSD_VIZ_CACHE"):
        return Path(named).expanduser() / kind
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "hsd_viz" / kind


def cache_name(identity: Any) -> str:
    """Return the name of the cached JSON file of what is identified by JSON data."""
    return f"{hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]}.json"


@contextmanager
def replacing(path: Path, *, mode: int = 0o644, sync: bool = False) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that replaces ``path`` when the block ends without an error. On an error
    the temporary file is removed and ``path`` is unchanged. ``mode``: the permissions of the new file. ``sync`` forces
    the content to disk before the rename. Raises: OSError: if the folder is missing or read-only.
    """
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        if sync:
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically (text as UTF-8); its folder is created. Raises: OSError: if it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an ``OSError`` while writing ``path`` to a ValueError with a one-line message."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from None
