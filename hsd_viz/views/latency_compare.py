"""Predicted and measured latency side by side: stacks in a ranking, and one run by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from hsd_viz.figures.latency_compare import ROWS, levels_spec, ranking_spec
from hsd_viz.figures.latency_sources import Measured
from hsd_viz.latency.select import Choice
from hsd_viz.views.doors import Given, View, trace_of
from hsd_viz.views.scripts import STATIC, joined


class Comparison(View):
    """Rows with a bar for the prediction and a dot with its interval for the measurement, also as text."""

    _esm = joined("dom.js", "compare.js")
    _css = STATIC / "latency.css"

    spec = traitlets.Dict().tag(sync=True)


class Ranking(Comparison):
    """Stacks by ms per token, fastest first: predicted, and measured where available.

    ``plan`` is the JSON data or file of ``hsd-viz plan``, or a calibration (or an argument of
    :func:`~hsd_viz.figures.latency_sources.basis_of`), ranked by the law. ``measured`` adds ms per token by stack.
    Raises: ValueError: if ``plan`` is invalid.
    """

    def __init__(
        self,
        plan: Any,
        *,
        measured: Mapping[str, Measured | float] | None = None,
        choice: Choice | None = None,
        source: str = "",
        rows: int = ROWS,
    ) -> None:
        super().__init__(spec=ranking_spec(plan, measured=measured, choice=choice, source=source, rows=rows))


class Levels(Comparison):
    """Forward passes and time per emitted token by level: measured in the trace, and predicted by the law.

    Without a ``basis`` the law uses this trace's acceptance and costs, so differences are errors of the law.
    Raises: ValueError: if the basis lacks a level.
    """

    def __init__(self, trace: Given, basis: Any = None, *, source: str = "") -> None:
        super().__init__(spec=levels_spec(trace_of(trace), basis, source=source))
