"""Compile the native runtime for browser tabs: ``hsd_viz/native/hsd-viz.wasm``.

    python -m tools.wasm [OUT]

It needs clang 14 with its WebAssembly libraries, the packages :data:`PACKAGES` of Debian.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hsd_viz.engine.tab import WASM
from hsd_viz.native.build import SOURCES
from hsd_viz.native.interface import functions

#: The compiler that the committed file was made by: another one makes other bytes.
COMPILER = "clang version 14"
PACKAGES = ("clang", "lld", "wasi-libc", "libc++-dev-wasm32", "libclang-rt-dev-wasm32")
#: As on other machines, without threads and exceptions; `dot_i16x8` keeps integer sums exact.
_FLAGS = (
    "--target=wasm32-wasi",
    "-mexec-model=reactor",
    "-msimd128",
    "-std=c++17",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-c++-static-destructors",
)
#: The most memory of an instance: packed weights of 110 MB, and the cache of 8 192 tokens, which is
#: copied as it grows.
MAX_BYTES = 640 * 2**20
_STACK_BYTES = 2**20


def compiler_version() -> str | None:
    """Return the first line of the compiler's version, ``None`` where there is no compiler for
    WebAssembly.
    """
    try:
        command = ["clang++", "--target=wasm32-wasi", "--version"]
        process = subprocess.run(command, capture_output=True, text=True, check=True)
        subprocess.run(["wasm-ld", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return process.stdout.partition("\n")[0]


def build(out: Path) -> None:
    """Compile the runtime into ``out``.

    Raises:
        CalledProcessError: if the compiler fails.
    """
    exported = ",".join(f"--export={name}" for name in (*functions(), "malloc", "free"))
    linked = f"-Wl,{exported},--strip-all,-z,stack-size={_STACK_BYTES},--max-memory={MAX_BYTES}"
    subprocess.run(
        ["clang++", *_FLAGS, linked, "runtime.cpp", "groups.cpp", "-o", str(out.resolve())],
        check=True,
        cwd=SOURCES,
    )


def main(words: list[str]) -> int:
    """Compile into the file of the command line, by default the committed one."""
    version = compiler_version() or "no compiler for WebAssembly"
    if COMPILER not in version:
        install = f"apt-get install {' '.join(PACKAGES)}"
        print(f"{COMPILER} for wasm32 is needed, not {version}: {install}", file=sys.stderr)
        return 1
    build(Path(words[0]) if words else WASM)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
