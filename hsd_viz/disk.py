"""Cache folders, and atomic writing and safe reading of files."""

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
#: The maximum size of a text file and of a JSON file, in bytes. Parsed JSON takes up to thirty
#: times as much memory.
MAX_TEXT = 64 * 2**20
MAX_JSON = 8 * 2**20
#: The maximum ratio of unpacked to compressed size beyond :data:`FREE_BYTES`. Traces have a ratio
#: below 10, decompression bombs about 1000.
MAX_GROWTH = 100
FREE_BYTES = 2_200_000
#: The path argument of a command that stands for standard output.
STDOUT = Path("-")
#: Paths of standard output, which is written to after the text printed so far.
_STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def data_folder(installed: str, checkout: str) -> Path:
    """Return a data folder of the installed package, or else of the checkout.

    Raises:
        FileNotFoundError: if neither exists.
    """
    for path in (PACKAGE / installed, PACKAGE.parent / checkout):
        if path.is_dir():
            return path
    raise FileNotFoundError(f"{PACKAGE / installed} is missing: reinstall hsd-viz")


def cache_folder(kind: str) -> Path:
    """Return the cache folder ``~/.cache/hsd_viz/kind``, which may not exist yet.

    If set, ``$XDG_CACHE_HOME`` replaces ``~/.cache``, and ``$HSD_VIZ_CACHE`` replaces
    ``~/.cache/hsd_viz``.
    """
    if named := os.environ.get("HSD_VIZ_CACHE"):
        return Path(named).expanduser() / kind
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser()
        / "hsd_viz"
        / kind
    )


def is_regular(path: Path) -> bool:
    """Return whether ``path``, with links followed, is a regular file or does not exist.

    Raises:
        OSError: if it is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return str(path) not in _STDOUT and (path.is_file() or not path.exists())


def write_whole(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Write a file whose path the user chose (text as UTF-8), and create its folder.

    A regular file is replaced atomically, by a rename in its folder, and keeps its permissions
    unless ``mode`` is given. If ``path`` is a link, its target is replaced. Devices and pipes are
    written to.

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
    """Write a file in a folder that the user chose, and return its path.

    ``name`` is chosen by this package and may contain folders, separated by ``/``. The file is
    written as by :func:`write_whole`, but no link below the folder is followed, because the folder
    may come from someone else: a link in place of the file is replaced.

    Raises:
        UserError: if a folder below ``folder`` is a link.
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
    """Write a file by a rename in its folder, which also replaces a link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode is None and path.exists() and not path.is_symlink():
        mode = path.stat().st_mode & 0o7777
    temporary = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}")
    # Until the permissions are set, only this user can read the file.
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
    """Return the target of a path with its links followed; it need not exist.

    Raises:
        PermissionError: if a link on the way is in a world-writable folder (such as ``/tmp``) and
            belongs neither to this user nor to the owner of that folder. Otherwise another user
            who guesses a name could have a file of this user overwritten. Linux has the same rule
            (``fs.protected_symlinks``), but it may be off.
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
    """Return whether another user may have placed this link."""
    folder = link.parent.stat()
    everyone = stat.S_ISVTX | stat.S_IWOTH
    if folder.st_mode & everyone != everyone:
        return False
    return link.lstat().st_uid not in (os.geteuid(), folder.st_uid)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Run the block in one process at a time; other processes wait.

    Raises:
        OSError: if the lock file cannot be created, or is a link.
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
    """Write a text file as :func:`write_whole` does.

    Raises:
        UserError: if the file cannot be written.
    """
    with writing(path):
        write_whole(path, text)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an ``OSError`` raised while writing ``path`` to a one-line UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def rereadable(path: Path) -> Iterator[Path]:
    """Yield a file that can be read several times: ``path``, or a copy if it is a pipe.

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
            # Messages name the path that the user gave.
            error.args = (str(error).replace(str(copy), str(path)),)
            raise


def read_text(path: Path, what: str, most: int = MAX_TEXT) -> str:
    """Return the text of an untrusted UTF-8 file, with ``\\n`` line ends.

    Messages call it the ``what`` file.

    Raises:
        BadFile: if the file cannot be read, has more than ``most`` bytes (a device may be endless)
            or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise BadFile(f"the {what} file {path} is too large: the limit is {most // 2**20} MiB")
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise BadFile(f"cannot read the {what} file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise BadFile(
            f"the {what} file {path} is not UTF-8 text (byte {error.start} is {byte:#04x})"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path, what: str, most: int = MAX_JSON) -> Any:
    """Return the value of an untrusted JSON file; messages call it the ``what`` file.

    Raises:
        BadFile: if the file cannot be read, is too large, or is not JSON.
    """
    return parse_json(read_text(path, what, most), f"the {what} file {path}")


def read_object(path: Path, what: str, most: int = MAX_JSON) -> dict[str, Any]:
    """Return the object in an untrusted JSON file; messages call it the ``what`` file.

    Raises:
        BadFile: if the file cannot be read, is too large, or is not a JSON object.
    """
    value = read_json(path, what, most)
    if not isinstance(value, dict):
        raise BadFile(f"the {what} file {path} is not a JSON object")
    return value


def parse_json(text: str, what: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        BadFile: if the text is not JSON. Numbers of thousands of digits and values that are nested
            too deeply are refused as well.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise BadFile(f"{what} is not JSON: it is nested too deeply") from None
    except ValueError as error:
        raise BadFile(f"{what} is not JSON: {error}") from None


def object_at(data: Any, name: str) -> Mapping[str, Any]:
    """Return the object under a key of JSON data.

    Raises:
        BadFile: if the data are not an object, or the key has no object.
    """
    value = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(value, Mapping):
        raise BadFile(f"{name!r} is missing or not an object")
    return value


def most_unpacked(size: int) -> int:
    """Return the maximum unpacked size of a gzipped file of ``size`` bytes, in bytes."""
    return max(FREE_BYTES, MAX_GROWTH * size)


class Unpacked(gzip.GzipFile):
    """An untrusted gzipped file.

    Raises:
        OSError: while reading, if the file is damaged or exceeds :func:`most_unpacked`.
    """

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.read(len(buffer))
        except zlib.error as error:
            raise OSError(f"its gzip data is damaged: {error}") from None
        packed: Any = self.fileobj
        if self.tell() > most_unpacked(packed.tell()):
            raise OSError(f"it unpacks to more than {MAX_GROWTH} times its size")
        buffer[: len(data)] = data
        return len(data)
