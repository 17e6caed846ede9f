"""The card below the run's speed-up: the share of each cause in what is lost of it, the verdict, and what to set."""

from __future__ import annotations

import threading
from typing import Any, Protocol

import traitlets

from hsd_viz.figures.palette import HUES
from hsd_viz.trace import Trace
from hsd_viz.views.notice import Notice
from hsd_viz.views.readout import Readout
from hsd_viz.views.scripts import Part

#: Cause -> its colour, by key of the palette.
COLOURS = {
    "acceptance": "context",
    "drafting": "nano",
    "verification": "statistics",
    "batch": "model",
    "overhead": "baseline",
    "round": "baseline",
}


class RunPage(Protocol):
    """The page whose run is explained."""

    trace: Trace | None
    notice: Notice
    readout: Readout


class DoctorCard(Part):
    """The diagnosis of the run on a page, updated with its readout; hidden during a run and for plain decoding."""

    view = traitlets.Unicode("doctor").tag(sync=True)

    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, page: RunPage) -> None:
        super().__init__()
        self._page = page
        self._shown: Trace | None = None
        page.readout.observe(page.notice.guard(self._on_run), ["origin", "tiles"])

    def _on_run(self, _change: Any) -> None:
        if self._page.readout.origin.get("kind") == "live":  # in progress
            self.spec, self._shown = {}, None
        elif (trace := self._page.trace) is not None and trace is not self._shown:
            self.spec, self._shown = {}, trace
            work = self._page.notice.guard(lambda: self._explain(trace))
            threading.Thread(target=work, name="hsd-viz doctor", daemon=True).start()

    def _explain(self, trace: Trace) -> None:
        spec = diagnosis_spec(trace)
        if self._shown is trace:
            self.spec = spec


def diagnosis_spec(trace: Trace) -> dict[str, Any]:
    """Return the card's data; empty where there is nothing to explain."""
    from hsd_viz.logs.doctor import diagnose
    from hsd_viz.logs.observe import from_traces

    try:
        found = diagnose(from_traces([trace], "this run"))
    except (ValueError, KeyError):  # no drafts, as in plain decoding; a trace that does not name its levels
        return {}
    causes = sorted(found.shares.items(), key=lambda item: -item[1])
    tables = [
        {"title": table.title, "note": table.note, "head": table.rows[0], "rows": table.rows[1:]}
        for table in found.tables()
        if table.rows
    ]
    return {
        "title": "What limits the speed-up" if found.speedup.value is not None else "What limits this run",
        "causes": [
            {"name": name, "share": share, "light": HUES[COLOURS[name]].light, "dark": HUES[COLOURS[name]].dark}
            for name, share in causes
            if share >= 0.005
        ],
        "lines": found.lines(),
        "tables": tables,
        "settings": [list(item) for item in found.flags.items()],
    }
