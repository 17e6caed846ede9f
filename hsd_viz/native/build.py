"""Finding the native library: the one that the package carries, one compiled before, or a new one.

A wheel has a library for each of :data:`KERNELS` in ``lib/``. Where there is none of these sources, the machine's own
compiler makes one, once, for ``~/.cache/hsd_viz/native`` (see :func:`hsd_viz.disk.cache_folder`). The processor's
features decide which kernel is used, or ``$HSD_VIZ_KERNEL``; in int8 all give the same bits. ``$CXX`` names the
compiler, ``$HSD_VIZ_CXXFLAGS`` is added to its flags.

The name of a compiled library is a hash over the sources, the compiler's version and the flags, and ends in a digest of
the content; a file with other content, of another user, or writable by others is never loaded. The compiler runs in a
process of its own, which completes the library when this one ends before.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hsd_viz import disk

SOURCES = Path(__file__).parent / "src"
#: The libraries of a wheel: ``KERNEL-HASH.so``, by the hash of the sources.
PACKAGED = Path(__file__).parent / "lib"
COMPILERS = ("c++", "g++", "clang++")
#: No -ffast-math and no contraction: sums keep their order and are rounded as written.
FLAGS = ("-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-pthread")
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
#: Seconds after which a compiler is given up.
_SECONDS = 300


class Unavailable(Exception):
    """Why there is no library, in a few words."""


class Build:
    """One attempt to have the library, for a kernel or the fastest one. Several processes and threads may build at
    once: one compiles, the others wait for it. ``reason`` says why there is none, ``path`` and ``kernel`` which it is.
    """

    def __init__(self, cache: Path | None = None, kernel: str | None = None) -> None:
        self.reason: str | None = None
        self.path: Path | None = None
        self.kernel: str | None = None
        self._cache, self._wanted = cache, kernel
        self._library: ctypes.CDLL | None = None
        self._search = self._find()
        #: The process that compiles, if any.
        self.process: subprocess.Popen | None = None
        self._lock = threading.Lock()

    def start(self) -> Build:
        """Look for a library and start to compile where there is none. Returns at once."""
        self.wait(0)
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Start if need be and wait up to ``timeout`` seconds; return whether the library is ready."""
        ends = time.monotonic() + (1e9 if timeout is None else timeout)
        with self._lock:
            while self._library is None and self.reason is None:
                try:
                    if self.process is not None:
                        self.process.wait(max(0, ends - time.monotonic()))
                    self.process = next(self._search)
                except subprocess.TimeoutExpired:
                    return False
                except (Unavailable, OSError) as error:
                    self.reason = str(error)
                except StopIteration:
                    pass
        return self._library is not None

    @property
    def compiling(self) -> bool:
        """Whether the library may be ready later; starts to compile if need be."""
        return not self.wait(0) and self.reason is None

    @property
    def library(self) -> ctypes.CDLL:
        """The loaded library. Raises: ValueError: if there is none; the message has the reason."""
        if not self.wait():
            raise ValueError(f"there is no native runtime: {self.reason}")
        assert self._library is not None
        return self._library

    def _find(self) -> Iterator[subprocess.Popen]:
        """Have the library; yields each process that compiles one, to be resumed when it has ended."""
        able, named = kernels(), self._wanted or os.environ.get("HSD_VIZ_KERNEL")
        if named and named not in able:
            raise Unavailable(f"the kernel {named!r} is not one of this processor's: {', '.join(able)}")
        choices, more = ([named] if named else list(able)), shlex.split(os.environ.get("HSD_VIZ_CXXFLAGS", ""))
        if not more and any(self._use(kernel, PACKAGED / library_name(kernel)) for kernel in choices):
            return
        compiler, folder, complaint = find_compiler(), self._cache or cache_folder(), ""
        identity = _identity(compiler)
        for kernel in choices:
            command = [*compiler, *FLAGS, *able[kernel], *more]
            name = hashlib.sha256("\0".join([identity, *command, sources_hash()]).encode()).hexdigest()[:24]
            if self._use_any(kernel, folder, name):
                return
            process = _start_compiling(command, folder, name)
            yield process
            printed = process.stdout.read().strip()  # type: ignore[union-attr]
            if not process.returncode:
                if self._use(kernel, Path(printed)):
                    return
                printed = "the compiled library cannot be loaded"
            complaint = complaint or printed or f"exit status {process.returncode}"
        raise Unavailable(f"{compiler[0]} failed: {complaint}")

    def _use_any(self, kernel: str, folder: Path, name: str) -> bool:
        return any(trusted(path) and self._use(kernel, path) for path in sorted(folder.glob(f"{name}-*.so")))

    def _use(self, kernel: str, path: Path) -> bool:
        """Load a library; whether it is one (a full disk truncates: it is then compiled again)."""
        from hsd_viz.native.library import declare

        try:
            self._library = declare(ctypes.CDLL(str(path)))
        except (OSError, AttributeError):
            return False
        self.kernel, self.path = kernel, path
        return True


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


def family(features: set[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return the kernels of this machine's family, of processors with these ``features`` (default: of all), the fastest
    first, with their compiler flags.
    """
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    known = KERNELS.get(machine, (("plain", (), ()),))
    return {name: flags for name, needed, flags in known if features is None or features.issuperset(needed)}


def kernels() -> dict[str, tuple[str, ...]]:
    """Return the kernels that this processor can run, the fastest first, with their compiler flags."""
    return family(processor_features())


def processor_features() -> set[str]:
    """Return the processor's features as the system names them."""
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return {"asimddp"}  # all of Apple's have it
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return {word for line in lines if line.startswith(("flags", "Features")) for word in line.split(":", 1)[-1].split()}


def cache_folder() -> Path:
    """Where libraries are kept."""
    return disk.cache_folder("native")


def sources_hash() -> str:
    """Return 16 hexadecimal digits of the names and contents of the sources."""
    found = hashlib.sha256()
    for source in sorted(SOURCES.iterdir()):
        found.update(source.name.encode() + b"\0" + source.read_bytes())
    return found.hexdigest()[:16]


def library_name(kernel: str) -> str:
    """Return the file name of a kernel's library of these sources in a wheel."""
    return f"{kernel}-{sources_hash()}.so"


def digest(path: Path) -> str:
    """Return 16 hexadecimal digits of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def trusted(path: Path) -> bool:
    """Return whether this user (or root) has made a library of the cache, no other user can have changed it, and its
    content is the one it was named after.
    """
    try:
        for place in (path, path.parent):
            found = place.stat()
            if hasattr(os, "getuid") and (found.st_uid not in (os.getuid(), 0) or found.st_mode & 0o002):
                return False
        return path.stem.rpartition("-")[2] == digest(path)
    except OSError:
        return False


def _identity(compiler: list[str]) -> str:
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, timeout=60, errors="replace")
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{compiler[0]} cannot be run: {error}") from None
    return "\n".join([version.stdout, platform.system(), platform.machine()])


def _start_compiling(command: Sequence[str], folder: Path, name: str) -> subprocess.Popen:
    """Start to compile into ``folder`` by a process that outlives this one: :func:`into_cache`."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / f".{name}.lock").touch()
    except OSError as error:
        raise Unavailable(f"{folder} cannot be written: {error.strerror}") from None
    program = "import sys; from hsd_viz.native.build import into_cache; into_cache(*sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    given = [sys.executable, "-c", program, shlex.join(command), str(SOURCES), str(folder), name]
    return subprocess.Popen(
        given, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def into_cache(command: str, sources: str, folder: str, name: str) -> None:
    """Print the path of ``folder/NAME-DIGEST.so``, made unless another process was faster, or exit with the reason."""
    lock = Path(folder) / f".{name}.lock"
    with lock.open("w") as file:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # until this process ends
        try:
            path = next(filter(trusted, Path(folder).glob(f"{name}-*.so")), None)
            if path is None:
                with tempfile.TemporaryDirectory() as room:
                    made = Path(room) / "library.so"
                    compile_library(shlex.split(command), Path(sources), made)
                    path = Path(folder) / f"{name}-{digest(made)}.so"
                    with disk.replacing(path, mode=0o755) as to:
                        shutil.copyfile(made, to)
            said, status = str(path), 0
        except (OSError, ValueError) as error:
            said, status = str(error), 1
        lock.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the process that asked has ended
        print(said, flush=True)
    sys.exit(status)


def compile_library(command: Sequence[str], sources: Path, out: Path, link: Sequence[str] = ()) -> None:
    """Compile each source file beside the others and link them to ``out``. ``command`` is the compiler with its flags.

    Raises:
        ValueError: if the compiler fails; the message is the first line of its complaint.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as threads:
        objects = {str(source): str(Path(folder) / f"{source.stem}.o") for source in sorted(sources.glob("*.cpp"))}
        list(threads.map(lambda pair: _run([*command, "-c", pair[0], "-o", pair[1]]), objects.items()))
        _run([*command, "-shared", *objects.values(), *link, "-o", str(out)])


def _run(command: list[str]) -> None:
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "errors": "replace"}
    try:
        done = subprocess.run(command, timeout=_SECONDS, **given)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired:
        raise ValueError(f"it took more than {_SECONDS} seconds") from None
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        complaints = [line for line in lines if "error" in line.lower()]
        raise ValueError((complaints or lines or [f"exit status {done.returncode}"])[0])


def main() -> None:
    """Have the library before it is needed, with one line of progress."""
    build, start = default_build(), time.monotonic()
    while not build.wait(1.0) and build.reason is None:
        if sys.stderr.isatty():
            print(f"\rcompiling the native runtime: {time.monotonic() - start:.0f} s ", end="", file=sys.stderr)
    if build.reason:
        print(f"the native runtime cannot be compiled, and decoding in numpy is slow: {build.reason}", file=sys.stderr)
    elif (seconds := time.monotonic() - start) > 1:
        print(f"\rcompiled the native runtime in {seconds:.0f} s    ", file=sys.stderr)


if __name__ == "__main__":
    from hsd_viz.native.build import main as of_module

    of_module()  # the build that the package shares
