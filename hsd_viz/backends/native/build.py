"""Compiling the C++ sources with the machine's own compiler, once; the library is kept on disk.

The library is in ``~/.cache/hsd_viz/native`` (below ``$XDG_CACHE_HOME`` where that is set, or in ``$HSD_VIZ_CACHE``).
Its name is a hash over the sources, the compiler's version, the flags and the processor's features: a home directory
that moves to another processor never runs instructions that it lacks. The name ends in a digest of the content; a
file with other content, of another user, or writable by others is never loaded. ``$CXX`` names the compiler,
``$HSD_VIZ_CXXFLAGS`` takes the place of ``-march=native``. When a library is added, those that were not loaded for a
while are removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from hsd_viz import disk

SOURCES = Path(__file__).parent / "src"
COMPILERS = ("c++", "g++", "clang++")
# No -ffast-math and no contraction: sums keep their order and are rounded as written.
FLAGS = (
    *("-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno"),
    *("-fvisibility=hidden", "-fPIC", "-shared", "-pthread"),
)
#: Flags for all of this processor's instructions; the next is tried when a compiler refuses one.
NATIVE_FLAGS = (("-march=native",), ("-mcpu=native",), ())
COMPILE_SECONDS = 300
#: Every file that is made here: a library, and one that is being compiled.
_OURS = re.compile(r"\.?[0-9a-f]{24}(?:(?:-[0-9a-f]{16})?\.so(?:\.\w+)?|\w+\.tmp)\Z")
_DAY = 24 * 3600.0
#: Seconds since a library was last loaded, and since a compiler began on a file, after which the file is removed. No
#: compiler takes that long.
UNUSED_SECONDS, STALE_SECONDS = 30 * _DAY, _DAY


class Build:
    """One attempt to have the library. ``state`` is ``"compiling"``, ``"ready"`` or ``"unavailable"``; then ``reason``
    says why.

    Several processes and threads may build at once: each compiles to a name of its own and renames.
    """

    def __init__(self, cache: Path | None = None, native_flags: tuple[tuple[str, ...], ...] | None = None) -> None:
        self.state = "compiling"
        self.reason: str | None = None
        self.path: Path | None = None
        self._cache = cache
        self._native_flags = native_flags
        self._library: ctypes.CDLL | None = None
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> Build:
        """Start in a background thread, unless started. Returns at once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="compile the native runtime", daemon=True)
                self._thread.start()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Start if need be and wait up to ``timeout`` seconds; whether the library is ready."""
        self.start()
        self._done.wait(timeout)
        return self.state == "ready"

    @property
    def library(self) -> ctypes.CDLL:
        """The loaded library. Raises ``ValueError`` with the reason if there is none."""
        if not self.wait():
            raise ValueError(f"there is no native runtime: {self.reason}")
        return self._library

    # --- inside ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self.path, self._library = self._have()
            self.state = "ready"
        except _Unavailable as why:
            self.reason, self.state = str(why), "unavailable"
        except Exception as error:
            self.reason, self.state = f"{type(error).__name__}: {error}".splitlines()[0], "unavailable"
        finally:
            self._done.set()

    def _have(self) -> tuple[Path, ctypes.CDLL]:
        compiler = find_compiler()
        identity = _identity(compiler)
        folder = self._cache or cache_folder()
        complaint = None
        for native in self._native_flags or native_flags():
            flags = (*FLAGS, *native)
            name = _hash(identity, flags)
            for path in sorted(folder.glob(f"{name}-*.so")):
                if _trusted(path) and (library := _load(path)):
                    _touch(path)
                    return path, library
            made = _compile([*compiler, *flags], folder, name)
            if isinstance(made, Path):
                if library := _load(made):
                    sweep(folder)
                    return made, library
                made = "the compiled library cannot be loaded"
            complaint = complaint or made
        raise _Unavailable(f"{compiler[0]} failed: {complaint}")


class _Unavailable(Exception):
    """Why there is no library, in a few words."""


@functools.cache
def default_build() -> Build:
    """The build that this process shares."""
    return Build()


def find_compiler() -> list[str]:
    """The command of the C++ compiler: ``$CXX`` (which may carry options), else the first there is."""
    if named := shlex.split(os.environ.get("CXX", "")):
        if not shutil.which(named[0]):
            raise _Unavailable(f"the C++ compiler $CXX ({named[0]}) is not there")
        return named
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    raise _Unavailable("no C++ compiler is installed (c++, g++ or clang++)")


def native_flags() -> tuple[tuple[str, ...], ...]:
    """The ways to ask for this processor, in order; only the one of ``$HSD_VIZ_CXXFLAGS`` where that is set."""
    override = os.environ.get("HSD_VIZ_CXXFLAGS")
    return NATIVE_FLAGS if override is None else (tuple(shlex.split(override)),)


def cache_folder() -> Path:
    """Where libraries are kept."""
    return disk.cache_folder("native")


def sweep(folder: Path) -> None:
    """Remove libraries that were not loaded for 30 days and what compilers left behind more than a day ago; all else
    stays.

    A process that loaded a library keeps its pages when the file is removed.
    """
    now = time.time()
    try:
        found = [path for path in folder.iterdir() if _OURS.match(path.name)]
    except OSError:
        return
    for path in found:
        try:
            if now - path.lstat().st_mtime > (UNUSED_SECONDS if path.suffix == ".so" else STALE_SECONDS):
                path.unlink()
        except OSError:  # another process was faster, or the file belongs to another user
            continue


def _touch(path: Path) -> None:
    """Note that the library is used: its file's time is what :func:`sweep` goes by."""
    with contextlib.suppress(OSError):  # a shared folder, which its owner looks after
        os.utime(path)


def _identity(compiler: list[str]) -> str:
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, timeout=60, errors="replace")
    except (OSError, subprocess.SubprocessError) as error:
        raise _Unavailable(f"{compiler[0]} cannot be run: {error}") from None
    return "\n".join([*compiler, version.stdout, platform.system(), platform.machine(), processor_features()])


def processor_features() -> str:
    """Return the processor's features as the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        found = {line for line in lines if line.startswith(("flags", "Features", "model name", "CPU part"))}
        return "\n".join(sorted(found))
    except OSError:
        return platform.processor()


def _hash(identity: str, flags: tuple[str, ...]) -> str:
    digest = hashlib.sha256("\0".join([identity, *flags]).encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:24]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _trusted(path: Path) -> bool:
    """Return whether this user (or root) has built the library, and no other can have changed it."""
    try:
        for place in (path, path.parent):
            found = place.stat()
            if hasattr(os, "getuid") and (found.st_uid not in (os.getuid(), 0) or found.st_mode & 0o002):
                return False
        return path.stem.rpartition("-")[2] == _digest(path)
    except OSError:
        return False


def _compile(command: list[str], folder: Path, name: str) -> Path | str:
    """Compile into ``folder``; return the library's path, or the first line of the compiler's complaint."""
    command = [*command, str(SOURCES / "runtime.cpp"), "-o"]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, file = tempfile.mkstemp(dir=folder, prefix=f".{name}.so.")
    except OSError as error:
        raise _Unavailable(f"{folder} cannot be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(file)
    try:
        subprocess.run(
            [*command, str(temporary)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILE_SECONDS,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        temporary.chmod(0o755)
        return temporary.replace(folder / f"{name}-{_digest(temporary)}.so")
    except subprocess.CalledProcessError as failed:
        lines = [line.strip() for line in (failed.stderr + "\n" + failed.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        return (errors or lines or [f"exit status {failed.returncode}"])[0]
    except subprocess.TimeoutExpired:
        return f"it took more than {COMPILE_SECONDS} seconds"
    except OSError as error:
        return str(error)
    finally:
        temporary.unlink(missing_ok=True)


def _load(path: Path) -> ctypes.CDLL | None:
    """Load the library; ``None`` if the file is not one (truncated by a full disk): it is then compiled again."""
    from hsd_viz.backends.native.library import declare

    try:
        return declare(ctypes.CDLL(str(path)))
    except (OSError, AttributeError):
        return None
