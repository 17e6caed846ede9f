"""The Databases tab: temporal locality of the text."""

from __future__ import annotations

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.bench.replay import BUDGETS
from hsd_viz.trace import Trace
from hsd_viz.views.chart import Chart
from hsd_viz.views.locality_map import LocalityMap
from hsd_viz.views.run_views import Access
from hsd_viz.views.section import Page, Section, menu, refill, tried


class DatabasesSection(Section):
    words = (
        "Temporal locality of the text and drafts from databases. Results of this run are counted in its trace or "
        "replayed from its tokens."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.run, self.views = widgets.VBox(), widgets.VBox()
        for box in (self.run, self.views):
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

    def _replay(self, trace: Trace | None) -> None:
        if trace is not None and len(trace):
            self.saved.show(figures.drafters_alone(trace, budget=self.budget.value))

    def fill(self, trace: Trace) -> None:
        # At the first verifier of drafts from keys.
        level = min((d.level for d in trace.draft_rows if d.key_length is not None), default=None)
        self.keys.show(figures.drafts(trace, by="key_length", level=level))
        self._replay(trace)
        ablation = lambda: Chart(figures.database_ablation([trace]))
        refill(self.views, [tried(lambda: LocalityMap(trace)), tried(ablation)])
