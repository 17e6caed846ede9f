"""What-if sliders over the latency law: acceptance, cost, and a second draft model."""

from __future__ import annotations

from typing import Any

from hsd_viz.figures.latency_sources import basis_of
from hsd_viz.figures.latency_whatif import (
    LEAST_ACCEPTANCE,
    models_below,
    one_draft_spec,
    one_draft_values,
    second_draft_spec,
    second_draft_values,
)
from hsd_viz.figures.planes import heat, plane
from hsd_viz.views.latency_sliders import WhatIf, slider, slope_slider, start_menu, step_slider


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
