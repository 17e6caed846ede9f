"""Drafting latency against acceptance, and the resulting speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from hsd_viz.figures.plane_specs import acceptance_plane, speed_plane_spec, temperature_spec
from hsd_viz.views.doors import View
from hsd_viz.views.drafting_bars import CSS
from hsd_viz.views.scripts import joined


class DraftPlane(View):
    """Points, lines and equal-value curves on axes, with all values in a table."""

    _esm = joined("dom.js", "figure.js", "draft_plane.js")
    _css = CSS

    spec = traitlets.Dict().tag(sync=True)


class LatencyAcceptance(DraftPlane):
    """Drafting latency per round against the share of tokens from multi-token rounds, one mark per method (the HD
    motivation).

    ``data`` is an ablation or traces (a bench report lacks the share). ``beside`` adds the published figures.
    Raises: ValueError: if the share is unknown.
    """

    def __init__(self, data: Any, *, temperature: float | None = None, beside: bool = True, source: str = "") -> None:
        super().__init__(spec=acceptance_plane(data, temperature=temperature, beside=beside, source=source))


class SpeedPlane(DraftPlane):
    """Speed by the HD authors' cost model, tokens / (step + drafting), over drafting latency and acceptance length.

    The step is the target's one-token step from the plain row of ``data`` (a bench report, an ablation, or traces with
    a plain run). Every measured database or baseline is a mark. Raises: ValueError: if plain decoding was not measured.
    """

    def __init__(self, data: Any, *, temperature: float | None = None, source: str = "") -> None:
        super().__init__(spec=speed_plane_spec(data, temperature=temperature, source=source))


class TemperatureCurves(DraftPlane):
    """Acceptance length or speed-up (``metric="speedup"``) over temperature, one line per method.

    ``data`` is an ablation, or several reports of different temperatures. ``beside`` adds the published speed-up.
    Raises: ValueError: if there is only one temperature.
    """

    def __init__(
        self,
        data: Any,
        *,
        metric: str = "length",
        stacks: Sequence[str] | None = None,
        beside: bool = True,
        source: str = "",
    ) -> None:
        super().__init__(spec=temperature_spec(data, metric=metric, stacks=stacks, beside=beside, source=source))
