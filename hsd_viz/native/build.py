"""The native library: the one that the package carries, one compiled before, or a
new one.

A wheel has a library for each of :data:`KERNELS` in ``lib/``. Where there is none of these sources,
the machine's own compiler makes one, once, for ``~/.cache/hsd_viz/native`` (see
:func:`hsd_viz.disk.cache_folder`). The processor's features decide which kernel is used, or
``$HSD_VIZ_KERNEL``; in int8 all give the same bits. ``$CXX`` names the compiler,
``$HSD_VIZ_CXXFLAGS`` is added to its flags.

The name of a compiled library is a hash over the sources, the machine, the compiler and its
flags, and ends in a digest of the content. A file with other content, of another user, or that
others can write is never loaded, nor one in a folder that others can change. A process without a
usable cache compiles its own library.
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
from pathlib import Path

from hsd_viz import disk
from hsd_viz.errors import UserError
from hsd_viz.native.library import Library
from hsd_viz.native.own_files import is_out_of_reach, own_folder

SOURCES = Path(__file__).parent / "src"
#: The libraries of a wheel: ``KERNEL-HASH.so``, by the hash of the sources.
PACKAGED = Path(__file__).parent / "lib"
COMPILERS = ("c++", "g++", "clang++")
#: No -ffast-math and no contraction: sums keep their order and are rounded as written.
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
#: By machine the kernels, the fastest first: a name, the features that the system must report, and
#: the flags.
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
#: Seconds after which a compiler is given up.
_SECONDS = 300


class Build:
    """One attempt to have the library, for a kernel or the fastest one. Several processes and
    threads may build at once: one compiles, the others wait for it. ``reason`` says why there is
    none, ``path`` and ``kernel`` which it is.
    """

    def __init__(self, cache: Path | None = None, kernel: str | None = None) -> None:
        self.reason: str | None = None
        self.path: Path | None = None
        self.kernel: str | None = None
        self._folder = cache
        self._wanted = kernel
        self._library: Library | None = None
        #: Holds the library of this process alone, where the cache cannot be used.
        self._room: tempfile.TemporaryDirectory[str] | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> Build:
        """Look for a library and start to compile where there is none. Returns at once."""
        with self._lock:
            # After a fork the thread that compiled is gone.
            running = self._thread is not None and self._thread.is_alive()
            if not running and self._library is None and self.reason is None:
                try:
                    self._find()
                except (ValueError, OSError) as error:
                    self.reason = str(error)
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Start if need be and wait up to ``timeout`` seconds; return whether the library is
        ready.
        """
        if (thread := self.start()._thread) is not None:
            thread.join(timeout)
        return self._library is not None

    @property
    def compiling(self) -> bool:
        """Whether the library may be ready later; starts to compile if need be."""
        return not self.wait(0) and self.reason is None

    @property
    def library(self) -> Library:
        """The loaded library.

        Raises:
            UserError: if there is none; the message has the reason.
        """
        if not self.wait() or self._library is None:
            raise UserError(f"there is no native runtime: {self.reason}")
        return self._library

    def _find(self) -> None:
        able = kernels()
        named = self._wanted or os.environ.get("HSD_VIZ_KERNEL")
        if named and named not in able:
            raise UserError(
                f"the kernel {named!r} is not one of this processor's: {', '.join(able)}"
            )
        choices = [named] if named else list(able)
        more = shlex.split(os.environ.get("HSD_VIZ_CXXFLAGS", ""))
        if not more and any(
            self._use(kernel, PACKAGED / library_name(kernel)) for kernel in choices
        ):
            return
        compiler = find_compiler()
        folder = self._folder or disk.cache_folder("native")
        commands = {}
        for kernel in choices:
            command = [*compiler, *FLAGS, *able[kernel], *more]
            facts = "\0".join(
                [platform.system(), platform.machine(), *command, library_name(kernel)]
            )
            commands[kernel] = command, folder / _digest(facts.encode(), 24)
        if not self._use(choices[0], cached(commands[choices[0]][1])):
            self._thread = threading.Thread(target=self._compile, args=(commands,), daemon=True)
            self._thread.start()

    def _compile(self, commands: dict[str, tuple[list[str], Path]]) -> None:
        """Have the library of the first kernel that this compiler can compile."""
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
        self.reason = reasons[0]

    def _compiled(self, command: Sequence[str], name: Path) -> Path:
        """Return the library of the cache, where it cannot be used one of this process alone."""
        room = tempfile.TemporaryDirectory(prefix="hsd-viz-native-")
        made = Path(room.name) / "library.so"
        try:
            return into_cache(command, name, made)
        except OSError as error:
            why = f"{name.parent}: {error.strerror or error}"
        warnings.warn(f"the native runtime is compiled for this run only ({why})", stacklevel=2)
        self._room = room
        if not made.exists():
            compile_library(command, SOURCES, made)
        return made

    def _use(self, kernel: str, path: Path | None) -> bool:
        """Load a library; whether it is one (a full disk truncates: it is then compiled again)."""
        try:
            library = None if path is None else Library(str(path))
        except (OSError, AttributeError):
            return False
        self.kernel = kernel
        self.path = path
        # The last one, because others look at it.
        self._library = library
        return path is not None


@functools.cache
def default_build() -> Build:
    """The build that this process shares."""
    return Build()


def find_compiler() -> list[str]:
    """Return the command of the C++ compiler: ``$CXX`` (which may carry options), else the first
    there is.

    Raises:
        UserError: if there is none.
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
        every: return all kernels of its family, as a wheel has them.
        machine: another family than that of this processor, as for a cross compiler.
    """
    machine = machine or platform.machine()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.lower(), machine)
    known = KERNELS.get(machine, (("plain", (), ()),))
    if every:
        return {name: flags for name, _, flags in known}
    features = processor_features()
    return {name: flags for name, needed, flags in known if features.issuperset(needed)}


def processor_features() -> set[str]:
    """Return the processor's features as the system names them."""
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return {"asimddp"}  # all of Apple's have it
    try:
        facts = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return set()
    return set(" ".join(re.findall(r"^(?:flags|Features)[^:]*:(.*)", facts, re.M)).split())


def library_name(kernel: str) -> str:
    """Return the file name of a kernel's library in a wheel, with a hash of the names and contents
    of the sources.
    """
    sources = b"".join(
        path.name.encode() + b"\0" + path.read_bytes() for path in sorted(SOURCES.iterdir())
    )
    return f"{kernel}-{_digest(sources)}.so"


def _digest(content: bytes, digits: int = 16) -> str:
    return hashlib.sha256(content).hexdigest()[:digits]


def trusted(path: Path) -> bool:
    """Return whether this user (or root) has made a library of the cache, no other user can have
    changed it, and its content is the one it was named after.
    """
    try:
        real = path.resolve(strict=True)
        if not is_out_of_reach(real):
            return False
        return real.stem.rpartition("-")[2] == _digest(real.read_bytes())
    except OSError:
        return False


def cached(name: Path) -> Path | None:
    """Return the library of the cache with this path but for its digest and ending."""
    return next(filter(trusted, sorted(name.parent.glob(f"{name.name}-*.so"))), None)


def into_cache(command: Sequence[str], name: Path, made: Path) -> Path:
    """Return the path ``NAME-DIGEST.so`` of the library, compiled to ``made`` and copied from there
    unless another process was faster.

    Raises:
        OSError: if it cannot be written, or others can change its folder.
        UserError: if the compiler fails; the message is the first line of its complaint.
    """
    own_folder(name.parent)
    lock = name.with_suffix(".lock")
    with disk.locked(lock):
        try:
            if (path := cached(name)) is None:
                compile_library(command, SOURCES, made)
                library = made.read_bytes()
                file = f"{name.name}-{_digest(library)}.so"
                path = disk.write_inside(name.parent, file, library, mode=0o755)
            return path
        finally:
            lock.unlink(missing_ok=True)


def compile_library(
    command: Sequence[str], sources: Path, out: Path, link: Sequence[str] = ()
) -> None:
    """Compile the source files side by side and link them to ``out``. ``command`` is the compiler
    with its flags.

    Raises:
        UserError: if the compiler fails; the message is the first line of its complaint.
    """
    from multiprocessing.pool import ThreadPool  # not needed where the library is there

    with tempfile.TemporaryDirectory() as folder, ThreadPool() as pool:
        objects = {
            str(source): f"{folder}/{source.stem}.o" for source in sorted(sources.glob("*.cpp"))
        }
        pool.map(_run, [[*command, "-c", source, "-o", made] for source, made in objects.items()])
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


if __name__ == "__main__":  # have the library before it is needed
    if default_build().compiling:
        print("compiling the native runtime", file=sys.stderr)
    if not default_build().wait():
        why = default_build().reason
        print(
            f"the native runtime cannot be compiled, and decoding in numpy is slow: {why}",
            file=sys.stderr,
        )
