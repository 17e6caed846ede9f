"""Latency figures: a heat map with labelled contours and marks, or lines over a lookahead.

Python sends a ``spec`` of plain data and the browser draws it in the page's theme. Arrow keys step through the cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from hsd_viz.figures.latency_sources import Measured
from hsd_viz.figures.surface_specs import surface_of
from hsd_viz.latency.affine import MOST
from hsd_viz.stack import Stack
from hsd_viz.views.doors import View
from hsd_viz.views.scripts import STATIC, joined


class Plot(View):
    """A figure on axes.

    ``spec`` has cells, contours, lines and marks; ``chosen`` is the point (x, y) selected by click or Enter.
    """

    _esm = joined("dom.js", "figure.js", "plot.js")
    _css = STATIC / "latency.css"

    spec = traitlets.Dict().tag(sync=True)
    chosen = traitlets.List().tag(sync=True)


class LatencySurface(Plot):
    """Predicted ms per token over the lookaheads of two neighbouring draft models of ``stack``.

    ``basis`` is a calibration (or an argument of :func:`~hsd_viz.figures.latency_sources.basis_of`). Marks: the
    minimum, the affine selection for this chain (generalized shortest path), and ``measured`` ms per token of this
    chain. The two lookaheads can be omitted from ``stack``. Raises: ValueError: if the stack has no two such models."""

    def __init__(
        self,
        basis: Any,
        stack: Stack | str,
        *,
        measured: Mapping[str, Measured | float] | None = None,
        most: int = MOST,
        place: int = 0,
        source: str = "",
    ) -> None:
        super().__init__(spec=surface_of(basis, stack, measured=measured, most=most, place=place, source=source))
