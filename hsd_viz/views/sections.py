"""The dashboard's tabs. A tab's views are created when it is first opened."""

from __future__ import annotations

from typing import ClassVar

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.figures.acceptance_panels import acceptance_panels, terms, verifiers
from hsd_viz.trace import Trace
from hsd_viz.views.chartbox import ChartBox
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.panels import Panels
from hsd_viz.views.registry import registered_sections
from hsd_viz.views.run_views import ChartMark, RoundInspector, Timeline
from hsd_viz.views.section import Page, Section, menu, refill
from hsd_viz.views.section_bench import BenchmarkSection
from hsd_viz.views.section_compare import CompareSection
from hsd_viz.views.section_databases import DatabasesSection
from hsd_viz.views.section_hierarchy import HierarchySection
from hsd_viz.views.section_logs import LogsSection

CHARTS = ("acceptance", "by_source", "time_spent")


class LinkedSection(Section):
    """A view of the page's group, which provides run and cursor."""

    view: ClassVar[type[LinkedView]]

    def build(self) -> None:
        self.add(self.view(group=self.page.group))

    def depends_on(self) -> tuple:
        return ()


class RoundSection(LinkedSection):
    title, view = "Round", RoundInspector
    words = (
        "The target round under the cursor: its draft, and why each token was accepted or rejected. All values "
        "are recorded."
    )


class TimelineSection(LinkedSection):
    title, view = "Timeline", Timeline
    words = "Every forward pass and look-up of the run shown, with recorded times."


class AcceptanceSection(Section):
    title = "Acceptance"
    words = "Acceptance, token sources and decoding time of the run shown."

    def build(self) -> None:
        self.figures = {name: ChartBox() for name in CHARTS}
        first, *rest = self.figures.values()
        above, below = widgets.Box([first, ChartMark(group=self.page.group)]), widgets.Box(rest)
        above.add_class("hsd-charts")
        below.add_class("hsd-charts")
        below.add_class("hsd-pair")
        self.terms, self.panels, self.verifier = Panels(), Panels(), widgets.VBox()
        whole = widgets.VBox([self.terms, above, self.verifier, self.panels, below])
        whole.add_class("hsd-views")
        self.of_run.append(whole)
        self.add(whole)

    def depends_on(self) -> tuple:
        # plotly does not follow the theme.
        return (self.page.trace, self.page.dark)

    def fill(self, trace: Trace) -> None:
        for name, box in self.figures.items():
            box.show(getattr(figures, name)(trace, self.page.dark))
        self.terms.terms = terms(trace)
        self.panels.show(acceptance_panels(trace))
        levels = verifiers(trace)
        several = len(levels) > 1
        self.verifier.layout.display = None if several else "none"
        if not several:
            refill(self.verifier, [])
            return
        level, box = menu("Verifier", levels, levels[0][1])
        level.observe(lambda change: self.panels.show(acceptance_panels(trace, change["new"])), "value")
        refill(self.verifier, [box])


def sections(page: Page) -> list[Section]:
    """Return all sections in page order, those of other packages last."""
    own: list[Section] = [
        kind(page)
        for kind in (
            RoundSection,
            TimelineSection,
            AcceptanceSection,
            DatabasesSection,
            HierarchySection,
            CompareSection,
            BenchmarkSection,
            LogsSection,
        )
    ]
    return [*own, *registered_sections(page)]
