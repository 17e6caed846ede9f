"""``hsd-viz site build``: the site to open from a folder or a static host."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli.shared import print_paths
from hsd_viz.disk import writing
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.terminal import status


def build_site(
    out: A[Path, Setting("a new or empty folder, or an earlier site", CliOption("OUT"))],
    *,
    family: A[
        tuple[str, ...],
        Setting(
            "also offer the models of this family, which readers may download",
            CliOption("NAME"),
        ),
    ] = (),
) -> None:
    """Write the site to a folder, to open from there or to upload to a static host."""
    from hsd_viz.views.site import build

    with writing(out):
        size = build(out, status, family)
    print_paths(f"{out / 'index.html'} ({size / 1e6:.1f} MB)")
