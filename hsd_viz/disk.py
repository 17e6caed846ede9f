"""Cache folders, and files that appear whole or not at all."""

import errno
import gzip
import json
import os
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hsd_viz.errors import BadFile, UserError

PACKAGE = Path(__file__).resolve().parent
#: The most bytes of a text file, and of a JSON file: parsed, it takes up to thirty times as much
#: memory.
MOST_TEXT = 64 * 2**20
MOST_JSON = 8 * 2**20
#: The most times that a gzipped file may grow beyond :data:`FREE_BYTES`: traces grow less than ten
#: times, bombs 1000.
MOST_GROWTH = 100
FREE_BYTES = 2_200_000
#: What a command is given in place of a file, to print instead.
STDOUT = Path("-")
#: The files that are standard output, which are written to in order with what is printed.
_STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def data_folder(installed: str, checkout: str) -> Path:
    """Return a folder of data: of the installed package, or of the checkout.

    Raises:
        FileNotFoundError: if there is none.
    """
    for path in (PACKAGE / installed, PACKAGE.parent / checkout):
        if path.is_dir():
            return path
    raise FileNotFoundError(f"{PACKAGE / installed} is missing: reinstall hsd-viz")


def cache_folder(kind: str) -> Path:
    """Return the folder for cached files of one ``kind``: ``~/.cache/hsd_viz/kind``, which may not
    exist yet. ``$XDG_CACHE_HOME`` replaces ``~/.cache`` where it is set, ``$HSD_VIZ_CACHE`` the
    whole ``~/.cache/hsd_viz``.
    """
    if named := os.environ.get("HSD_VIZ_CACHE"):
        return Path(named).expanduser() / kind
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser()
        / "hsd_viz"
        / kind
    )


def is_regular(path: Path) -> bool:
    """Return whether ``path`` is, links followed, a regular file or new.

    Raises:
        OSError: if it is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return str(path) not in _STDOUT and (path.is_file() or not path.exists())


def write_whole(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Write a file that a person named (text as UTF-8); its folder is created.

    A regular file appears whole or not at all, by a rename in its folder, and keeps its permissions
    unless ``mode`` is given; a link still leads to it. Devices and pipes are written to.

    Raises:
        OSError: if it cannot be written.
        PermissionError: see :func:`followed`.
    """
    data = content.encode() if isinstance(content, str) else content
    if is_regular(path):
        _replace(followed(path), data, mode)
        return
    sys.stdout.flush()
    with open(os.dup(1) if str(path) in _STDOUT else os.open(path, os.O_WRONLY), "wb") as file:
        file.write(data)


def write_inside(folder: Path, name: str, content: str | bytes, mode: int | None = None) -> Path:
    """Write a file whose ``name`` this package chose, in a folder that a person named; return it.

    The name may have folders, separated by ``/``. The file appears as with :func:`write_whole`, but
    below the folder no link is followed, for a folder may come from someone else: a link in place
    of the file is replaced.

    Raises:
        UserError: if there is a link in place of a folder below.
        OSError: if the file cannot be written.
        PermissionError: see :func:`followed`.
    """
    path = followed(folder)
    for part in name.split("/"):
        if path.is_symlink():
            raise UserError(
                f"cannot write {folder / name}: {path} is a link to {os.readlink(path)}; "
                "remove it or name another folder"
            )
        path /= part
    data = content.encode() if isinstance(content, str) else content
    _replace(path, data, mode)
    return folder / name


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    """Write a file by a rename in its folder; a link in its place is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode is None and path.exists() and not path.is_symlink():
        mode = path.stat().st_mode & 0o7777
    temporary = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}")
    # Until it has its permissions, only this user can read it.
    first = 0o666 if mode is None else 0o600
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, first), "wb") as file:
            file.write(data)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def followed(path: Path) -> Path:
    """Return where a path leads, its links followed, which need not exist.

    Raises:
        PermissionError: if a link on the way is in a folder where all may write (as ``/tmp``) and
            belongs neither to this user nor to the owner of that folder. Another user who guesses a
            name could have a file of this user overwritten. Linux has the same rule
            (``fs.protected_symlinks``), which may be off.
    """
    if hasattr(os, "geteuid"):
        remaining = [Path(os.path.abspath(path))]
        seen: set[Path] = set()
        while remaining:
            entry = remaining.pop()
            for place in (entry, *entry.parents):
                if place in seen or not place.is_symlink():
                    continue
                seen.add(place)
                if _is_planted(place):
                    raise PermissionError(
                        errno.EACCES, "a link of another user, in a folder of all", str(place)
                    )
                remaining.append(Path(os.path.abspath(place.parent / os.readlink(place))))
    return Path(os.path.realpath(path))


def _is_planted(link: Path) -> bool:
    """Return whether another user may have put a link in the way of this one."""
    folder = link.parent.stat()
    everyone = stat.S_ISVTX | stat.S_IWOTH
    if folder.st_mode & everyone != everyone:
        return False
    return link.lstat().st_uid not in (os.geteuid(), folder.st_uid)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time run the block; others wait.

    Raises:
        OSError: if the file cannot be made, or is a link.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o600), "rb") as file:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def check_writable(path: Path) -> None:
    """Check that :func:`write_whole` can write ``path`` in an existing folder.

    Raises:
        UserError: if it cannot.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder; give a file name")
    with writing(path):
        folder = followed(path).parent
    if is_regular(path) and not folder.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder if is_regular(path) else path, os.W_OK):
        raise UserError(f"cannot write {path}: {os.strerror(errno.EACCES)}")


def write_text(path: Path, text: str) -> None:
    """Write text as :func:`write_whole` does.

    Raises:
        UserError: if it cannot be written.
    """
    with writing(path):
        write_whole(path, text)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an ``OSError`` while writing ``path`` to a UserError with a one-line message."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def rereadable(path: Path) -> Iterator[Path]:
    """Yield a file that can be read several times: ``path``, or a copy of a pipe under its name.

    Raises:
        UserError: if the pipe cannot be read.
    """
    if not path.is_fifo():
        yield path
        return
    with TemporaryDirectory(prefix="hsd-viz-") as folder:
        copy = Path(folder) / path.name
        try:
            with path.open("rb") as pipe, copy.open("wb") as file:
                shutil.copyfileobj(pipe, file)
        except OSError as error:
            raise BadFile(f"cannot read {path}: {error.strerror or error}") from None
        try:
            yield copy
        except UserError as error:
            # Messages name what the user gave.
            error.args = (str(error).replace(str(copy), str(path)),)
            raise


def read_text(path: Path, what: str, most: int = MOST_TEXT) -> str:
    """Return a UTF-8 text file of a stranger, with ``\\n`` line ends; messages call it the ``what``
    file.

    Raises:
        UserError: if it cannot be read, has more than ``most`` bytes (a device may have no end) or
            is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise UserError(
                f"the {what} file {path} is too large: the limit is {most // 2**20} MiB"
            )
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot read the {what} file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UserError(
            f"the {what} file {path} is not UTF-8 text (byte {error.start} is {byte:#04x})"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path, what: str, most: int = MOST_JSON) -> Any:
    """Return the value in a JSON file of a stranger; messages call it the ``what`` file.

    Raises:
        BadFile: if it cannot be read, is too large, or is not JSON.
    """
    return parse_json(read_text(path, what, most), f"the {what} file {path}")


def parse_json(text: str, what: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        BadFile: if it is not JSON, which includes numbers of thousands of digits and values nested
            too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise BadFile(f"{what} is not JSON: it is nested too deeply") from None
    except ValueError as error:
        raise BadFile(f"{what} is not JSON: {error}") from None


def object_at(data: Any, name: str) -> Mapping[str, Any]:
    """Return the object that JSON data have under a name.

    Raises:
        BadFile: if the data are not an object, or have none.
    """
    value = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(value, Mapping):
        raise BadFile(f"{name!r} is missing or not an object")
    return value


def most_unpacked(size: int) -> int:
    """Return the most bytes that a gzipped file of ``size`` bytes may unpack to."""
    return max(FREE_BYTES, MOST_GROWTH * size)


class Unpacked(gzip.GzipFile):
    """A gzipped file of a stranger.

    Raises:
        OSError: while reading, if it is damaged or unpacks to more than :func:`most_unpacked`.
    """

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.read(len(buffer))
        except zlib.error as error:
            raise OSError(f"its gzip data is damaged: {error}") from None
        packed: Any = self.fileobj
        if self.tell() > most_unpacked(packed.tell()):
            raise OSError(f"it unpacks to more than {MOST_GROWTH} times its size")
        buffer[: len(data)] = data
        return len(data)
