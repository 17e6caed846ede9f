"""The dashboard's six tabs. Their views are created when a tab is first opened."""

from __future__ import annotations

from typing import ClassVar

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.trace import Trace
from hsd_viz.views.chart import Chart
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.registry import registered_sections
from hsd_viz.views.rule_lab import RuleLab
from hsd_viz.views.run_data import verifiers
from hsd_viz.views.run_views import ChartMark, Drafter, RoundInspector, Rounds, Timeline
from hsd_viz.views.section import Page, Section, charts, menu, refill
from hsd_viz.views.section_bench import BenchmarkSection
from hsd_viz.views.section_compare import CompareSection
from hsd_viz.views.section_databases import DatabasesSection
from hsd_viz.views.section_hierarchy import HierarchySection
from hsd_viz.views.section_logs import LogsSection

#: Charts of one verifier.
PANELS = {
    "position": lambda trace, level: figures.drafts(trace, by="depth", level=level),
    "rounds": lambda trace, level: figures.accepted_per_round(trace, level=level),
    "source": lambda trace, level: figures.drafts(trace, by="source", level=level),
    "match": lambda trace, level: figures.drafts(trace, by="key_length", level=level),
}


class Tab:
    """Sections below one another under one title."""

    def __init__(self, title: str, *parts: Section) -> None:
        self.title, self.parts = title, parts
        for part in parts:
            part.widget.add_class("hsd-part")
        self.widget = widgets.VBox([part.widget for part in parts])
        if not any(part.follows for part in parts):
            self.widget.add_class("hsd-apart")

    def open(self) -> None:
        """Build and fill the sections as needed."""
        for part in self.parts:
            part.open()

    def stale(self, stale: bool) -> None:
        """Mark or unmark the run's widgets as showing the previous run."""
        for part in self.parts:
            part.stale(stale)


class ChartSection(Section):
    """A chart of the run."""

    chart: ClassVar[str]

    def build(self) -> None:
        self.plot = Chart()
        self.of_run.append(self.plot)
        self.add(self.plot)

    def fill(self, trace: Trace) -> None:
        self.plot.show(getattr(figures, self.chart)(trace))


class SourcesSection(ChartSection):
    chart = "by_source"


class TimeSpentSection(ChartSection):
    chart = "time_spent"


class LinkedSection(Section):
    """A view of the page's group, which provides run and cursor."""

    view: ClassVar[type[LinkedView]]

    def build(self) -> None:
        self.add(self.view(group=self.page.group))

    def depends_on(self) -> tuple:
        return ()


class RoundSection(LinkedSection):
    view = RoundInspector
    words = (
        "The target round under the cursor, level by level: what each drafted, what each stopped, and why. All values "
        "are recorded."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.widget.add_class("hsd-follows")  # shows nothing ahead of the cursor


class DrafterSection(Section):
    words = "You are the drafter of the run shown: propose its next tokens, and race the recorded drafters."

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.widget.add_class("hsd-follows")

    def build(self) -> None:
        self.view = Drafter(group=self.page.group)
        self.add(self.view)

    def fill(self, trace: Trace) -> None:
        self.view.race(trace)


class RoundsSection(LinkedSection):
    view = Rounds
    words = "All rounds of the run shown: filter them by what happened, and compare the sums of several with the whole."


class TimelineSection(LinkedSection):
    view = Timeline
    words = "Every forward pass and look-up of the run shown, with recorded times."


class AcceptanceSection(Section):
    words = "Acceptance in the run shown: what was accepted, at which positions and from which sources."

    def build(self) -> None:
        self.charts = {name: Chart() for name in ("acceptance", *PANELS)}
        self.verifier = widgets.VBox()
        whole = widgets.VBox(
            [
                charts(self.charts["acceptance"], ChartMark(group=self.page.group)),
                self.verifier,
                charts(*(self.charts[name] for name in PANELS)),
            ]
        )
        whole.add_class("hsd-views")
        self.of_run.append(whole)
        self.add(whole)

    def fill(self, trace: Trace) -> None:
        self.charts["acceptance"].show(figures.acceptance(trace))
        levels = verifiers(trace)
        several = len(levels) > 1
        self.verifier.layout.display = None if several else "none"
        level, box = menu("Verifier", levels or [("", None)], levels[0][1] if levels else None)
        refill(self.verifier, [box])

        def panels(_change: object = None) -> None:
            for name, draw in PANELS.items():
                self.charts[name].show(draw(trace, level.value))

        level.observe(panels, "value")
        panels()


class RuleSection(Section):
    words = "Verification rules on one draft: token, block and branch verification, and a lossy rule."

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.widget.add_class("hsd-follows")

    def build(self) -> None:
        self.add(RuleLab())

    def depends_on(self) -> tuple:
        return ()


def sections(page: Page) -> list[Tab | Section]:
    """Return all tabs in page order, those of other packages last."""
    return [
        Tab("Watch", RoundsSection(page)),
        Tab("Why", RoundSection(page), DrafterSection(page), RuleSection(page), AcceptanceSection(page)),
        Tab("Databases", DatabasesSection(page), SourcesSection(page)),
        Tab("Time", TimelineSection(page), TimeSpentSection(page), HierarchySection(page)),
        Tab("Compare", CompareSection(page), BenchmarkSection(page)),
        Tab("Your traffic", LogsSection(page)),
        *registered_sections(page),
    ]
