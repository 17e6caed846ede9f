"""The Databases tab: temporal locality of the text, and the effect of databases over a suite."""

from __future__ import annotations

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.bench.replay import BUDGETS
from hsd_viz.figures.drafting_data import study_of
from hsd_viz.figures.latency_sources import temperature_words
from hsd_viz.trace import Trace
from hsd_viz.views.chart import Chart
from hsd_viz.views.controls import Prose
from hsd_viz.views.locality_map import LocalityMap
from hsd_viz.views.reports import measured_file
from hsd_viz.views.run_views import Access
from hsd_viz.views.section import Page, Section, menu, refill, titled, tried

ABLATION = "ablation.json"
TITLE = "Database ablation and order"


class DatabasesSection(Section):
    title = "Databases"
    words = (
        "Temporal locality of the text and drafts from databases. Results of this run are counted in its trace or "
        "replayed from its tokens; suite results name their machine, and published results are separate."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.run, self.views, self.study = widgets.VBox(), widgets.VBox(), widgets.VBox()
        for box in (self.run, self.views, self.study):
            box.add_class("hsd-views")

    def build(self) -> None:
        # The linked view follows the run; views of a whole run update at its end.
        self.add(Access(group=self.page.group))
        self.keys, self.saved = Chart(), Chart()
        self.budget, budget = menu("Draft tokens per round in the replay", [(str(n), n) for n in BUDGETS], BUDGETS[-1])
        self.budget.observe(lambda _change: self._replay(self.page.trace), "value")
        self.run.children = (self.keys, widgets.VBox([budget, self.saved]), self.views)
        self.of_run.append(self.run)
        self.add(self.run)
        path = measured_file(ABLATION)
        if path is None:
            missing = "No ablation is installed. Measure one with: python -m benchmarks.ablation --json FILE"
            self.add(titled(TITLE, Prose(missing)))
            return
        study = study_of(path)
        options = [(temperature_words(t), t) for t in study.temperatures]
        choice, box = menu("Measured at", options, options[0][1])

        def draw(_change: object = None) -> None:
            at = choice.value
            options = {"temperature": at, "beside": at == 0}
            made = [
                tried(lambda: Chart(figures.database_ablation(path, **options))),
                tried(lambda: Chart(figures.database_orders(path, **options))),
            ]
            refill(self.study, [*made, tried(lambda: Chart(figures.temperature_curves(path)))])

        choice.observe(draw, "value")
        draw()
        self.add(titled(TITLE, box), self.study)

    def _replay(self, trace: Trace | None) -> None:
        if trace is not None and trace.token_rows:
            self.saved.show(figures.drafters_alone(trace, budget=self.budget.value))

    def fill(self, trace: Trace) -> None:
        self.keys.show(figures.matched_keys(trace))
        self._replay(trace)
        ablation = lambda: Chart(figures.database_ablation([trace], beside=False))
        refill(self.views, [tried(lambda: LocalityMap(trace)), tried(ablation)])
