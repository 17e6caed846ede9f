"""``hsd-viz export``, ``site`` and ``course``: recorded runs and lessons as files and pages."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated as A
from typing import Literal

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import Out


def export(
    traces: A[tuple[Path, ...], "TRACE", "a trace of decode --save; several with --html, to compare, or with --aiperf"],
    *,
    html: A[Out | None, "FILE", "write a self-contained page"] = None,
    perfetto: A[Out | None, "FILE", "write the timeline as Chrome trace events, for ui.perfetto.dev"] = None,
    csv: A[Path | None, "DIR", "write the tables to this folder; it is created if missing"] = None,
    aiperf: A[Out | None, "FILE", "write AIPerf's records of speculative decoding, one line per trace"] = None,
) -> None:
    """Write a saved trace as a page, a timeline or tables."""
    from hsd_viz.trace import Trace

    if not (html or perfetto or csv or aiperf):
        raise ValueError("no output given: use --html FILE, --perfetto FILE, --csv DIR or --aiperf FILE")
    if len(traces) > 1 and (perfetto or csv):
        raise ValueError("--perfetto and --csv write one trace: give one TRACE, or only --html to compare several")
    runs = [Trace.load(path) for path in traces]
    for path, run in zip(traces, runs, strict=True):
        if (source := run.meta.get("imported")) and (html or perfetto):
            raise ValueError(f"{path} was imported from {source['engine']}: nothing to show; use --csv or --aiperf")
    from hsd_viz.trace.export import aiperf_record, chrome_trace, write_csv

    tables: list[Path] = []
    with arguments.reading(traces[0]):
        if html:
            from hsd_viz.views.export import MOST_RUNS, run_page

            if len({run.prompt for run in runs}) > 1 and len(runs) <= MOST_RUNS:
                raise ValueError("these runs have different prompts: compare runs of the same prompt")
            arguments.write_text(html, run_page(*runs))
        if perfetto:
            arguments.write_text(perfetto, json.dumps(chrome_trace(runs[0]), separators=(",", ":")) + "\n")
        if csv:
            with arguments.writing(csv):
                tables = write_csv(runs[0], csv)
        if aiperf:
            records = (aiperf_record(run, number) for number, run in enumerate(runs))
            arguments.write_text(aiperf, "".join(json.dumps(record) + "\n" for record in records))
    _print(filter(None, (html, perfetto, *tables, aiperf)))


def _print(paths: Iterable[Path]) -> None:
    arguments.status()
    for path in paths:
        print(path)


def build_site(out: A[Path, "OUT", "a new or empty folder, or an earlier site"]) -> None:
    """Write the site to a folder, to open from there or to upload to a static host."""
    from hsd_viz.views.site import build

    with arguments.writing(out):
        size = build(out, arguments.status)
    arguments.status()
    print(f"{out / 'index.html'} ({size / 1e6:.1f} MB)")


def copy_course(
    folder: A[Path, "DIR", "the folder; it is created if missing, existing notebooks stay"],
    *,
    solutions: A[bool, "only the solved notebooks, instead of the exercises"] = False,
) -> None:
    """Copy the notebooks into a folder."""
    from hsd_viz.exercises import editions

    _print(editions.write(folder, "solution" if solutions else "student"))


def build_course(
    folder: A[Path, "DIR", "each edition is written to a folder of its name in DIR; files are replaced"],
    *,
    edition: A[tuple[Literal["student", "solution", "otter", "nbgrader"], ...], "may be repeated (default: all)"] = (),
    figures: A[bool, "store the figures in the student edition, which web pages then show without running it"] = False,
) -> None:
    """Build the editions of the course, for teachers."""
    from hsd_viz.exercises import editions

    for name in edition or editions.EDITIONS:
        for path in editions.write(folder / name, name, overwrite=True):
            master = next((master for master in editions.masters() if master.stem == path.stem), None)
            if figures and master and name == "student":
                from hsd_viz.views.lessons import add_figures

                arguments.status(f"running {path.stem}")
                add_figures(path, master)
            _print([path])


def slides(
    file: A[Out, "FILE.html", "the file; it is replaced"],
    *,
    lesson: A[tuple[int, ...], (1, 8), "N", "only this lesson; repeat for several (default: all)"] = (),
) -> None:
    """Write slides of the lessons to an HTML file: figures, recorded runs and questions, offline in any browser."""
    from hsd_viz.exercises import editions
    from hsd_viz.views.lessons import deck

    arguments.status("running the lessons")
    masters = [path for path in editions.masters() if not lesson or int(path.stem[0]) in lesson]
    arguments.write_text(file, deck(masters))
    _print([file])
