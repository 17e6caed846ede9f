"""Sliders above a figure of the latency law. All are *instant*: the figure is recomputed, no model runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import ipywidgets as widgets

from hsd_viz.figures.latency_sources import Basis, basis_of
from hsd_viz.figures.latency_whatif import CUSTOM, SLOPE
from hsd_viz.latency.affine import MOST
from hsd_viz.views.chart import Chart
from hsd_viz.views.doors import Doors
from hsd_viz.views.names import Names
from hsd_viz.views.notice import Notice

OWN = "custom"
INSTANT = "Sliders are instant: the law is recomputed and no model runs."


class WhatIf(Doors, widgets.VBox):
    """Sliders above a chart. Subclasses define ``self._sliders``, :meth:`_spec` and what draws it."""

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


# --- fields -----------------------------------------------------------------------------------------------------------


def slider(words: str, value: float, low: float, high: float, step: float, form: str) -> widgets.FloatSlider:
    return widgets.FloatSlider(value, min=low, max=high, step=step, description=words, readout_format=form)


def step_slider(words: str, value: int) -> widgets.IntSlider:
    return widgets.IntSlider(value, min=1, max=MOST, description=words)


def slope_slider() -> widgets.FloatSlider:
    return slider("added cost per verified token, in forward passes", SLOPE, 0.0, 0.5, 0.01, ".2f")


def start_menu(words: str, options: list[tuple[str, str]]) -> widgets.Dropdown:
    return widgets.Dropdown(options=[(OWN, ""), *options], value="", description=words)
