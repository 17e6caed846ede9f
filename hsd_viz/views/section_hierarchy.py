"""The tab on hierarchies: which stack the latency law picks, on whose figures, and what would change it."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import ipywidgets as widgets

from hsd_viz import views
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.estimate import estimate
from hsd_viz.trace import Trace
from hsd_viz.views.latency_sources import Basis, machine_words
from hsd_viz.views.sections import Page, Section, menu, refill, sentence, titled, tried

RECORDED, RUN = "recorded", "run"
#: Calibrations kept by ``hsd-viz plan`` that are offered, the newest first.
KEPT = 3


class Hierarchy(Section):
    title = "Hierarchy"
    words = (
        "Which stack of models and databases is the fastest, by this project's latency law: predicted from a calibration that each figure "
        "names, beside what was measured. Nothing here runs a model."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._basis: Basis | None = None
        self.law, self.level, self.plot, self.what_if = (widgets.VBox() for _ in range(4))
        for box in (self.law, self.level, self.plot, self.what_if):
            box.add_class("hsd-views")

    def build(self) -> None:
        options = [("the recorded runs of this package", RECORDED), ("the run shown", RUN), *kept_calibrations()]
        self.source, source = menu("Costs and acceptance from", options, RECORDED)
        self.chain, chain = menu("Draft models", [], None)
        self.surface = titled("How many tokens should each draft model hand up?", chain, self.plot)
        self.of_run.append(self.level)
        self.add(source, self.law, self.level, self.surface, self.what_if)
        self._draw()
        self.source.observe(lambda _change: self._draw(), "value")
        self.chain.observe(lambda _change: self._draw_surface(), "value")

    def fill(self, trace: Trace) -> None:
        refill(self.level, [tried(lambda: views.Levels(trace))])
        if self.source.value == RUN:
            self._draw()

    def _draw(self) -> None:
        try:
            found = self._basis = basis(self.source.value, self.page.trace)
        except ValueError as error:
            self._basis = None
            refill(self.law, [sentence(error)])
            refill(self.what_if, [])
            self.surface.layout.display = "none"
            return
        refill(self.law, [tried(lambda: views.HierarchyGraph(found)), tried(lambda: views.Ranking(found))])
        chains = chains_of(found.calibration)
        self.surface.layout.display = None if chains else "none"
        self.chain.options = [(c, c) for c in chains]
        self.chain.value = chains[-1] if chains else None
        self._draw_surface()
        refill(
            self.what_if,
            [
                titled("What if the draft were better, or cheaper?", tried(lambda: views.OneDraftWhatIf(found))),
                titled("What if it had a draft of its own?", tried(lambda: views.SecondDraftWhatIf(found))),
            ],
        )

    def _draw_surface(self) -> None:
        found, chain = self._basis, self.chain.value
        if found is not None and chain:
            refill(self.plot, [tried(lambda: views.LatencySurface(found, chain))])


def basis(source: str | Path, trace: Trace | None) -> Basis:
    """Figures for the law: of the package's recordings, of ``trace``, or a kept calibration. Raises ``ValueError`` with one sentence."""
    if source == RECORDED:
        return views.recorded()
    if source != RUN:
        return views.basis_of(source)
    if trace is None or not trace.token_rows:
        raise ValueError("there is no run on the page whose costs and acceptance could be taken")
    words = f"estimated from the run shown alone ({len(trace.token_rows)} tokens on {machine_words(trace)})"
    return Basis(estimate([trace]).calibration(), words, views.measured([trace]))


def chains_of(calibration: Calibration) -> list[str]:
    """Stacks of two or more draft models whose neighbours were all measured, with and without a database beneath."""
    drafts = calibration.models[:-1]
    found = []
    for size in range(2, len(drafts) + 1):
        for models in combinations(drafts, size):
            if all(pair in calibration.edges for pair in pairwise((*models, calibration.target))):
                chain = " > ".join((*models, calibration.target))
                found.append(chain)
                found += [f"{b} > {chain}" for b in calibration.bottoms if (b, models[0]) in calibration.tiers]
    return found


def kept_calibrations() -> list[tuple[str, str]]:
    """What ``hsd-viz plan`` measured on this machine and keeps: (words, path)."""
    from hsd_viz.bench.store import folder

    found = []
    try:
        paths = sorted(folder().glob("*.json"), key=lambda p: -p.stat().st_mtime)[:KEPT]
    except OSError:
        return []
    for path in paths:
        try:
            found.append((f"a calibration {views.basis_of(path).source}", str(path)))
        except (ValueError, KeyError, TypeError):
            continue
    return found
