"""Sliders above a figure of the latency law: acceptance and cost of one draft model. No model runs."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from hsd_viz import figures
from hsd_viz.calibration.basis import Basis, basis_of
from hsd_viz.latency.law import MOST
from hsd_viz.stack import parse
from hsd_viz.views.chart import Chart
from hsd_viz.views.doors import Doors
from hsd_viz.views.names import Names
from hsd_viz.views.notice import Notice

OWN = "custom"
INSTANT = "Sliders are instant: the law is recomputed and no model runs."


class OneDraftWhatIf(Doors, widgets.VBox):
    """One draft model: speed over plain decoding by lookahead, for a given acceptance and cost.

    ``basis``, if given, adds the calibrated model pairs as presets.
    """

    def __init__(self, basis: Any = None, *, source: str = "") -> None:
        self._basis: Basis | None = None if basis is None else basis_of(basis, source)
        names: list[str] = []
        if self._basis is not None:
            known = self._basis.calibration
            names = [draft for draft, verifier in known.edges if verifier == known.target]
        options = [(OWN, ""), *((name, name) for name in names)]
        self._start = widgets.Dropdown(options=options, value="", description="Draft model")
        self._sliders: dict[str, widgets.Widget] = {
            "acceptance": slider("acceptance by the target", 0.7, 0.0, 0.99, 0.01, ".0%"),
            "cost": slider("cost of the draft model, in target forward passes", 0.15, 0.0, 1.0, 0.005, ".3f"),
            "lookahead": widgets.IntSlider(4, min=1, max=MOST, description="lookahead, tokens"),
            "slope": slider("added cost per verified token, in forward passes", 0.02, 0.0, 0.5, 0.01, ".2f"),
        }
        self._filling = False
        self.notice, self.plot = Notice(), Chart()
        note = widgets.Label(INSTANT)
        note.add_class("hsd-whatif-note")
        fields = widgets.Box([self._start, *self._sliders.values()])
        fields.add_class("hsd-whatif-fields")
        guard = self.notice.guard
        for one in self._sliders.values():
            one.observe(guard(self._on_slider), "value")
        self._start.observe(guard(self._on_start), "value")
        self.plot.observe(guard(self._on_chosen), "chosen")
        super().__init__([note, fields, self.notice, self.plot, Names()])
        self.add_class("hsd-whatif")
        if names:
            self._start.value = names[-1]
        else:
            self._draw()

    @property
    def named(self) -> str:
        """The calibrated model of the preset, or ""."""
        return self._start.value

    def value(self, name: str) -> Any:
        """Return the value of a slider."""
        return self._sliders[name].value

    def set(self, **values: Any) -> None:
        """Set sliders to ``values`` (clipped, rounded to steps) and recompute once."""
        self._filling = True
        try:
            for name, value in values.items():
                one = self._sliders[name]
                # The browser would round to a step, which would count as a change.
                steps = round((min(one.max, max(one.min, value)) - one.min) / one.step)
                one.value = round(one.min + steps * one.step, 6)
        finally:
            self._filling = False
        self._draw()

    def _draw(self) -> None:
        self.notice.clear()
        values = {name: self.value(name) for name in self._sliders}
        calibrated = self.named and self._basis is not None
        source = {"source": self._basis.predicted} if calibrated else {}
        self.plot.show(figures.what_if_one_draft(**values, **source))

    def _on_slider(self, change: Any) -> None:
        if not self._filling:
            # A changed slider no longer describes the calibrated model; a changed lookahead does.
            if change["owner"] is not self._sliders["lookahead"]:
                self._filling = True
                self._start.value = ""
                self._filling = False
            self._draw()

    def _on_start(self, _change: Any) -> None:
        if not self._filling and self.named:
            from hsd_viz.figures.law import one_draft_values

            self.set(**(one_draft_values(self._basis.calibration, self.named) | self._lookahead(self.named)))

    def _on_chosen(self, _change: Any) -> None:
        if self.plot.chosen:
            self.set(lookahead=int(self.plot.chosen[0]))

    def _lookahead(self, name: str) -> dict[str, float]:
        """Return the lookahead that the draft model was measured with, if there is one."""
        stacks = [parse(stack) for stack in self._basis.measured]
        alone = [stack.drafts[0] for stack in stacks if stack.bottom is None and len(stack.drafts) == 1]
        found = {draft.lookahead for draft in alone if draft.name == name and draft.lookahead}
        return {"lookahead": found.pop()} if len(found) == 1 else {}


def slider(words: str, value: float, low: float, high: float, step: float, form: str) -> widgets.FloatSlider:
    return widgets.FloatSlider(value, min=low, max=high, step=step, description=words, readout_format=form)
