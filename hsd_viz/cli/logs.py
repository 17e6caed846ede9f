"""``hsd-viz import``, ``replay`` and ``doctor``: runs and logs of other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli import shared
from hsd_viz.cli.arguments import Out, Save
from hsd_viz.cli.shared import Html, Json
from hsd_viz.declare import Setting
from hsd_viz.disk import writing
from hsd_viz.errors import parsing
from hsd_viz.measure.doctor.case import DoctorCase
from hsd_viz.ranges import MAX_BUDGET
from hsd_viz.terminal import progress_bar


def replay(
    log: A[
        Path,
        Setting(
            metavar="LOG",
            help="a file of requests with their outputs",
        ),
    ],
    *,
    drafter: A[
        tuple[str, ...],
        Setting(
            metavar="NAME",
            help="a draft source, as in a stack; may be repeated (default: seven)",
        ),
    ] = (),
    tokenizer: A[
        str | None,
        Setting(
            metavar="T",
            help="the log's tokenizer: a family or model, a hub id, a "
            "folder, a tokenizer.json or a GGUF file",
        ),
    ] = None,
    budget: A[
        int | None,
        Setting(
            metavar="N",
            help="the most draft tokens per round, cost stopping off",
            low=1,
            high=MAX_BUDGET,
        ),
    ] = None,
    verify_cost: A[
        str,
        Setting(
            metavar="C",
            help="cost of drafts: cpu, free16, a number, or c(0),c(1),...",
        ),
    ] = "cpu",
    temperature: A[
        float | None,
        Setting(
            metavar="T",
            help="of the sampling (default: of each request, else 0)",
            low=0,
            high=100,
        ),
    ] = None,
    databases: A[
        Path | None,
        Setting(
            metavar="DIR",
            help="use these databases (default: the shipped ones, for their tokenizer)",
        ),
    ] = None,
    limit: A[
        int | None,
        Setting(
            metavar="N",
            help="replay at most N requests",
            low=1,
            high=10**9,
        ),
    ] = None,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Count what drafters would have brought on a log, without a model."""
    from hsd_viz.measure.replay import api as logs
    from hsd_viz.results.result import show

    with progress_bar() as update:
        report = logs.replay(
            log,
            drafters=drafter or logs.DRAFTERS,
            tokenizer=tokenizer,
            budget=budget,
            verify_cost=verify_cost,
            temperature=temperature,
            databases=databases,
            limit=limit,
            progress=update,
        )
    return show(report, json=json_, html=html)


def import_(
    record: A[
        Path,
        Setting(
            metavar="RECORD",
            help="responses, a log, a stream, a summary or a copy of /metrics",
        ),
    ],
    *,
    engine: A[
        str | None,
        Setting(
            metavar="ENGINE",
            help="the engine, as in vllm (default: any)",
        ),
    ] = None,
    model: A[
        str | None,
        Setting(
            metavar="NAME",
            help="of a record of several models: save this one",
        ),
    ] = None,
    since: A[
        Path | None,
        Setting(
            metavar="BEFORE",
            help="an earlier copy of /metrics: count from it, not from the start",
        ),
    ] = None,
    save: A[
        Save | None,
        Setting(
            metavar="FILE",
            help="write one trace; several requests are added up",
        ),
    ] = None,
    json_: Json = None,
) -> int:
    """Convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM and others to traces."""
    from hsd_viz.records.imported import import_records
    from hsd_viz.records.traces import trace_of
    from hsd_viz.results.result import show

    with parsing(record):
        imported = import_records(record, engine, since)
    code = show(imported, json=json_)
    if save is not None:
        trace = trace_of(imported.reading.one(model))
        with writing(save):
            print(trace.save(save))
    return code


def doctor(
    *,
    profile: A[
        Out | None,
        Setting(
            metavar="OUT",
            help="write acceptance by position as speculation_profile.json",
        ),
    ] = None,
    fail_below: A[
        float | None,
        Setting(
            metavar="X",
            help="exit with 1 if the speed-up is below X, or collapsed",
            low=0,
            high=1000,
        ),
    ] = None,
    json_: Json = None,
    html: Html = None,
    case: DoctorCase,
) -> int:
    """Explain why speculative decoding is not faster, and what to set."""
    from hsd_viz.measure.doctor.api import below, explain
    from hsd_viz.measure.doctor.profile import profile_of
    from hsd_viz.results.result import show

    diagnosis = explain(case)
    shared.write_json(profile, profile_of(diagnosis.observation) if profile else None)
    code = show(diagnosis, json=json_, html=html)
    if fail_below is not None and (why := below(diagnosis, fail_below)):
        print(f"failed: {why}", file=sys.stderr)
        return 1
    return code
