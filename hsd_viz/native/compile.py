"""Compile the C++ sources into a shared library: a program of its own that imports nothing of this package.

A process that needs the library starts it and may end before it is complete. Only one compiles a library at a time;
the others wait for the lock and find the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

#: No -ffast-math and no contraction: sums keep their order and are rounded as written.
FLAGS = ("-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-pthread")
#: Seconds after which a compiler is given up.
SECONDS = 300


def digest(path: Path) -> str:
    """Return 16 hexadecimal digits of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def sources_hash(sources: Path) -> str:
    """Return 16 hexadecimal digits of the names and contents of the sources."""
    found = hashlib.sha256()
    for source in sorted(sources.iterdir()):
        found.update(source.name.encode() + b"\0" + source.read_bytes())
    return found.hexdigest()[:16]


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


def compile_library(command: Sequence[str], sources: Path, out: Path, link: Sequence[str] = ()) -> None:
    """Compile each source file beside the others and link them to ``out``. ``command`` is the compiler with its flags.

    Raises:
        ValueError: if the compiler fails; the message is the first line of its complaint.
    """
    ends = time.monotonic() + SECONDS
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name.lstrip('.')}.") as folder:
        objects = {source: Path(folder) / f"{source.stem}.o" for source in sorted(sources.glob("*.cpp"))}
        units = [[*command, "-c", str(source), "-o", str(to)] for source, to in objects.items()]
        running = [_start(unit) for unit in units]
        try:
            for process in running:
                _finish(process, ends)
            made = Path(folder) / "library.so"
            _finish(_start([*command, "-shared", *map(str, objects.values()), *link, "-o", str(made)]), ends)
            made.chmod(0o755)
            made.replace(out)
        finally:
            for process in running:
                process.kill()
                process.communicate()


def _start(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )


def _finish(process: subprocess.Popen, ends: float) -> None:
    try:
        out, errors = process.communicate(timeout=max(0.0, ends - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise ValueError(f"it took more than {SECONDS} seconds") from None
    if process.returncode:
        lines = [line.strip() for line in (errors + "\n" + out).splitlines() if line.strip()]
        complaints = [line for line in lines if "error" in line.lower()]
        raise ValueError((complaints or lines or [f"exit status {process.returncode}"])[0])


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``, which the system releases when this process ends."""
    with path.open("w") as file:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def into_cache(command: Sequence[str], sources: Path, folder: Path, name: str) -> Path:
    """Return ``folder/NAME-DIGEST.so``, compiled unless another process was faster."""
    with _locked(folder / f".{name}.lock"):
        for path in folder.glob(f"{name}-*.so"):
            if trusted(path):
                return path
        for rest in folder.glob(f".{name}.so.*"):  # of a process that was ended
            shutil.rmtree(rest, ignore_errors=True)
        made = folder / f".{name}.so"
        compile_library(command, sources, made)
        return made.replace(folder / f"{name}-{digest(made)}.so")


def main(sources: str, folder: str, name: str, command: str) -> None:
    """Compile into a cache folder and print ``{"path"}``, or ``{"complaint"}``."""
    try:
        told = {"path": str(into_cache(shlex.split(command), Path(sources), Path(folder), name))}
    except (OSError, ValueError) as error:
        told = {"complaint": str(error)}
    with contextlib.suppress(OSError):  # the process that asked has ended
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
