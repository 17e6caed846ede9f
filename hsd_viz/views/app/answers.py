"""Dispatch of the page's questions about a run, a report, a log or hardware to the functions that
answer them. Answers are ``Answer`` and ``Part`` of ``js/host.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.app.question import Answer, PageRequest, Part
from hsd_viz.views.app.report_answers import prediction, report
from hsd_viz.views.app.run_answers import doctor, law
from hsd_viz.views.app.traffic_answers import record, replay
from hsd_viz.views.export import run_page
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.view import as_widget, figure_part, registered

#: Maximum number of runs of a comparison.
MAX_COMPARED = 3


def answer(request: PageRequest) -> Answer:
    """Answer a question.

    Raises:
        UserError: if the question has no answer.
    """
    if request.about not in TOPICS:
        raise UserError(f"this page has no view '{request.about}'")
    return TOPICS[request.about](request)


TOPICS: dict[str, Callable[[PageRequest], Answer]]
TOPICS = {
    "doctor": doctor,
    "law": law,
    "report": report,
    "replay": replay,
    "record": record,
    "predict": prediction,
}


def tab(request: PageRequest) -> tuple[Part, Any]:
    """Return the view of another package as a part, and its widget if it has one."""
    name, trace = request.about, request.trace
    try:
        maker = registered()[name]()
        # A linked view gets the run in the browser, where it joins the page's group.
        linked = isinstance(maker, type) and issubclass(maker, LinkedView)
        view = maker() if linked else maker(trace)
        if hasattr(view, "to_plotly_json"):
            return figure_part(view), None
        widget = as_widget(view)
    except Exception as error:  # third-party code: show any error in its tab
        raise UserError(f"the view '{name}' failed: {type(error).__name__}: {error}") from error
    return {"kind": "widget", "model": widget.model_id}, widget


def file(request: PageRequest) -> tuple[str, str, bytes]:
    """Return the name, media type and content of a file.

    Raises:
        UserError: if there is nothing to save.
    """
    if request.about == "comparison":
        traces = _compared(request.options.get("runs"))
        stacks = "_".join(_dashed(str(trace.meta["stack_resolved"]), 24) for trace in traces)
        page = run_page(*traces)
        return f"hsd_viz_compare_{stacks}.html", "text/html", page.encode()
    trace = request.trace
    at = re.sub(r"\D", "", str(trace.meta.get("created") or "")[:19])
    stem = "_".join(filter(None, ("hsd_viz", _dashed(trace.stack or "run", 48), at)))
    if request.about == "trace":
        return f"{stem}.json.gz", "application/gzip", trace.to_bytes()
    if request.about == "page":
        return f"{stem}.html", "text/html", run_page(trace).encode()
    raise UserError(f"there is no file '{request.about}'")


def _compared(runs: Any) -> list[Trace]:
    """Return the runs of a comparison.

    Raises:
        UserError: if there are fewer than two, or one is not valid.
    """
    if not isinstance(runs, list) or len(runs) < 2:
        raise UserError("no runs to save: select two or three")
    return [run_data.trace_from(run) for run in runs[:MAX_COMPARED]]


def _dashed(words: str, most: int) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", words)[:most].strip("-")
