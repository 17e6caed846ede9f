"""Test with cross compilers that the runtime compiles for other platforms and exports its
functions.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from hsd_viz.native.build import FLAGS, SOURCES, compile_library, kernels
from hsd_viz.native.interface import functions

pytestmark = pytest.mark.slow
#: The tools of a platform, by their prefix, with the family of its processor and options of the
#: linker.
PLATFORMS = {
    "windows": ("x86_64-w64-mingw32-", "-posix", "x86_64", ["-static"]),
    "linux-aarch64": ("aarch64-linux-gnu-", "", "aarch64", []),
}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_plain_kernel_compiles_and_exports_every_function(platform, tmp_path):
    prefix, suffix, machine, link = PLATFORMS[platform]
    compiler = shutil.which(f"{prefix}g++{suffix}")
    if compiler is None:
        pytest.skip(f"{prefix}g++{suffix} is not installed")
    flags = ["-O0" if flag == "-O3" else flag for flag in FLAGS]
    out = tmp_path / "library.so"
    command = [compiler, *flags, *kernels(every=True, machine=machine)["plain"]]
    compile_library(command, SOURCES, out, link)
    dump = "-p" if platform == "windows" else "-T"
    words = [f"{prefix}objdump", dump, str(out)]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\bhsd_\w+", listed)) >= functions().keys()
