"""Finding the native library: the one that the package carries, one compiled before, or a new one.

A wheel has a library for each of :data:`KERNELS` in ``lib/``. Where there is none of these sources, the machine's own
compiler makes one, once, for ``~/.cache/hsd_viz/native`` (below ``$XDG_CACHE_HOME`` where that is set, or in
``$HSD_VIZ_CACHE``). Which kernel is used is decided at run time by the processor's features, or by hand in
``$HSD_VIZ_KERNEL``. In int8 all give the same bits.
The name of a compiled library is a hash over the sources, the compiler's version and the flags, and ends in a digest of
the content; a file with other content, of another user, or writable by others is never loaded. ``$CXX`` names the
compiler, ``$HSD_VIZ_CXXFLAGS`` is added to its flags. When a library is added, those that were not loaded for a while
are removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from hsd_viz import disk
from hsd_viz.native import compile as compiling

SOURCES = Path(__file__).parent / "src"
#: The libraries of a wheel: ``KERNEL-HASH.so``, by the hash of the sources.
PACKAGED = Path(__file__).parent / "lib"
COMPILERS = ("c++", "g++", "clang++")
_AVX2 = ("-mavx2", "-mfma", "-mf16c")
_AVX512 = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni")
#: By machine the kernels, the fastest first: a name, the features that the system must report, and the flags.
KERNELS: dict[str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
    "x86_64": (
        ("avx512vnni", ("avx512_vnni", "avx512bw", "avx512vl", "avx512dq", "avx2", "fma"), (*_AVX512, *_AVX2)),
        ("avxvnni", ("avx_vnni", "avx2", "fma"), ("-mavxvnni", *_AVX2)),
        ("avx2", ("avx2", "fma", "f16c"), _AVX2),
        ("plain", (), ()),
    ),
    "aarch64": (("dotprod", ("asimddp",), ("-march=armv8.2-a+dotprod",)), ("plain", (), ())),
}
#: All that is made in the cache: a library, and what belongs to one that is being compiled.
_OURS = re.compile(r"\.?[0-9a-f]{24}(?:(?:-[0-9a-f]{16})?\.so(?:\.\w+)?|\w+\.tmp|\.lock)\Z")
_DAY = 24 * 3600.0
#: Seconds since a library was last loaded, and since a compiler began on a file, after which the file is removed. No
#: compiler takes that long.
UNUSED_SECONDS, STALE_SECONDS = 30 * _DAY, _DAY


class Build:
    """One attempt to have the library. ``state`` is ``"compiling"``, ``"ready"`` or ``"unavailable"``; then ``reason``
    says why.

    The compiler runs in a process of its own, which completes the library when this one ends before. Several processes
    and threads may build at once: one compiles, the others wait for it.
    """

    def __init__(self, cache: Path | None = None, kernel: str | None = None) -> None:
        self._state = "compiling"
        self.reason: str | None = None
        self.path: Path | None = None
        self._cache = cache
        self._kernel = kernel
        #: The kernel of the library, once it is ready.
        self.kernel: str | None = None
        #: The process that compiles, if any.
        self.process: subprocess.Popen | None = None
        self._library: ctypes.CDLL | None = None
        self._looked, self._done = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> Build:
        """Start in a background thread, unless started. Returns at once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="compile the native runtime", daemon=True)
                self._thread.start()
        return self

    @property
    def state(self) -> str:
        """Where the build is; a library that is there already is not one that is being compiled."""
        if self._thread is not None:
            self._looked.wait()
        return self._state

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
            self._have()
            self._state = "ready"
        except Unavailable as why:
            self.reason, self._state = str(why), "unavailable"
        except Exception as error:
            self.reason, self._state = f"{type(error).__name__}: {error}".splitlines()[0], "unavailable"
        finally:
            self._looked.set()
            self._done.set()

    def _have(self) -> None:
        choices, more = self._choices(), shlex.split(os.environ.get("HSD_VIZ_CXXFLAGS", ""))
        if not more:
            for kernel, _ in choices:
                if self._use(kernel, PACKAGED / library_name(kernel)):
                    return
        compiler = find_compiler()
        identity, folder, complaint = _identity(compiler), self._cache or cache_folder(), None
        for kernel, chosen in choices:
            flags = (*compiling.FLAGS, *chosen, *more)
            name = hashlib.sha256("\0".join([identity, *flags, sources()]).encode()).hexdigest()[:24]
            for path in sorted(folder.glob(f"{name}-*.so")):
                if compiling.trusted(path) and self._use(kernel, path):
                    with contextlib.suppress(OSError):  # a shared folder, which its owner looks after
                        os.utime(path)  # used: this is what sweep goes by
                    return
            self.process = _compile([*compiler, *flags], folder, name)
            self._looked.set()
            printed, _ = self.process.communicate()
            made = json.loads(printed) if printed else {"complaint": f"exit status {self.process.returncode}"}
            if "path" in made:
                if self._use(kernel, Path(made["path"])):
                    return sweep(folder)
                made = {"complaint": "the compiled library cannot be loaded"}
            complaint = complaint or made["complaint"]
        raise Unavailable(f"{compiler[0]} failed: {complaint}")

    def _use(self, kernel: str, path: Path) -> bool:
        """Load a library; whether it is one (a full disk truncates: it is then compiled again)."""
        from hsd_viz.native.library import declare

        if not path.is_file():
            return False
        try:
            self._library = declare(ctypes.CDLL(str(path)))
        except (OSError, AttributeError):
            return False
        self.kernel, self.path = kernel, path
        return True

    def _choices(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the kernels to try, with their flags: those this processor runs, or the one asked for."""
        able = kernels()
        named = self._kernel or os.environ.get("HSD_VIZ_KERNEL")
        if named and named not in able:
            raise Unavailable(f"the kernel {named!r} is not one of this processor's: {', '.join(able)}")
        return [(named, able[named])] if named else list(able.items())


class Unavailable(Exception):
    """Why there is no library, in a few words."""


@functools.cache
def default_build() -> Build:
    """The build that this process shares."""
    return Build()


def find_compiler() -> list[str]:
    """The command of the C++ compiler: ``$CXX`` (which may carry options), else the first there is."""
    if named := shlex.split(os.environ.get("CXX", "")):
        if not shutil.which(named[0]):
            raise Unavailable(f"the C++ compiler $CXX ({named[0]}) is not there")
        return named
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    raise Unavailable("no C++ compiler is installed (c++, g++ or clang++)")


def family() -> dict[str, tuple[str, ...]]:
    """Return the kernels of this machine's family, the fastest first, with their compiler flags."""
    return {name: flags for name, _, flags in _family()}


def kernels() -> dict[str, tuple[str, ...]]:
    """Return the kernels that this processor can run, the fastest first, with their compiler flags."""
    found = processor_features()
    return {name: flags for name, needed, flags in _family() if found.issuperset(needed)}


def _family() -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return KERNELS.get(machine, (("plain", (), ()),))


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
                path.unlink() if path.is_file() else shutil.rmtree(path)
        except OSError:  # another process was faster, or the file belongs to another user
            continue


def _identity(compiler: list[str]) -> str:
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, timeout=60, errors="replace")
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{compiler[0]} cannot be run: {error}") from None
    return "\n".join([*compiler, version.stdout, platform.system(), platform.machine()])


def processor_features() -> set[str]:
    """Return the processor's features as the system names them."""
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return {"asimddp"}  # all of Apple's have it
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return {word for line in lines if line.startswith(("flags", "Features")) for word in line.split(":", 1)[-1].split()}


def sources() -> str:
    """Return the hash of the sources."""
    return compiling.sources_hash(SOURCES)


def library_name(kernel: str) -> str:
    """Return the file name of a kernel's library of these sources in a wheel."""
    return f"{kernel}-{sources()}.so"


def _compile(command: list[str], folder: Path, name: str) -> subprocess.Popen:
    """Start to compile into ``folder`` by a process that outlives this one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / f".{name}.lock").touch()
    except OSError as error:
        raise Unavailable(f"{folder} cannot be written: {error.strerror}") from None
    program = [sys.executable, "-I", compiling.__file__, str(SOURCES), str(folder), name, shlex.join(command)]
    return subprocess.Popen(
        program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def main() -> None:
    """Have the library before it is needed, with one line of progress."""
    build, start = default_build().start(), time.monotonic()
    while not build.wait(1.0) and build.state == "compiling":
        if sys.stderr.isatty():
            print(f"\rcompiling the native runtime: {time.monotonic() - start:.0f} s ", end="", file=sys.stderr)
    if build.reason:
        print(f"the native runtime cannot be compiled, and decoding in numpy is slow: {build.reason}", file=sys.stderr)
    elif (seconds := time.monotonic() - start) > 1:
        print(f"\rcompiled the native runtime in {seconds:.0f} s    ", file=sys.stderr)


if __name__ == "__main__":
    from hsd_viz.native.build import main as of_module

    of_module()  # the build that the package shares
