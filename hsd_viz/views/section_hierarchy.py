"""The law of the Time tab: the stack selected by the latency law, its calibration, and what-if sliders."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.calibration.basis import Basis, basis_of, of_run, temperature_words
from hsd_viz.calibration.store import identity
from hsd_viz.engine.replay import recorded
from hsd_viz.latency.inputs import Calibration
from hsd_viz.machine import cpu_model
from hsd_viz.stack import parse
from hsd_viz.trace import Trace
from hsd_viz.views.chart import Chart
from hsd_viz.views.controls import Prose
from hsd_viz.views.hierarchy import HierarchyGraph
from hsd_viz.views.latency_whatif import OneDraftWhatIf
from hsd_viz.views.presets import TEMPERATURE
from hsd_viz.views.section import Page, Section, menu, refill, sentence, titled, tried
from hsd_viz.words import counted

RECORDED, RUN = "recorded", "run"
RECORDED_WORDS = f"bundled recordings ({temperature_words(TEMPERATURE)})"
#: Maximum number of stored calibrations offered, newest first.
MOST_STORED = 6


class HierarchySection(Section):
    words = (
        "The fastest stack of models and databases by this project's latency law, predicted from the calibration "
        "named below each figure and compared with measurements. No model runs here."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._basis: Basis | None = None
        self.law, self.level, self.plot, self.what_if = (widgets.VBox() for _ in range(4))
        for box in (self.law, self.level, self.plot, self.what_if):
            box.add_class("hsd-views")

    def build(self) -> None:
        self._stored = stored_calibrations(self.page.trace)
        self._fitted = self._fitting()
        self.source, source = menu("Costs and acceptance from", self._options(), self._fitted)
        self.fit = Prose("")
        self.chain, chain = menu("Draft models", [], None)
        self.surface = titled("Lookahead of each draft model", chain, self.plot)
        self.of_run.append(self.level)
        self.add(source, self.fit, self.law, self.level, self.surface, self.what_if)
        self._draw()
        self.source.observe(lambda _change: self._draw(), "value")
        self.chain.observe(lambda _change: self._draw_surface(), "value")

    def open(self) -> None:
        super().open()
        self._say_fit()

    def _options(self) -> list[tuple[str, str]]:
        stored = [(words, path) for words, path, _ in self._stored]
        return [(RECORDED_WORDS, RECORDED), ("the run shown", RUN), *stored]

    def _wanted(self) -> float:
        """Return the form's temperature, else that of the run shown."""
        try:
            return float(self.page.request().options["temperature"])
        except (AttributeError, ValueError):
            return float(
                ((self.page.trace.meta if self.page.trace is not None else {}).get("sampling") or {}).get("temperature")
                or 0.0
            )

    def _fitting(self) -> str:
        """Return the source for the form's temperature: a calibration of this machine, the run shown if it was decoded
        here or differs from the recordings, or the recordings.
        """
        wanted = self._wanted()
        for _, path, found in self._stored:
            if found.temperature == wanted:
                return path
        trace = self.page.trace
        same = trace is not None and float((trace.meta.get("sampling") or {}).get("temperature") or 0.0) == wanted
        if trace is None or not same or not len(trace):
            return RECORDED
        drafted = getattr(self.page, "shows_own_run", False) and parse(trace.stack).drafts
        return RUN if wanted != TEMPERATURE or drafted else RECORDED

    def _say_fit(self) -> None:
        """Compare the calibration's temperature with the form's."""
        there = None if self._basis is None else self._basis.temperature
        wanted = self._wanted()
        if there is None:
            self.fit.value = ""
        elif there == wanted:
            self.fit.value = f"Matches the form: both {'greedy' if not there else f'at {temperature_words(there)}'}."
        else:
            self.fit.value = (
                f"Temperature mismatch: form {temperature_words(wanted)}, calibration {temperature_words(there)}. "
                f"Acceptance depends on temperature; calibrate with: hsd-viz plan --temperature {wanted:g}"
            )

    def fill(self, trace: Trace) -> None:
        refill(self.level, [tried(lambda: Chart(figures.levels(trace)))])
        before = self.source.value
        self._stored = stored_calibrations(trace)
        if (options := self._options()) != [*self.source.options]:
            self.source.options = options
            self.source.value = before if before in dict(map(reversed, options)) else self._fitting()
        if before == self._fitted:
            # The reader has not chosen another source.
            self._fitted = self._fitting()
            self.source.value = self._fitted
        if self.source.value == before == RUN:
            self._draw()

    def _draw(self) -> None:
        try:
            found = self._basis = basis(self.source.value, self.page.trace)
        except ValueError as error:
            self._basis = None
            self._say_fit()
            refill(self.law, [sentence(error)])
            refill(self.what_if, [])
            self.surface.layout.display = "none"
            return
        self._say_fit()
        refill(self.law, [tried(lambda: HierarchyGraph(found)), tried(lambda: Chart(figures.ranking(found)))])
        chains = chains_of(found.calibration)
        self.surface.layout.display = None if chains else "none"
        self.chain.options = [(c, c) for c in chains]
        self.chain.value = chains[-1] if chains else None
        self._draw_surface()
        refill(
            self.what_if,
            [titled("What-if: one draft model", tried(lambda: OneDraftWhatIf(found)))],
        )

    def _draw_surface(self) -> None:
        found, chain = self._basis, self.chain.value
        if found is not None and chain:
            refill(self.plot, [tried(lambda: Chart(figures.latency_surface(found, chain)))])


def basis(source: str | Path, trace: Trace | None) -> Basis:
    """Load the law's basis: bundled recordings, ``trace``, or a stored calibration.

    Raises: ValueError: if it is missing.
    """
    if source == RECORDED:
        return recorded()
    if source != RUN:
        return basis_of(source)
    if trace is None or not len(trace):
        raise ValueError("no run to estimate costs and acceptance from")
    return of_run(trace)


def chains_of(calibration: Calibration) -> list[str]:
    """Return stacks of two or more draft models with all neighbours measured, with and without a database below."""
    drafts = calibration.models[:-1]
    found = []
    for size in range(2, len(drafts) + 1):
        for models in combinations(drafts, size):
            if all(pair in calibration.edges for pair in pairwise((*models, calibration.target))):
                chain = " > ".join((*models, calibration.target))
                found.append(chain)
                found += [f"{b} > {chain}" for b in calibration.databases if (b, models[0]) in calibration.tiers]
    return found


def stored_calibrations(trace: Trace | None) -> list[tuple[str, str, Basis]]:
    """Return the stored calibrations of this machine and of the models of ``trace``, newest of each kind first:
    (label, path, basis).
    """
    from hsd_viz.calibration.store import folder

    found: dict[str, tuple[str, str, Basis]] = {}
    try:
        paths = sorted(folder().glob("*.json"), key=lambda p: -p.stat().st_mtime)
    except OSError:
        return []
    for path in paths:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            who = data.get("identity") or {}
            # The cache may be from another machine.
            here = who.get("device") != "cpu" or who.get("device_name") == cpu_model()
            if here and same_models(who, trace):
                found.setdefault(plan_words(data), (plan_words(data), str(path), basis_of(data)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if len(found) == MOST_STORED:
            break
    return list(found.values())


def same_models(who: dict[str, Any], trace: Trace | None) -> bool:
    """Return whether a calibration of identity ``who`` is of the target and number type of ``trace``, and of the same
    weights wherever both have a model.
    """
    try:
        shown = identity(trace.meta if trace is not None else {})
    except (KeyError, IndexError, TypeError):
        return False  # an imported trace does not name its weights
    there, target = who.get("models") or {}, shown["target"]
    common = [name for name in shown["models"] if name in there]
    same = all(there[name][0] == shown["models"][name][0] is not None for name in common)
    return same and target in common and (who.get("target"), who.get("dtype")) == (target, shown["dtype"])


def plan_words(stored: dict[str, Any]) -> str:
    """Return a stored calibration's label: texts, temperature, machine and day."""
    who, texts = stored.get("identity") or {}, stored.get("texts") or {}
    temperature = (who.get("sampling") or {}).get("temperature")
    day = None if stored.get("created") is None else datetime.fromtimestamp(stored["created"], UTC).date().isoformat()
    prompts = f"{texts['suite']}, {counted(texts['prompts'], 'prompt')}" if {"suite", "prompts"} <= set(texts) else None
    facts = (prompts, None if temperature is None else temperature_words(temperature), who.get("device_name"), day)
    return f"hsd-viz plan of {who.get('target')}: {', '.join(str(f) for f in facts if f)}"
