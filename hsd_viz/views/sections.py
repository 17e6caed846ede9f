"""The dashboard's tabs. A tab's views are created when it is first opened."""

from __future__ import annotations

from typing import ClassVar

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.figures.panels import verifiers
from hsd_viz.trace import Trace
from hsd_viz.views.chart import Chart
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.registry import registered_sections
from hsd_viz.views.run_views import ChartMark, RoundInspector, Rounds, Timeline
from hsd_viz.views.section import Page, Section, charts, menu, refill
from hsd_viz.views.section_bench import BenchmarkSection
from hsd_viz.views.section_compare import CompareSection
from hsd_viz.views.section_databases import DatabasesSection
from hsd_viz.views.section_hierarchy import HierarchySection
from hsd_viz.views.section_logs import LogsSection

CHARTS = ("acceptance", "by_source", "time_spent")
#: Charts of one verifier.
PANELS = ("acceptance_by_position", "accepted_per_round", "acceptance_by_source", "acceptance_by_match")


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

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.widget.add_class("hsd-follows")  # shows nothing ahead of the cursor


class RoundsSection(LinkedSection):
    title, view = "Rounds", Rounds
    words = "All rounds of the run shown: filter them by what happened, and compare the sums of several with the whole."


class TimelineSection(LinkedSection):
    title, view = "Timeline", Timeline
    words = "Every forward pass and look-up of the run shown, with recorded times."


class AcceptanceSection(Section):
    title = "Acceptance"
    words = "Acceptance, token sources and decoding time of the run shown."

    def build(self) -> None:
        self.charts = {name: Chart() for name in (*CHARTS, *PANELS)}
        first, *rest = (self.charts[name] for name in CHARTS)
        self.verifier = widgets.VBox()
        whole = widgets.VBox(
            [
                charts(first, ChartMark(group=self.page.group)),
                self.verifier,
                charts(*(self.charts[name] for name in PANELS)),
                charts(*rest),
            ]
        )
        whole.add_class("hsd-views")
        self.of_run.append(whole)
        self.add(whole)

    def fill(self, trace: Trace) -> None:
        for name in CHARTS:
            self.charts[name].show(getattr(figures, name)(trace))
        levels = verifiers(trace)
        several = len(levels) > 1
        self.verifier.layout.display = None if several else "none"
        level, box = menu("Verifier", levels or [("", None)], levels[0][1] if levels else None)
        refill(self.verifier, [box])

        def panels(_change: object = None) -> None:
            for name in PANELS:
                self.charts[name].show(getattr(figures, name)(trace, level=level.value))

        level.observe(panels, "value")
        panels()


def sections(page: Page) -> list[Section]:
    """Return all sections in page order, those of other packages last."""
    own: list[Section] = [
        kind(page)
        for kind in (
            RoundSection,
            RoundsSection,
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
