"""Cache folders, files that appear whole or not at all, and journals."""

import errno
import gzip
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent
#: The most bytes of a text file, and of a JSON file: parsed, it takes up to thirty times as much memory.
MOST_TEXT, MOST_JSON = 64 * 2**20, 8 * 2**20
#: The most times that a gzipped file may grow beyond :data:`FREE_BYTES`. Traces and logs grow less than ten times,
#: bombs a thousand times.
MOST_GROWTH, FREE_BYTES = 100, 2_200_000


def data_folder(installed: str, checkout: str) -> Path:
    """Return a folder of data files: in the installed package, or in the checkout. Raises: FileNotFoundError: if
    neither exists.
    """
    for path in (PACKAGE / installed, PACKAGE.parent / checkout):
        if path.is_dir():
            return path
    raise FileNotFoundError(f"{PACKAGE / installed} is missing: reinstall hsd-viz")


def cache_folder(kind: str) -> Path:
    """Return the folder for cached files of one ``kind``: ``~/.cache/hsd_viz/kind``, which may not exist yet.
    ``$XDG_CACHE_HOME`` replaces ``~/.cache`` where it is set, ``$HSD_VIZ_CACHE`` the whole ``~/.cache/hsd_viz``.
    """
    if named := os.environ.get("HSD_VIZ_CACHE"):
        return Path(named).expanduser() / kind
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "hsd_viz" / kind


def regular_target(path: Path) -> Path | None:
    """Return the file that ``path`` names, links followed, which may not exist yet; ``None`` if it is written to
    directly: a device, a pipe, a socket, or an open file such as ``/dev/stdout``. Raises: OSError: if it is a folder.
    """
    target = _follow(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return None if _is_handle(target) or (target.exists() and not target.is_file()) else target


def _follow(path: Path) -> Path:
    """Follow links up to a file or to the entry of an open file in ``/proc``, whose link may lead to nothing."""
    for _ in range(40):  # as the kernel does
        if _is_handle(path) or not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return path


def _is_handle(path: Path) -> bool:
    folder = path.parent.resolve()
    return folder.name == "fd" and folder.parts[1] in ("proc", "dev")


@contextmanager
def replacing(path: Path, *, mode: int | None = None, sync: bool = False) -> Iterator[Path]:
    """Yield a temporary file whose content becomes that of ``path`` when the block ends without an error.

    A regular file is replaced by a rename in its folder: it appears whole or not at all, and keeps its permissions
    unless ``mode`` is given; a link still leads to it. Any other target (:func:`regular_target`) is written to.
    ``sync`` forces the content to disk before the rename. Raises: OSError: if ``path`` cannot be written.
    """
    target = regular_target(path)
    folder = Path(tempfile.gettempdir()) if target is None else target.absolute().parent
    temporary = folder / f".{path.name[:200]}.{secrets.token_hex(6)}"
    # Created with the permissions that the umask gives to a new file.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if target is None else 0o666))
    try:
        yield temporary
        if target is None:
            _copy(temporary, path)
            return
        if target.exists():
            old = target.stat()
            with suppress(OSError):  # only root can keep another owner
                os.chown(temporary, old.st_uid, old.st_gid)
            mode = stat.S_IMODE(old.st_mode) if mode is None else mode
        if mode is not None:
            temporary.chmod(mode)
        if sync:
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _copy(content: Path, path: Path) -> None:
    """Write to a target that cannot be replaced. Open files of this process continue at their position."""
    target = _follow(path)
    if _is_handle(target) and target.parent.resolve() == Path("/proc/self/fd").resolve():
        sys.stdout.flush()
        handle = os.dup(int(target.name))
    else:
        handle = os.open(path, os.O_WRONLY)
    with content.open("rb") as source, os.fdopen(handle, "wb", buffering=0) as file:
        shutil.copyfileobj(source, file)


def read_text(path: Path, what: str, most: int = MOST_TEXT) -> str:
    """Return a UTF-8 text file of a stranger with ``\\n`` line ends and without a byte order mark. Raises: ValueError:
    if it cannot be read, has more than ``most`` bytes (a device may have no end) or is not UTF-8; the message calls it
    the ``what`` file.
    """
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise ValueError(f"the {what} file {path} is too large: the limit is {most // 2**20} MiB")
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read the {what} file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"the {what} file {path} is not UTF-8 text (byte {error.start} is {byte:#04x})") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def most_unpacked(size: int) -> int:
    """Return the most bytes that a gzipped file of ``size`` bytes may unpack to."""
    return max(FREE_BYTES, MOST_GROWTH * size)


class Unpacked(gzip.GzipFile):
    """A gzipped file of a stranger, read. Raises: OSError: while reading, once what was read has unpacked to more than
    :func:`most_unpacked`, and if it is damaged.
    """

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.read(len(buffer))
        except zlib.error as error:
            raise OSError(f"its gzip data is damaged: {error}") from None
        if self.tell() > most_unpacked(self.fileobj.tell()):
            raise OSError(f"it unpacks to more than {MOST_GROWTH} times its size")
        buffer[: len(data)] = data
        return len(data)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file as :func:`replacing` does (text as UTF-8); its folder is created. Raises: OSError: if it cannot be
    written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def check_writable(path: Path) -> None:
    """Check that :func:`write_whole` can write ``path`` in an existing folder. Raises: ValueError: if it cannot."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder; give a file name")
    if not folder.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {folder}")
    with writing(path):
        target = regular_target(path)
        if target is None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        if target is not None:
            with tempfile.TemporaryFile(dir=target.absolute().parent):
                pass


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an ``OSError`` while writing ``path`` to a ValueError with a one-line message."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from None


class Journal:
    """Entries of JSON lines of one piece of work, so that an interrupted command resumes where it stopped.

    The first line identifies the work (``about``), each later one is an entry. Lines are only ever appended; a last
    line that a crash has cut off is dropped when the file is read. A damaged file, or one of other work, is deleted.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path, self.identity = path, json.loads(json.dumps(identity))
        self.entries: list[Any] = []
        if not path.exists():
            return
        try:
            text = path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]
            head, *entries = map(json.loads, whole.splitlines())
            if head["about"] != self.identity:
                raise ValueError("other work")
        except (ValueError, TypeError, KeyError):
            path.unlink()
            return
        self.entries = entries
        if whole != text:
            write_whole(path, whole)

    def add(self, entry: Any) -> None:
        """Append an entry and force it to disk. Raises: ValueError: if it cannot be written."""
        self.entries.append(entry)
        lines = [entry] if self.path.exists() else [{"about": self.identity}, entry]
        with writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{json.dumps(line)}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
