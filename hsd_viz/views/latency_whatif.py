"""What-if sliders above a figure of the latency law: acceptance, cost, and a second draft model.

All are *instant*: the figure is recomputed, no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from hsd_viz.latency import hardware
from hsd_viz.latency.affine import MOST
from hsd_viz.latency.hardware import BANDWIDTH
from hsd_viz.stack import parse
from hsd_viz.views.chart import Chart
from hsd_viz.views.doors import Doors
from hsd_viz.views.names import Names
from hsd_viz.views.notice import Notice

OWN = "custom"
INSTANT = "Sliders are instant: the law is recomputed and no model runs."


class WhatIf(Doors, widgets.VBox):
    """Sliders above a chart. Subclasses define :meth:`_fill`, :meth:`_choose`, :meth:`_spec` and what draws it."""

    draw: ClassVar[Callable[[Mapping[str, Any]], Any]]
    #: Sizes of the models on a graphics card, in billions of parameters, target first.
    sizes: ClassVar[tuple[float, ...]]

    def __init__(
        self, basis: Any, source: str, sliders: dict[str, widgets.Widget], words: str, names: Sequence[str]
    ) -> None:
        self._basis: Basis | None = None if basis is None else basis_of(basis, source)
        #: Presets: calibrated models, then models of these sizes on a graphics card.
        drafts = " and ".join(f"{size}B" for size in self.sizes[1:])
        cards = [(f"{drafts} for {self.sizes[0]}B on {gpu} (estimated)", gpu) for gpu in BANDWIDTH]
        self._start = start_menu(words, [*((name, name) for name in names), *cards])
        self._sliders, self._filling = sliders, False
        self._lookaheads = [slider for name, slider in sliders.items() if name.endswith("lookahead")]
        self.notice, self.plot = Notice(), Chart()
        note = widgets.Label(INSTANT)
        note.add_class("hsd-whatif-note")
        fields = widgets.Box([self._start, *sliders.values()])
        fields.add_class("hsd-whatif-fields")
        guard = self.notice.guard
        for slider in sliders.values():
            slider.observe(guard(self._on_slider), "value")
        self._start.observe(guard(self._on_start), "value")
        self.plot.observe(guard(self._on_chosen), "chosen")
        super().__init__([note, fields, self.notice, self.plot, Names()])
        self.add_class("hsd-whatif")
        if names:
            self._start.value = names[-1]
        else:
            self._draw()

    @property
    def gpu(self) -> str:
        """The graphics card of the preset, or ""."""
        return self._start.value if self._start.value in BANDWIDTH else ""

    @property
    def named(self) -> str:
        """The calibrated model of the preset, or ""."""
        return "" if self.gpu else self._start.value

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
            # A changed slider no longer describes the calibrated model; a changed lookahead does. A card sets costs.
            costs = [self._sliders[name] for name in self._on_card()]
            if change["owner"] not in self._lookaheads and not (self.gpu and change["owner"] not in costs):
                self._filling = True
                self._start.value = ""
                self._filling = False
            self._draw()

    def _on_start(self, _change: Any) -> None:
        if not self._filling and self._start.value:
            self.set(**(self._on_card() if self.gpu else self._calibrated(self.named)))

    def _on_chosen(self, _change: Any) -> None:
        if self.plot.chosen:
            self._choose(self.plot.chosen)

    def _calibrated(self, name: str) -> dict[str, float]:
        raise NotImplementedError

    def _on_card(self) -> dict[str, float]:
        """Return the sliders that a graphics card sets: costs in target forward passes, the same on every card."""
        raise NotImplementedError

    def _choose(self, point: list[float]) -> None:
        raise NotImplementedError

    def _spec(self) -> dict[str, Any]:
        raise NotImplementedError

    def _source(self) -> str:
        if self.gpu:
            return hardware.source(self.gpu, self.sizes)
        if self.named and self._basis is not None:
            # Sliders hold one acceptance and one cost; stack predictions average over kinds of text.
            one = "" if self._basis.kinds is None else ", here pooled over texts; stack predictions use kinds of text"
            return self._basis.predicted.removesuffix(".") + f"{one}."
        return CUSTOM


class OneDraftWhatIf(WhatIf):
    """One draft model: speed over plain decoding by lookahead, for a given acceptance and cost.

    ``basis``, if given, adds the calibrated model pairs as presets, beside estimates for graphics cards.
    """

    draw, sizes = staticmethod(plane), (hardware.MODELS[0], hardware.MODELS[-1])

    def __init__(self, basis: Any = None, *, source: str = "") -> None:
        calibration = None if basis is None else basis_of(basis).calibration
        pairs = [] if calibration is None else [d for d, v in calibration.edges if v == calibration.target]
        sliders = {
            "acceptance": slider("acceptance by the target", 0.7, 0.0, 0.99, 0.01, ".0%"),
            "cost": slider("cost of the draft model, in target forward passes", 0.15, 0.0, 1.0, 0.005, ".3f"),
            "lookahead": step_slider("lookahead, tokens", 4),
            "slope": slope_slider(),
        }
        super().__init__(basis, source, sliders, "Draft model", pairs)

    def _calibrated(self, name: str) -> dict[str, float]:
        return one_draft_values(self._basis.calibration, name) | self._lookahead(name)

    def _lookahead(self, name: str) -> dict[str, float]:
        """Return the lookahead that the draft model was measured with, if there is one."""
        stacks = [parse(stack) for stack in self._basis.measured]
        alone = [stack.drafts[0] for stack in stacks if stack.bottom is None and len(stack.drafts) == 1]
        found = {draft.lookahead for draft in alone if draft.name == name and draft.lookahead}
        return {"lookahead": found.pop()} if len(found) == 1 else {}

    def _on_card(self) -> dict[str, float]:
        return {"cost": self.sizes[1] / self.sizes[0], "slope": 0.0}

    def _choose(self, point: list[float]) -> None:
        self.set(lookahead=int(point[0]))

    def _spec(self) -> dict[str, Any]:
        values = {name: self.value(name) for name in self._sliders}
        ms = hardware.step_ms(self.sizes[0], self.gpu) if self.gpu else None
        return one_draft_spec(**values, step_ms=ms, source=self._source())


class SecondDraftWhatIf(WhatIf):
    """The gain of a small draft model below a larger one, over its cost and acceptance.

    ``basis``, if given, adds the calibrated models as presets for the larger draft and marks those below it on the map.
    """

    draw, sizes = staticmethod(heat), hardware.MODELS

    def __init__(self, basis: Any = None, *, source: str = "") -> None:
        calibration = None if basis is None else basis_of(basis).calibration
        larger = []
        if calibration is not None:
            to_target = {draft for draft, verifier in calibration.edges if verifier == calibration.target}
            larger = [m for m in calibration.models if m in to_target and models_below(calibration, m)]
        sliders = {
            "acceptance": slider("larger draft: acceptance by the target", 0.85, 0.3, 0.99, 0.01, ".0%"),
            "cost": slider("larger draft: cost, in target forward passes", 0.3, 0.02, 1.0, 0.005, ".3f"),
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
        super().__init__(basis, source, sliders, "Larger draft", larger)

    def _calibrated(self, name: str) -> dict[str, float]:
        return second_draft_values(self._basis.calibration, name)

    def _on_card(self) -> dict[str, float]:
        target, larger, second = self.sizes
        return {"cost": larger / target, "second_cost": second / target, "slope": 0.0}

    def _choose(self, point: list[float]) -> None:
        self._filling = True
        self._start.value = ""
        self._filling = False
        self.set(second_cost=point[0], second_acceptance=point[1])

    def _spec(self) -> dict[str, Any]:
        models = models_below(self._basis.calibration, self.named) if self.named else None
        values = {name: self.value(name) for name in self._sliders}
        return second_draft_spec(**values, models=models, source=self._source())


# --- fields -----------------------------------------------------------------------------------------------------------


def slider(words: str, value: float, low: float, high: float, step: float, form: str) -> widgets.FloatSlider:
    return widgets.FloatSlider(value, min=low, max=high, step=step, description=words, readout_format=form)


def step_slider(words: str, value: int) -> widgets.IntSlider:
    return widgets.IntSlider(value, min=1, max=MOST, description=words)


def slope_slider() -> widgets.FloatSlider:
    return slider("added cost per verified token, in forward passes", SLOPE, 0.0, 0.5, 0.01, ".2f")


def start_menu(words: str, options: list[tuple[str, str]]) -> widgets.Dropdown:
    return widgets.Dropdown(options=[(OWN, ""), *options], value="", description=words)
