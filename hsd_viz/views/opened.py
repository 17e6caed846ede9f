"""Opening files: shows a trace as linked views, a served request as a run, and a record as a
diagnosis.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hsd_viz.disk import rereadable
from hsd_viz.errors import BadFile, Unsupported, UserError
from hsd_viz.measure.doctor.api import doctor
from hsd_viz.records.read import NoRecord, read
from hsd_viz.records.served import served_run
from hsd_viz.records.traces import traces_of
from hsd_viz.settings.ranges import check_range
from hsd_viz.trace import Trace, TraceError
from hsd_viz.views import run_data
from hsd_viz.views.linked import overview


def show(given: Trace | str | Path, request: int = 1) -> Any:
    """Return the display of a trace or a file in a notebook.

    A trace, or a record of a serving engine with the draft of each round, is shown as views of a
    run. A record of counts, such as a server log or a copy of ``/metrics``, is shown as its
    diagnosis.

    Args:
        given: a trace, or the path of a trace or a record.
        request: the number, from 1, of the request to show of a record of several requests.

    Raises:
        UserError: if the file is neither a trace nor a record, or has fewer requests.
    """
    if isinstance(given, Trace):
        return _shown(given)
    with rereadable(Path(given).expanduser()) as path:
        try:
            return _shown(Trace.load(path))
        except TraceError as error:
            not_a_trace = str(error)
        runs = _requests_with_rounds(path, not_a_trace)
        if not runs:
            return doctor(path)
        check_range(f"the request of {path.name}", request, 1, len(runs))
        return overview(_numbered(runs, request))


def _shown(trace: Trace) -> Any:
    """Return the views of a trace, or the diagnosis of a trace that has only counts."""
    if "imported" in trace.meta and not len(trace) and not trace.round_rows:
        return doctor(trace)
    return overview(trace)


def _requests_with_rounds(path: Path, not_a_trace: str) -> list[Trace]:
    """Return the requests of a record that have rounds.

    Raises:
        BadFile: if the file is not a record.
    """
    try:
        reading = read(path)
    except NoRecord as error:
        why = f"{error}; as a trace: {not_a_trace}"
        raise BadFile(f"{path} is not a trace or a record of another engine: {why}") from None
    requests = []
    for series in reading.series:
        for trace in traces_of(series):
            if trace.round_rows:
                requests.append(trace)
    return requests


def _numbered(runs: list[Trace], request: int) -> Trace:
    """Return a request as a run, with its number among several in the title."""
    run = served_run(runs[request - 1])
    if len(runs) > 1:
        run.meta["prompt"] = f"request {request} of {len(runs)}: {run.meta['prompt']}"
    return run


def run_of_file(content: bytes, name: str) -> Trace:
    """Return the run of a file: a trace, or the first request with rounds of a record.

    Raises:
        UserError: if the file is neither a trace nor a record, or too large for the page.
    """
    try:
        return run_data.read_trace(content, name)
    except TraceError as error:
        not_a_trace = error
    name = run_data.shown_name(name)
    with tempfile.TemporaryDirectory(prefix="hsd-viz-record-") as place:
        # The visitor's file name is never used as a path.
        path = Path(place) / "record"
        path.write_bytes(content)
        try:
            runs = _requests_with_rounds(path, "")
        except UserError:
            raise not_a_trace from None
    if not runs:
        raise Unsupported(
            f"{name} is a record without the draft of each round: open it in 'Your traffic', which "
            "diagnoses it"
        )
    return run_data.checked(_numbered(runs, 1), name)
