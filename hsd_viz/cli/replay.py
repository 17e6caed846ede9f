"""``hsd-viz replay``: what drafters would have brought on a log."""

from __future__ import annotations

from hsd_viz.cli.shared import Html, Json
from hsd_viz.measure.replay.options import ReplayOptions
from hsd_viz.terminal import progress_bar


def replay(
    *,
    options: ReplayOptions,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Count what drafters would have brought on a log, without a model."""
    from hsd_viz.measure.replay.api import run
    from hsd_viz.results.result import print_result

    with progress_bar() as update:
        report = run(options, update)
    return print_result(report, json=json_, html=html)
