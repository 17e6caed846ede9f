"""``hsd-viz doctor``: why speculative decoding is not faster."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli.shared import Html, Json
from hsd_viz.disk import write_text
from hsd_viz.measure.doctor.options import DoctorOptions
from hsd_viz.settings.argument_types import FileToWrite
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range


def doctor(
    *,
    profile: A[
        Path | None,
        Setting(
            "write acceptance by position as speculation_profile.json",
            CliOption("OUT", type=FileToWrite),
        ),
    ] = None,
    fail_below: A[
        float | None,
        Setting(
            "exit with 1 if the speed-up is certainly below X (its whole interval), or collapsed",
            CliOption("X"),
            Range(0, 1000),
        ),
    ] = None,
    json_: Json = None,
    html: Html = None,
    options: DoctorOptions,
) -> int:
    """Explain why speculative decoding is not faster, and what to set."""
    from hsd_viz.measure.doctor.api import below, run
    from hsd_viz.measure.doctor.profile import profile_of
    from hsd_viz.results.result import print_result

    diagnosis = run(options)
    if profile is not None:
        write_text(profile, json.dumps(profile_of(diagnosis.observation), indent=1) + "\n")
    code = print_result(diagnosis, json=json_, html=html)
    if fail_below is not None and (why := below(diagnosis, fail_below)):
        print(f"failed: {why}", file=sys.stderr)
        return 1
    return code
