"""The build hook: a wheel carries the native library for every kernel of this machine's family.

It needs a C++ compiler: without one the wheel is a pure one, which decodes in numpy. A tree without
the weights, as an unpacked sdist is, makes a wheel that requires them as a distribution.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import mac_platforms, platform_tags

sys.path.insert(0, str(Path(__file__).parent))
from hsd_viz.models.packages import CODE_MODELS
from hsd_viz.native import build

ROOT = Path(__file__).parent
#: The C++ library of the machine that runs the wheel may be older, or missing. What the runtime
#: does not use of it is left out, and so are the symbols of debuggers (`-s`).
STATIC = {
    "linux": [
        "-static-libstdc++",
        "-static-libgcc",
        "-s",
        "-Wl,--exclude-libs,ALL",
        "-Wl,--gc-sections",
    ],
    "win32": ["-static"],
}
#: The measurements that the dashboard and the lessons open, and where a wheel has them.
MEASURED = ROOT / "docs" / "bench"
#: Those that only the documentation uses.
UNREAD = (
    "ablation.json",
    "budgets-smollm2.json",
    "budgets.json",
    "gpu-h100.json",
    "page-cpu.json",
    "prediction.json",
    "rules-cpu.json",
    "specbundle.json",
)


class NativeLibraries(BuildHookInterface):
    """Compile into a temporary folder, and require the models where the tree has none."""

    def initialize(self, version: str, data: dict[str, Any]) -> None:
        if version == "editable":  # its sources change
            return
        for file in sorted(MEASURED.iterdir()):
            if file.name not in UNREAD:
                data["force_include"][str(file)] = f"hsd_viz/measured/{file.name}"
        if not (ROOT / "hsd_viz" / "ladder" / "weights").is_dir():
            data["dependencies"].append(CODE_MODELS.requirement)
        try:
            compiler = build.find_compiler()
        except ValueError as why:
            self.app.display_warning(f"a wheel without the native library: {why}")
            return
        self._folder = tempfile.TemporaryDirectory()
        libraries = dict(self._compile(compiler, Path(self._folder.name)))
        if libraries:
            data["force_include"].update(libraries)
            data["pure_python"] = False
            data["tag"] = f"py3-none-{platform_tag()}"

    def _compile(self, compiler: list[str], folder: Path) -> Iterator[tuple[str, str]]:
        """Yield the path of each compiled library and its place in the wheel."""
        for kernel, flags in build.kernels(every=True, machine=target_machine()).items():
            name = build.library_name(kernel)
            out = folder / name
            command = [*compiler, *build.FLAGS, *flags]
            try:
                build.compile_library(command, build.SOURCES, out, STATIC.get(sys.platform, []))
            except (OSError, ValueError) as error:
                self.app.display_warning(f"no library of the kernel {kernel}: {error}")
                continue
            yield str(out), f"hsd_viz/native/lib/{name}"

    def finalize(self, version: str, data: dict[str, Any], artifact: str) -> None:
        if folder := getattr(self, "_folder", None):
            folder.cleanup()


def target_machine() -> str:
    """Return the processor family of the wheel; "" if it is that of this machine.

    A cross build, with a compiler in ``$CXX``, sets ``_PYTHON_HOST_PLATFORM``, for example to
    ``linux-aarch64``, which Python itself reports as its platform.
    """
    return os.environ.get("_PYTHON_HOST_PLATFORM", "").rpartition("-")[2]


def platform_tag() -> str:
    """Return the platform of the wheel, by the oldest system that this build is for."""
    target = os.environ.get("MACOSX_DEPLOYMENT_TARGET", "")
    if sys.platform == "darwin" and target:
        major, _, minor = target.partition(".")
        return next(mac_platforms((int(major), int(minor or 0))))
    tags = list(platform_tags())
    # "linux" is any, and is for no index; "manylinux_2_36" has at least that C library.
    indexed = [tag for tag in tags if "nylinux_" in tag or "musl" in tag]
    return indexed[0] if indexed else tags[0]
