"""What-if sliders above a figure of the latency law: acceptance, cost, and a second draft model.

All are *instant*: the figure is recomputed, no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import ipywidgets as widgets

from hsd_viz.figures.latency_sources import Basis, basis_of
from hsd_viz.figures.latency_whatif import (
    CUSTOM,
    LEAST_ACCEPTANCE,
    SLOPE,
    models_below,
    one_draft_spec,
    one_draft_values,
    second_draft_spec,
    second_draft_values,
)
from hsd_viz.figures.planes import heat, plane
from hsd_viz.latency.affine import MOST
from hsd_viz.views.chart import Chart
from hsd_viz.views.doors import Doors
from hsd_viz.views.names import Names
from hsd_viz.views.notice import Notice

OWN = "custom"
INSTANT = "Sliders are instant: the law is recomputed and no model runs."


class WhatIf(Doors, widgets.VBox):
    """Sliders above a chart. Subclasses define :meth:`_fill`, :meth:`_choose`, :meth:`_spec` and what draws it."""

    draw: ClassVar[Callable[[Mapping[str, Any]], Any]]

    def __init__(
        self, basis: Any, source: str, sliders: dict[str, widgets.Widget], start: widgets.Dropdown | None
    ) -> None:
        self._basis: Basis | None = None if basis is None else basis_of(basis, source)
        self._sliders, self._start, self._filling = sliders, start, False
        self._lookaheads = [slider for name, slider in sliders.items() if name.endswith("lookahead")]
        self.notice, self.plot = Notice(), Chart()
        note = widgets.Label(INSTANT)
        note.add_class("hsd-whatif-note")
        fields = widgets.Box([*([start] if start is not None else []), *sliders.values()])
        fields.add_class("hsd-whatif-fields")
        fields.add_class("hsd-whatif-four" if start is None else "hsd-whatif-five")
        guard = self.notice.guard
        for slider in sliders.values():
            slider.observe(guard(self._on_slider), "value")
        if start is not None:
            start.observe(guard(self._on_start), "value")
        self.plot.observe(guard(self._on_chosen), "chosen")
        super().__init__([note, fields, self.notice, self.plot, Names()])
        self.add_class("hsd-whatif")

    def value(self, name: str) -> Any:
        """Return the value of a slider."""
        return self._sliders[name].value

    def set(self, **values: Any) -> None:
        """Set sliders to ``values`` (clipped, rounded to steps) and recompute once."""
        self._filling = True
        try:
            for name, value in values.items():
                slider = self._sliders[name]
                # The browser would round to a step, which would count as a change.
                steps = round((min(slider.max, max(slider.min, value)) - slider.min) / slider.step)
                slider.value = round(slider.min + steps * slider.step, 6)
        finally:
            self._filling = False
        self._draw()

    def _draw(self) -> None:
        self.notice.clear()
        self.spec = spec = self._spec()
        self.plot.show(type(self).draw(spec))

    def _on_slider(self, change: Any) -> None:
        if not self._filling:
            # A changed slider no longer describes the calibrated model; a changed lookahead does.
            if self._start is not None and change["owner"] not in self._lookaheads:
                self._filling = True
                self._start.value = ""
                self._filling = False
            self._draw()

    def _on_start(self, _change: Any) -> None:
        if not self._filling and self._start is not None and self._start.value:
            self._fill(self._start.value)

    def _on_chosen(self, _change: Any) -> None:
        if self.plot.chosen:
            self._choose(self.plot.chosen)

    def _fill(self, name: str) -> None:
        raise NotImplementedError

    def _choose(self, point: list[float]) -> None:
        raise NotImplementedError

    def _spec(self) -> dict[str, Any]:
        raise NotImplementedError

    def _source(self, named: bool) -> str:
        if named and self._basis is not None:
            # Sliders hold one acceptance and one cost; stack predictions average over kinds of text.
            one = "" if self._basis.kinds is None else ", here pooled over texts; stack predictions use kinds of text"
            return self._basis.predicted.removesuffix(".") + f"{one}."
        return CUSTOM


class OneDraftWhatIf(WhatIf):
    """One draft model: speed over plain decoding by lookahead, for a given acceptance and cost.

    ``basis``, if given, adds the calibrated model pairs as presets.
    """

    draw = staticmethod(plane)

    def __init__(self, basis: Any = None, *, source: str = "") -> None:
        calibration = None if basis is None else basis_of(basis).calibration
        pairs = [] if calibration is None else [d for d, v in calibration.edges if v == calibration.target]
        sliders = {
            "acceptance": slider("acceptance by the target", 0.7, 0.0, 0.99, 0.01, ".0%"),
            "cost": slider("cost of the draft model, in target forward passes", 0.15, 0.0, 1.0, 0.01, ".2f"),
            "lookahead": step_slider("lookahead, tokens", 4),
            "slope": slope_slider(),
        }
        super().__init__(basis, source, sliders, start_menu("Draft model", [(d, d) for d in pairs]) if pairs else None)
        if pairs:
            self._start.value = pairs[-1]
        else:
            self._draw()

    def _fill(self, name: str) -> None:
        self.set(**one_draft_values(self._basis.calibration, name))

    def _choose(self, point: list[float]) -> None:
        self.set(lookahead=int(point[0]))

    def _spec(self) -> dict[str, Any]:
        values = {name: self.value(name) for name in self._sliders}
        return one_draft_spec(**values, source=self._source(self._start is not None and bool(self._start.value)))


class SecondDraftWhatIf(WhatIf):
    """The gain of a small draft model below a larger one, over its cost and acceptance.

    ``basis``, if given, adds the calibrated models as presets for the larger draft and marks those below it on the map.
    """

    draw = staticmethod(heat)

    def __init__(self, basis: Any = None, *, source: str = "") -> None:
        calibration = None if basis is None else basis_of(basis).calibration
        larger = []
        if calibration is not None:
            to_target = {draft for draft, verifier in calibration.edges if verifier == calibration.target}
            larger = [m for m in calibration.models if m in to_target and models_below(calibration, m)]
        sliders = {
            "acceptance": slider("larger draft: acceptance by the target", 0.85, 0.3, 0.99, 0.01, ".0%"),
            "cost": slider("larger draft: cost, in target forward passes", 0.3, 0.02, 1.0, 0.01, ".2f"),
            "lookahead": step_slider("larger draft: lookahead", 6),
            "slope": slope_slider(),
            "second_acceptance": slider(
                "second draft: acceptance by the larger", 0.6, LEAST_ACCEPTANCE, 0.99, 0.01, ".0%"
            ),
            "second_cost": slider("second draft: cost, in target forward passes", 0.03, 0.0, 1.0, 0.005, ".3f"),
            "second_lookahead": step_slider("second draft: lookahead", 3),
            # Two acceptances bound the third: 1 - acceptance is a distance between models.
            "closeness": slider("target's direct acceptance: 0 lowest, 1 highest", 0.25, 0.0, 1.0, 0.01, ".2f"),
        }
        super().__init__(
            basis, source, sliders, start_menu("Larger draft", [(m, m) for m in larger]) if larger else None
        )
        if larger:
            self._start.value = larger[-1]
        else:
            self._draw()

    def _fill(self, name: str) -> None:
        self.set(**second_draft_values(self._basis.calibration, name))

    def _choose(self, point: list[float]) -> None:
        self._filling = True
        if self._start is not None:
            self._start.value = ""
        self._filling = False
        self.set(second_cost=point[0], second_acceptance=point[1])

    def _spec(self) -> dict[str, Any]:
        named = self._start.value if self._start is not None else ""
        models = models_below(self._basis.calibration, named) if named else None
        values = {name: self.value(name) for name in self._sliders}
        return second_draft_spec(**values, models=models, source=self._source(bool(named)))


# --- fields -----------------------------------------------------------------------------------------------------------


def slider(words: str, value: float, low: float, high: float, step: float, form: str) -> widgets.FloatSlider:
    return widgets.FloatSlider(value, min=low, max=high, step=step, description=words, readout_format=form)


def step_slider(words: str, value: int) -> widgets.IntSlider:
    return widgets.IntSlider(value, min=1, max=MOST, description=words)


def slope_slider() -> widgets.FloatSlider:
    return slider("added cost per verified token, in forward passes", SLOPE, 0.0, 0.5, 0.01, ".2f")


def start_menu(words: str, options: list[tuple[str, str]]) -> widgets.Dropdown:
    return widgets.Dropdown(options=[(OWN, ""), *options], value="", description=words)
