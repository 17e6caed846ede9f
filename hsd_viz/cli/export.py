"""``hsd-viz export``: a saved trace as a page, a timeline, tables or costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as A

from hsd_viz.cli.shared import check_outputs, print_paths, write_output
from hsd_viz.disk import STDOUT, writing
from hsd_viz.errors import UserError
from hsd_viz.settings.argument_types import Output
from hsd_viz.settings.declare import CliOption, Setting

if TYPE_CHECKING:
    from hsd_viz.trace import Trace


def export(
    traces: A[
        tuple[Path, ...],
        Setting(
            "a trace of decode --save; several with --html, to compare, with --aiperf or with "
            "--costs",
            CliOption("TRACE"),
        ),
    ],
    *,
    html: A[
        Path | None,
        Setting(
            "write a self-contained page; here and below, - prints it, and nothing else",
            CliOption("FILE", type=Output),
        ),
    ] = None,
    perfetto: A[
        Path | None,
        Setting(
            "write the timeline as Chrome trace events, for ui.perfetto.dev",
            CliOption("FILE", type=Output),
        ),
    ] = None,
    csv: A[
        Path | None,
        Setting("write the tables to this folder; it is created if missing", CliOption("DIR")),
    ] = None,
    aiperf: A[
        Path | None,
        Setting(
            "write AIPerf's records of speculative decoding, one line per trace",
            CliOption("FILE", type=Output),
        ),
    ] = None,
    costs: A[
        Path | None,
        Setting(
            "write the costs of the target's verifications by batch, as llama.cpp takes them",
            CliOption("FILE", type=Output),
        ),
    ] = None,
) -> None:
    """Write a saved trace as a page, a timeline, tables or costs."""
    from hsd_viz.trace import Trace
    from hsd_viz.trace.export import aiperf_record, chrome_trace, write_csv

    if not (html or perfetto or csv or aiperf or costs):
        raise UserError(
            "no output given: use --html FILE, --perfetto FILE, --csv "
            "DIR, --aiperf FILE or --costs FILE"
        )
    check_outputs(html, perfetto, csv, aiperf, costs)
    if csv == STDOUT:
        raise UserError("--csv writes several files: name a folder for them")
    if len(traces) > 1 and (perfetto or csv):
        raise UserError(
            "--perfetto and --csv write one trace: give one TRACE, "
            "or only --html to compare several"
        )
    runs = [Trace.load(path) for path in traces]
    if perfetto and (source := runs[0].meta.get("imported")):
        raise UserError(
            f"{traces[0]} was imported from {source['engine']}, without "
            "calls: use --html, --csv or --aiperf"
        )
    tables: list[Path] = []
    if costs:
        write_output(costs, _costs(runs) + "\n")
    if html:
        from hsd_viz.views.export import MAX_COMPARED_RUNS, run_page

        if len({run.prompt for run in runs}) > 1 and len(runs) <= MAX_COMPARED_RUNS:
            raise UserError("these runs have different prompts: compare runs of the same prompt")
        write_output(html, run_page(*runs))
    if perfetto:
        write_output(perfetto, json.dumps(chrome_trace(runs[0]), separators=(",", ":")) + "\n")
    if csv:
        with writing(csv):
            tables = write_csv(runs[0], csv)
    if aiperf:
        records = (aiperf_record(run, number) for number, run in enumerate(runs))
        write_output(aiperf, "".join(json.dumps(record) + "\n" for record in records))
    print_paths(html, perfetto, *tables, aiperf, costs)


def _costs(runs: Sequence[Trace]) -> str:
    """Return llama.cpp's setting with the costs of verifying 1, 2, ... tokens with the runs'
    target.

    Raises:
        UserError: if the runs have different targets, or none verified a single token, whose time
            is the unit of the others.
    """
    from hsd_viz.latency.traced import names_of
    from hsd_viz.latency.traced_costs import times_of
    from hsd_viz.records.engine_settings import batch_costs

    levels = [names for names, _ in map(names_of, runs) if names]
    targets = {names[max(names)] for names in levels}
    if len(targets) != 1:
        kind = f"of several targets ({', '.join(sorted(targets))})" if targets else "without times"
        raise UserError(f"--costs needs timed runs of one target: these are {kind}")
    (target,) = targets
    verified = []
    for run in runs:
        for call in run.call_rows:
            if call.name == target and call.kind == "verify":
                verified.append(call)
    if not any(call.fed == 1 for call in verified):
        raise UserError(
            f"no run verifies one token alone: add a trace of plain decoding (--stack {target})"
        )
    models, _, _ = times_of(runs)
    return batch_costs(models[target].forward)
