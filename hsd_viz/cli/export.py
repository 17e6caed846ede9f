"""``hsd-viz export``: a saved trace in other formats, and a page that compares two or three."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz.cli import arguments

if TYPE_CHECKING:
    from hsd_viz.trace import Trace

_EPILOG = """\
examples:
  hsd-viz export run.json.gz --html run.html
  hsd-viz export plain.json.gz db.json.gz both.json.gz --html race.html
  hsd-viz export run.json.gz --perfetto run.perfetto.json
  hsd-viz export run.json.gz --csv tables/
  hsd-viz export one.json.gz two.json.gz --aiperf profile_export.jsonl

--html writes one page with the whole run, which opens in any browser and makes no network requests. With two or three
traces of one prompt the page compares them: a race, the texts position by position, the figures.
--perfetto writes the timeline for ui.perfetto.dev (or chrome://tracing): a lane per level, rounds as nested slices.
--csv writes tokens.csv, drafts.csv, rounds.csv and calls.csv, one row per token, draft token, verification and call.
--aiperf writes a line per trace as in AIPerf's profile_export.jsonl, with its record of speculative decoding.
Times are nanoseconds from the start of the decode; lists (path, top, ...) are JSON.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "write a saved trace as a page, a timeline or tables"
    parser = arguments.add_command(commands, "export", text, run, epilog=_EPILOG)
    text = "a trace written by decode --save; two or three with --html, to compare, any number with --aiperf"
    parser.add_argument("traces", type=Path, nargs="+", metavar="TRACE", help=text)
    parser.add_argument("--html", type=arguments.file_name, metavar="FILE", help="write a self-contained page")
    text = "write the timeline as Chrome trace events, for ui.perfetto.dev"
    parser.add_argument("--perfetto", type=arguments.file_name, metavar="FILE", help=text)
    text = "write the tables to this folder; it is created if missing"
    parser.add_argument("--csv", type=arguments.folder_name, metavar="DIR", help=text)
    text = "write AIPerf's records of speculative decoding, one line per trace"
    parser.add_argument("--aiperf", type=arguments.file_name, metavar="FILE", help=text)


def run(args: argparse.Namespace) -> int:
    """Export and print the paths of the files."""
    if not (args.html or args.perfetto or args.csv or args.aiperf):
        raise ValueError("no output given: use --html FILE, --perfetto FILE, --csv DIR or --aiperf FILE")

    from hsd_viz.trace import Trace

    if len(args.traces) > 1 and (args.perfetto or args.csv):
        raise ValueError("--perfetto and --csv write one trace: give one TRACE, or only --html to compare several")
    for path in filter(None, (args.html, args.perfetto, args.aiperf)):
        arguments.check_output(path)
    traces = [Trace.load(path) for path in args.traces]
    for path, found in zip(args.traces, traces, strict=True):
        if (imported := found.meta.get("imported")) and (args.html or args.perfetto):
            raise ValueError(
                f"{path} was imported from {imported['engine']} and has nothing to show: use --csv or --aiperf"
            )
    with arguments.reading(args.traces[0]):
        written = _export(args, traces)
    for path in written:
        print(path)
    return 0


def _export(args: argparse.Namespace, traces: Sequence[Trace]) -> list[Path]:
    trace, written = traces[0], []
    if args.html:
        arguments.write_text(args.html, _page(traces))
        written.append(args.html)
    if args.perfetto:
        from hsd_viz.trace.export import chrome_trace

        arguments.write_text(args.perfetto, json.dumps(chrome_trace(trace), separators=(",", ":")) + "\n")
        written.append(args.perfetto)
    if args.csv:
        from hsd_viz.trace.export import write_csv

        with arguments.writing(args.csv):
            written += write_csv(trace, args.csv)
    if args.aiperf:
        from hsd_viz.logs.aiperf import aiperf_record

        records = [aiperf_record(trace, number) for number, trace in enumerate(traces)]
        arguments.write_text(args.aiperf, "".join(json.dumps(record) + "\n" for record in records))
        written.append(args.aiperf)
    return written


def _page(traces: Sequence[Trace]) -> str:
    """Return the page of one trace, or of two or three side by side."""
    if len(traces) == 1:
        from hsd_viz.views.standalone import page

        return page(traces[0])
    from hsd_viz.views.standalone_versus import page as side_by_side

    return side_by_side(traces)
