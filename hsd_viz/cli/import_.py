"""``hsd-viz import``: records of serving engines as traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli.shared import Json, print_paths
from hsd_viz.disk import STDOUT, writing
from hsd_viz.settings.argument_types import TraceToWrite
from hsd_viz.settings.declare import CliOption, Setting


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
    from hsd_viz.records.traces import trace_of_series
    from hsd_viz.results.result import print_result

    imported = import_records(record, engine, since)
    code = print_result(imported, json=json_)
    if save is not None:
        trace = trace_of_series(imported.reading.one(model))
        with writing(save):
            path = trace.save(save)
        if json_ != STDOUT:
            print_paths(path)
    return code
