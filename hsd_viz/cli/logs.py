"""``hsd-viz import``, ``replay`` and ``doctor``: runs and logs of other programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli.shared import Html, Json, print_paths
from hsd_viz.disk import STDOUT, write_text, writing
from hsd_viz.measure.doctor.options import DoctorOptions
from hsd_viz.measure.replay.options import ReplayOptions
from hsd_viz.settings.argument_types import FileToWrite, TraceToWrite
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range
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


def import_(
    record: A[
        Path,
        Setting("responses, a log, a stream, a summary or a copy of /metrics", CliOption("RECORD")),
    ],
    *,
    engine: A[
        str | None, Setting("the engine, as in vllm (default: any)", CliOption("ENGINE"))
    ] = None,
    model: A[
        str | None, Setting("of a record of several models: save this one", CliOption("NAME"))
    ] = None,
    since: A[
        Path | None,
        Setting(
            "an earlier copy of /metrics: count from it, not from the start", CliOption("BEFORE")
        ),
    ] = None,
    save: A[
        Path | None,
        Setting(
            "write one trace; several requests are added up", CliOption("FILE", type=TraceToWrite)
        ),
    ] = None,
    json_: Json = None,
) -> int:
    """Convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM and others to traces."""
    from hsd_viz.records.imported import import_records
    from hsd_viz.records.traces import trace_of
    from hsd_viz.results.result import print_result

    imported = import_records(record, engine, since)
    code = print_result(imported, json=json_)
    if save is not None:
        trace = trace_of(imported.reading.one(model))
        with writing(save):
            path = trace.save(save)
        if json_ != STDOUT:
            print_paths(path)
    return code


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
