"""``hsd-viz site``, ``export`` and ``traces``: recorded runs as pages and files.

An export of two or three traces compares them on one page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, folder_name, option

if TYPE_CHECKING:
    from hsd_viz.trace import Trace

_EXPORT = """\
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
_TRACES = """\
examples:
  hsd-viz traces list
  hsd-viz traces record
  hsd-viz traces record --side-by-side

Recording needs a checkout of the project: it runs tools/record.py.
"""


def add(commands: argparse._SubParsersAction) -> None:
    parser = arguments.add_command(commands, "site", "build a static site of recorded runs, races, lessons and reports")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = "write the site to a folder, to open from there or to upload to a static host"
    build = arguments.add_command(actions, "build", text, run_site)
    option(build, "out OUT", "a new or empty folder, or an earlier site", folder_name)
    text = "write a saved trace as a page, a timeline or tables"
    parser = arguments.add_command(commands, "export", text, run_export, epilog=_EXPORT)
    text = "a trace written by decode --save; two or three with --html, to compare, any number with --aiperf"
    option(parser, "traces TRACE", text, Path, nargs="+")
    option(parser, "--html FILE", "write a self-contained page", file_name)
    option(parser, "--perfetto FILE", "write the timeline as Chrome trace events, for ui.perfetto.dev", file_name)
    option(parser, "--csv DIR", "write the tables to this folder; it is created if missing", folder_name)
    option(parser, "--aiperf FILE", "write AIPerf's records of speculative decoding, one line per trace", file_name)
    parser = arguments.add_command(commands, "traces", "list and record the bundled traces", epilog=_TRACES)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    arguments.add_command(actions, "list", "list the recorded decodes", run_list, epilog=_TRACES)
    text = "record the bundled traces again with the shipped models"
    record = arguments.add_command(actions, "record", text, run_record, epilog=_TRACES)
    option(record, "--out DIR", "folder for the files (default: that of the package)", Path)
    option(record, "--side-by-side", "record one prompt with several stacks instead", action="store_true")


def run_export(args: argparse.Namespace) -> int:
    """Export and print the paths of the files."""
    if not (args.html or args.perfetto or args.csv or args.aiperf):
        raise ValueError("no output given: use --html FILE, --perfetto FILE, --csv DIR or --aiperf FILE")

    from hsd_viz.trace import Trace

    if len(args.traces) > 1 and (args.perfetto or args.csv):
        raise ValueError("--perfetto and --csv write one trace: give one TRACE, or only --html to compare several")
    arguments.check_outputs(args.html, args.perfetto, args.aiperf)
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
        from hsd_viz.trace.export import aiperf_record

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


def run_site(args: argparse.Namespace) -> int:
    """Build the site and print where its index is."""
    from hsd_viz.views.site import build

    out: Path = args.out
    with arguments.writing(out):
        size = build(out, arguments.status)
    arguments.status()
    print(f"{out / 'index.html'} ({size / 1e6:.1f} MB)")
    return 0


def run_list(args: argparse.Namespace) -> int:
    """Print name, stack, title and speed-up of each recording, then the recordings of one prompt by group."""
    from hsd_viz.engine.replay import bundled, side_by_side

    single, groups = bundled(), side_by_side()
    if not single and not groups:
        raise ValueError("this installation contains no recorded traces: record them with `hsd-viz traces record`")
    headed = [("", single), *((f"side by side, {name}:", rows) for name, rows in groups.items())]
    rows = [r for _, group in headed for r in group]
    name, stack = (max(len(getattr(r, column)) for r in rows) for column in ("name", "stack"))
    parts = []
    for head, group in headed:
        lines = [f"{r.name:<{name}}  {r.stack:<{stack}}  {r.label}" for r in group]
        parts.append("\n".join([head, *(f"  {line}" for line in lines)] if head else lines))
    print("\n\n".join(part for part in parts if part))
    return 0


def run_record(args: argparse.Namespace) -> int:
    """Record and print the paths of the files."""
    tool = checkout_tool("record")
    paths = (tool.record_side_by_side if args.side_by_side else tool.record_traces)(args.out, progress=arguments.status)
    arguments.status()
    for path in paths:
        print(path)
    return 0


def checkout_tool(name: str) -> ModuleType:
    """Import ``tools/NAME.py`` of the checkout that contains this package. Raises ValueError if there is none."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "tools" / f"{name}.py").is_file():
        raise ValueError(f"this needs a checkout of the project: {root / 'tools' / name}.py does not exist")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module(f"tools.{name}")
