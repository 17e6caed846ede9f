"""Programs that stand in for a C++ compiler."""

from __future__ import annotations

import stat
from pathlib import Path

from hsd_viz.native.build import default_build


def script(path: Path, body: str) -> Path:
    """Write a compiler; in its shell commands ``$out`` is the file that it makes."""
    path.write_text(
        "#!/bin/sh\nout=; for word; do "
        'last=$before; before=$word; [ "$last" = -o ] && out=$word; done\n' + body + "\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def copying() -> str:
    """Return the commands of a compiler that knows the answer, and counts how often it links."""
    count = 'case "$*" in *-shared*) echo x >> "$0.count";; esac'
    return f'[ -n "$out" ] || exit 0; {count}; cp "{default_build().path}" "$out"'
