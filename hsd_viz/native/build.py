"""Find or compile the native library.

A wheel contains a library for each of :data:`KERNELS` in ``lib/``. If there is no library of these
sources, the C++ compiler of the machine compiles one for ``~/.cache/hsd_viz/native`` (see
:func:`hsd_viz.disk.cache_folder`). The features of the processor determine the kernel, unless
``$HSD_VIZ_KERNEL`` is set; in int8 all kernels give the same bits. ``$CXX`` is the compiler, and
``$HSD_VIZ_CXXFLAGS`` is appended to its flags.

The name of a compiled library is a hash of the sources, the machine, the compiler and its flags,
followed by a digest of the content. A file is never loaded if its content differs, if it belongs to
another user, or if others can write to it or to its folder. A process without a usable cache
compiles a library of its own.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from hsd_viz import disk
from hsd_viz.errors import UserError, fault_message
from hsd_viz.native.library import Library
from hsd_viz.native.own_files import is_out_of_reach, own_folder

SOURCES = Path(__file__).parent / "src"
#: The libraries of a wheel: ``KERNEL-HASH.so``, by the hash of the sources.
PACKAGED = Path(__file__).parent / "lib"
COMPILERS = ("c++", "g++", "clang++")
#: The compiler flags. Without -ffast-math and contraction, sums are rounded as they are written.
FLAGS = (
    "-std=c++17",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-fPIC",
    "-pthread",
)
_AVX2 = ("-mavx2", "-mfma", "-mf16c")
_AVX512 = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni")
#: The kernels of each machine, the fastest first: the name, the required features of the processor
#: as the system reports them, and the compiler flags.
KERNELS: dict[str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
    "x86_64": (
        (
            "avx512vnni",
            ("avx512_vnni", "avx512bw", "avx512vl", "avx512dq", "avx2", "fma"),
            (*_AVX512, *_AVX2),
        ),
        ("avxvnni", ("avx_vnni", "avx2", "fma"), ("-mavxvnni", *_AVX2)),
        ("avx2", ("avx2", "fma", "f16c"), _AVX2),
        ("plain", (), ()),
    ),
    "aarch64": (("dotprod", ("asimddp",), ("-march=armv8.2-a+dotprod",)), ("plain", (), ())),
}
#: The seconds after which a compiler is killed.
_SECONDS = 300


class Build:
    """A build of the library, for a given kernel or for the fastest one.

    Several processes and threads may build at the same time: one compiles, the others wait.

    Args:
        cache: the folder for compiled libraries; by default that of the user's cache.
        kernel: the name of the kernel; by default the fastest.

    Attributes:
        reason: the reason why there is no library; ``None`` if it is ready or being compiled.
        path: the path of the loaded library.
        kernel: the kernel of the loaded library.
    """

    def __init__(self, cache: Path | None = None, kernel: str | None = None) -> None:
        self.reason: str | None = None
        self.path: Path | None = None
        self.kernel: str | None = None
        self._folder = cache
        self._wanted = kernel
        self._library: Library | None = None
        #: The folder of a library for this process only, if the cache cannot be used.
        self._own_folder: tempfile.TemporaryDirectory[str] | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> Build:
        """Look for a library, and start compiling in the background if there is none."""
        with self._lock:
            # After a fork, the thread that compiles does not exist in the child.
            running = self._thread is not None and self._thread.is_alive()
            if not running and self._library is None and self.reason is None:
                try:
                    self._find()
                except (ValueError, OSError) as error:
                    self.reason = str(error)
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait up to ``timeout`` seconds for the library, and return whether it is ready.

        The build is started if it was not yet.
        """
        if (thread := self.start()._thread) is not None:
            thread.join(timeout)
        return self._library is not None

    @property
    def compiling(self) -> bool:
        """Whether the library is being compiled; the build is started if it was not yet."""
        return not self.wait(0) and self.reason is None

    @property
    def library(self) -> Library:
        """The loaded library.

        Raises:
            UserError: if there is no library.
        """
        if not self.wait() or self._library is None:
            raise UserError(f"there is no native runtime: {self.reason}")
        return self._library

    def _find(self) -> None:
        supported = kernels()
        named = self._wanted or os.environ.get("HSD_VIZ_KERNEL")
        if named and named not in supported:
            raise UserError(
                f"the kernel {named!r} is not one of this processor's: {', '.join(supported)}"
            )
        choices = [named] if named else list(supported)
        more = shlex.split(os.environ.get("HSD_VIZ_CXXFLAGS", ""))
        if not more and any(
            self._use(kernel, PACKAGED / library_name(kernel)) for kernel in choices
        ):
            return
        compiler = find_compiler()
        folder = self._folder or disk.cache_folder("native")
        commands = {}
        for kernel in choices:
            command = [*compiler, *FLAGS, *supported[kernel], *more]
            facts = "\0".join(
                [platform.system(), platform.machine(), *command, library_name(kernel)]
            )
            commands[kernel] = command, folder / _digest(facts.encode(), 24)
        if not self._use(choices[0], cached(commands[choices[0]][1])):
            self._thread = threading.Thread(target=self._compile, args=(commands,), daemon=True)
            self._thread.start()

    def _compile(self, commands: dict[str, tuple[list[str], Path]]) -> None:
        """Compile and load the library of the first kernel that the compiler supports."""
        reasons = []
        for kernel, (command, name) in commands.items():
            try:
                if self._use(kernel, self._compiled(command, name)):
                    return
                reasons.append(f"{command[0]} failed: the compiled library cannot be loaded")
            except ValueError as error:
                reasons.append(f"{command[0]} failed: {error}")
            except OSError as error:
                where = error.filename or tempfile.gettempdir()
                reasons.append(f"{where} cannot be written: {error.strerror or error}")
            except Exception as error:  # the thread ends without a caller that could report it
                reasons.append(fault_message(error))
        self.reason = reasons[0]

    def _compiled(self, command: Sequence[str], name: Path) -> Path:
        """Return the path of the compiled library in the cache or, if that cannot be used, of a
        library for this process only.
        """
        with ExitStack() as temporary:
            folder = tempfile.TemporaryDirectory(prefix="hsd-viz-native-")
            library_file = Path(temporary.enter_context(folder)) / "library.so"
            try:
                return into_cache(command, name, library_file)
            except OSError as error:
                why = f"{name.parent}: {error.strerror or error}"
            warnings.warn(f"the native runtime is compiled for this run only ({why})", stacklevel=2)
            if not library_file.exists():
                compile_library(command, SOURCES, library_file)
            # The library is in no cache, so its folder stays until the process ends.
            temporary.pop_all()
            self._own_folder = folder
        return library_file

    def _use(self, kernel: str, path: Path | None) -> bool:
        """Load a library, and return whether that succeeded.

        A library that a full disk truncated cannot be loaded, and is compiled again.
        """
        if path is None:
            return False
        try:
            library = Library(str(path))
        except (OSError, AttributeError):
            return False
        self.kernel = kernel
        self.path = path
        # Set last, because other threads check it.
        self._library = library
        return True


@functools.cache
def default_build() -> Build:
    """Return the build that the process shares."""
    return Build()


def find_compiler() -> list[str]:
    """Return the command of the C++ compiler: ``$CXX``, which may have options, or the first of
    :data:`COMPILERS` that is installed.

    Raises:
        UserError: if there is no compiler.
    """
    if named := shlex.split(os.environ.get("CXX", "")):
        if not shutil.which(named[0]):
            raise UserError(f"the C++ compiler $CXX ({named[0]}) is not there")
        return named
    if compiler := next(filter(None, map(shutil.which, COMPILERS)), None):
        return [compiler]
    raise UserError(
        "no C++ compiler is installed (c++, g++ or clang++): install one "
        "to be fast, for example `apt install g++`"
    )


def kernels(every: bool = False, machine: str = "") -> dict[str, tuple[str, ...]]:
    """Return the kernels that this processor can run, the fastest first, with their compiler flags.

    Args:
        every: whether to return all kernels of the machine, as for a wheel.
        machine: the machine, for a cross compiler; by default that of this process.
    """
    machine = machine or platform.machine()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.lower(), machine)
    candidates = KERNELS.get(machine, (("plain", (), ()),))
    if every:
        return {name: flags for name, _, flags in candidates}
    features = processor_features()
    return {name: flags for name, needed, flags in candidates if features.issuperset(needed)}


def processor_features() -> set[str]:
    """Return the features of the processor, as the system names them."""
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return {"asimddp"}  # all processors of Apple have it
    try:
        facts = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return set()
    return set(" ".join(re.findall(r"^(?:flags|Features)[^:]*:(.*)", facts, re.M)).split())


def library_name(kernel: str) -> str:
    """Return the file name of a kernel's library in a wheel, with a hash of the sources."""
    sources = b"".join(
        path.name.encode() + b"\0" + path.read_bytes() for path in sorted(SOURCES.iterdir())
    )
    return f"{kernel}-{_digest(sources)}.so"


def _digest(content: bytes, digits: int = 16) -> str:
    return hashlib.sha256(content).hexdigest()[:digits]


def trusted(path: Path) -> bool:
    """Return whether a library in the cache can be loaded: it belongs to this user or root, no
    other user can have changed it, and its content matches its name.
    """
    try:
        real = path.resolve(strict=True)
        if not is_out_of_reach(real):
            return False
        return real.stem.rpartition("-")[2] == _digest(real.read_bytes())
    except OSError:
        return False


def cached(name: Path) -> Path | None:
    """Return the trusted library in the cache whose path begins with ``name``; ``None`` if there is
    none.
    """
    return next(filter(trusted, sorted(name.parent.glob(f"{name.name}-*.so"))), None)


def into_cache(command: Sequence[str], name: Path, temporary: Path) -> Path:
    """Compile a library to a temporary file and copy it into the cache, unless it is there.

    Args:
        command: the compiler with its flags.
        name: the path in the cache without digest and suffix.
        temporary: the temporary file.

    Returns:
        The path ``NAME-DIGEST.so`` of the library in the cache.

    Raises:
        OSError: if it cannot be written, or if others can change its folder.
        UserError: if the compiler fails, with the first line of its error.
    """
    own_folder(name.parent)
    # The lock file stays: another process may be waiting for it.
    with disk.locked(name.with_suffix(".lock")):
        if (path := cached(name)) is None:
            compile_library(command, SOURCES, temporary)
            library = temporary.read_bytes()
            file = f"{name.name}-{_digest(library)}.so"
            path = disk.write_inside(name.parent, file, library, mode=0o755)
        return path


def compile_library(
    command: Sequence[str], sources: Path, out: Path, link: Sequence[str] = ()
) -> None:
    """Compile the source files in parallel, and link them to ``out``.

    Args:
        command: the compiler with its flags.
        sources: the folder of the source files.
        out: the path of the library.
        link: further arguments for the linker.

    Raises:
        UserError: if the compiler fails, with the first line of its error.
    """
    from multiprocessing.pool import ThreadPool  # imported only when a library is compiled

    with tempfile.TemporaryDirectory() as folder, ThreadPool() as pool:
        objects = {
            str(source): f"{folder}/{source.stem}.o" for source in sorted(sources.glob("*.cpp"))
        }
        pool.map(
            _run,
            [
                [*command, "-c", source, "-o", object_file]
                for source, object_file in objects.items()
            ],
        )
        _run([*command, "-shared", *objects.values(), *link, "-o", str(out)])


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"it took more than {_SECONDS} seconds") from None
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        complaints = [line for line in lines if "error" in line.lower()]
        raise UserError((complaints or lines or [f"exit status {done.returncode}"])[0])


if __name__ == "__main__":  # compile the library ahead of its use
    if default_build().compiling:
        print("compiling the native runtime", file=sys.stderr)
    if not default_build().wait():
        why = default_build().reason
        print(
            f"the native runtime cannot be compiled, and decoding in numpy is slow: {why}",
            file=sys.stderr,
        )
