"""The reports of the Compare tab: a saved report of ``hsd-viz bench``, bundled or opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.bench.verdict import FASTEST_OF_KIND, fastest_of_kind
from hsd_viz.intervals import LEAST
from hsd_viz.views.blocks import spelled_out
from hsd_viz.views.chart import Chart
from hsd_viz.views.controls import Prose
from hsd_viz.views.notice import Notice
from hsd_viz.views.open_file import OpenFile
from hsd_viz.views.reports import MAX_BYTES, ReportTables, is_ablation, report_of, saved_reports, stacks_of
from hsd_viz.views.save import Save
from hsd_viz.views.save_forms import REPORT_FORMS, SavedFile, saved_report
from hsd_viz.views.section import Page, Section, menu, refill, tried

if TYPE_CHECKING:
    from hsd_viz.bench.report import Report

#: Maximum stacks of an ablation shown per kind of text.
SHOWN = 8


class BenchmarkSection(Section):
    follows = False
    words = (
        "Stacks compared over a suite of prompts: reports of hsd-viz bench --json. "
        f"Values of {LEAST} or more prompts have 95\u00a0% intervals, and all include the repetition of the texts."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.notice, self.report = Notice(), widgets.VBox()
        self.shown: Report | dict[str, Any] | None = None
        self.report.add_class("hsd-views")

    def build(self) -> None:
        self._saved = saved_reports()
        self.purpose = Prose("")
        options = [*((s.title, str(s.path)) for s in self._saved), ("opened file", "")]
        self.choice, box = menu("Report", options, options[0][1])
        self.file = OpenFile(
            "Open a report", ".json,application/json", MAX_BYTES, self.notice.guard(self._on_file), self._refuse
        )
        box.add_class("hsd-reports")
        self.save = Save(REPORT_FORMS, self._make, lambda error: self.notice.error(error, "Save failed"), "Save report")
        box.children = (*box.children, self.file, self.save)
        self.choice.observe(self.notice.guard(self._on_choice), "value")
        self.add(box, self.purpose, self.notice, self.report)
        self._on_choice(None)

    def depends_on(self) -> tuple:
        return ()

    def _on_choice(self, _change: Any) -> None:
        self.purpose.value = next((s.purpose for s in self._saved if str(s.path) == self.choice.value), "")
        saved = next((s for s in self._saved if str(s.path) == self.choice.value), None)
        if saved is not None:
            self.notice.clear()
            self.show(report_of(saved.path.read_bytes(), saved.path.name))

    def _on_file(self, content: bytes, name: str) -> None:
        try:
            report = report_of(content, name)
        except ValueError as error:
            self._refuse(error)
            return
        self.notice.clear()
        self.choice.value = ""
        self.show(report)

    def _make(self, form: str) -> SavedFile:
        if self.shown is None or is_ablation(self.shown):
            raise ValueError("no bench report is shown: choose one to save")
        return saved_report(self.shown, form)

    def _refuse(self, error: ValueError) -> None:
        self.notice.error(error, "Open failed")

    def show(self, report: Report | dict[str, Any]) -> None:
        """Show a report or an ablation."""
        self.shown = report
        chart = lambda make, **options: tried(lambda: Chart(make(report, **options)))
        if is_ablation(report):
            best = f"the {SHOWN} with most tokens per forward pass"
            made = [chart(figures.by_category, first=SHOWN, rule=best)]
        else:
            made = [
                ReportTables(report, "summary"),
                chart(figures.speedup),
                ReportTables(report, "tables"),
                Prose(spelled_out(stacks_of(report))),
                chart(figures.by_category, first=fastest_of_kind(report), rule=FASTEST_OF_KIND),
            ]
        refill(self.report, made)
