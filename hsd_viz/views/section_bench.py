"""The tab on benchmarks: a saved report of ``hsd-viz bench``, one of the project's or a reader's own."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from hsd_viz import views
from hsd_viz.views.notice import Notice
from hsd_viz.views.reports import ReportTables, fastest, report_of, saved_reports
from hsd_viz.views.sections import Page, Section, menu, refill, tried

#: Stacks compared by kind of text: more cannot be compared by eye.
SHOWN = 5


class Benchmark(Section):
    title = "Benchmark"
    words = (
        "Stacks compared over a suite of prompts: a report that hsd-viz bench --json wrote, with the machine it was measured on. "
        "Figures have 95 % intervals over prompts, and say how much the texts repeat themselves."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.notice, self.report = Notice(), widgets.VBox()
        self.report.add_class("hsd-views")

    def build(self) -> None:
        saved = saved_reports()
        options = [*((s.title, str(s.path)) for s in saved), ("a file of your own", "")]
        self.choice, box = menu("Report", options, options[0][1])
        # Without an icon: those are fetched from elsewhere.
        self.upload = widgets.FileUpload(accept=".json,application/json", multiple=False, description="Open a report", icon="")
        self.upload.add_class("hsd-quiet")
        box.add_class("hsd-picker")
        box.children = (*box.children, self.upload)
        self.choice.observe(self.notice.guard(self._on_choice), "value")
        self.upload.observe(self.notice.guard(self._on_upload), "value")
        self.add(box, self.notice, self.report)
        self._on_choice(None)

    def depends_on(self) -> tuple:
        return ()

    def _on_choice(self, _change: Any) -> None:
        saved = next((s for s in saved_reports() if str(s.path) == self.choice.value), None)
        if saved is not None:
            self.notice.clear()
            self.show(report_of(saved.path.read_bytes(), saved.path.name))

    def _on_upload(self, _change: Any) -> None:
        if not self.upload.value:
            return
        file = self.upload.value[0]
        try:
            report = report_of(bytes(file["content"]), str(file["name"]))
        except ValueError as error:
            self.notice.error(error, "That cannot be shown")
            return
        finally:
            self.upload.value = ()
        self.notice.clear()
        self.choice.value = ""
        self.show(report)

    def show(self, report: dict[str, Any]) -> None:
        """Show a report."""
        few = fastest(report, SHOWN)
        refill(
            self.report,
            [
                ReportTables(report),
                tried(lambda: views.CategoryBars(report, stacks=few)),
                tried(lambda: views.LatencyAcceptance(report)),
                tried(lambda: views.SpeedPlane(report)),
            ],
        )
