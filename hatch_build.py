"""The build hook: a wheel carries the native library for every kernel of this machine's family, where a compiler is."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

sys.path.insert(0, str(Path(__file__).parent))
from hsd_viz.native import build


class NativeLibraries(BuildHookInterface):
    """Compile into a temporary folder; without a compiler the wheel is a pure one."""

    def initialize(self, version: str, data: dict[str, Any]) -> None:
        if version == "editable":  # its sources change
            return
        try:
            compiler = build.find_compiler()
        except ValueError as why:
            return self.app.display_warning(f"a wheel without the native library: {why}")
        # The C++ library of the machine that runs the wheel may be older.
        link = ["-static-libstdc++", "-static-libgcc"] if sys.platform == "linux" else []
        self._folder = tempfile.TemporaryDirectory()
        for kernel, flags in build.kernels(every=True).items():
            name = build.library_name(kernel)
            out = Path(self._folder.name) / name
            try:
                build.compile_library([*compiler, *build.FLAGS, *flags], build.SOURCES, out, link)
            except (OSError, ValueError) as error:
                self.app.display_warning(f"no library of the kernel {kernel}: {error}")
                continue
            data["force_include"][str(out)] = f"hsd_viz/native/lib/{name}"
        if any(Path(self._folder.name).glob("*.so")):
            data["pure_python"] = False
            tags = list(platform_tags())
            # "linux" is any, and is for no index; "manylinux_2_36" has at least that C library.
            data["tag"] = (
                f"py3-none-{next((tag for tag in tags if 'nylinux_' in tag or 'musl' in tag), tags[0])}"
            )

    def finalize(self, version: str, data: dict[str, Any], artifact: str) -> None:
        if folder := getattr(self, "_folder", None):
            folder.cleanup()
