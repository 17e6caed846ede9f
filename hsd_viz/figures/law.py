"""Figures of the latency law: predictions, and measurements beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hsd_viz.figures.bars import compared
from hsd_viz.figures.latency_compare import ROWS, levels_spec, ranking_spec
from hsd_viz.figures.latency_sources import Measured, basis_of
from hsd_viz.figures.latency_whatif import (
    SLOPE,
    models_below,
    one_draft_spec,
    one_draft_values,
    second_draft_spec,
    second_draft_values,
)
from hsd_viz.figures.planes import heat, plane
from hsd_viz.figures.style import Given, trace_of
from hsd_viz.figures.surface_specs import surface_of
from hsd_viz.latency.affine import MOST
from hsd_viz.latency.select import Choice
from hsd_viz.stack import Stack

if TYPE_CHECKING:
    import plotly.graph_objects as go


def latency_surface(
    basis: Any,
    stack: Stack | str,
    dark: bool = False,
    *,
    measured: Mapping[str, Measured | float] | None = None,
    most: int = MOST,
    place: int = 0,
    source: str = "",
) -> go.Figure:
    """Plot predicted ms per token over the lookaheads of two neighbouring draft models of ``stack``.

    ``basis`` is a calibration, its file, a plan, or :func:`hsd_viz.views.recorded`. Marks: the predicted minimum, the
    quick selection, and ``measured`` ms per token by stack. Raises: ValueError: if there are no two such models.
    """
    return heat(surface_of(basis, stack, measured=measured, most=most, place=place, source=source), dark)


def ranking(
    plan: Any,
    dark: bool = False,
    *,
    measured: Mapping[str, Measured | float] | None = None,
    choice: Choice | None = None,
    source: str = "",
    rows: int = ROWS,
) -> go.Figure:
    """Plot stacks by ms per token, fastest first: predicted, and measured with intervals where available.

    ``plan`` is the JSON data or file of ``hsd-viz plan``, or a calibration, ranked by the law.
    """
    return compared(ranking_spec(plan, measured=measured, choice=choice, source=source, rows=rows), dark)


def levels(trace: Given, basis: Any = None, dark: bool = False, *, source: str = "") -> go.Figure:
    """Plot forward passes and time per emitted token by level: measured in the trace, and predicted by the law.

    Without ``basis`` the law uses this trace's acceptance and costs, so that differences are errors of the law.
    """
    return compared(levels_spec(trace_of(trace), basis, source=source), dark)


def what_if_one_draft(
    acceptance: float | None = None,
    cost: float | None = None,
    dark: bool = False,
    *,
    lookahead: int = 4,
    slope: float = SLOPE,
    basis: Any = None,
    draft: str | None = None,
) -> go.Figure:
    """Plot speed over plain decoding by lookahead, for a draft model's acceptance and cost (in target forward passes).

    With ``basis`` and ``draft`` these come from a calibrated draft model.
    """
    if basis is not None and draft is not None:
        found = basis_of(basis)
        values = one_draft_values(found.calibration, draft)
        source = f"Predicted by the latency law; calibration {found.source}."
        return plane(one_draft_spec(**values, lookahead=lookahead, source=source), dark)
    if acceptance is None or cost is None:
        raise ValueError("what_if_one_draft() needs acceptance and cost, or basis and draft")
    _check_share(acceptance, "acceptance")
    return plane(one_draft_spec(acceptance, cost, lookahead=lookahead, slope=slope), dark)


def what_if_second_draft(basis: Any = None, draft: str | None = None, dark: bool = False, **values: float) -> go.Figure:
    """Plot the gain in tokens/s of a second draft model below a larger one, over its cost and acceptance.

    ``basis`` and ``draft`` (the larger model) give calibrated values; ``values`` replace them: ``acceptance``, ``cost``
    and ``lookahead`` of the larger, ``second_acceptance``, ``second_cost`` and ``second_lookahead``, ``slope``,
    ``closeness``.
    """
    start: dict[str, Any] = {"acceptance": 0.85, "cost": 0.3, "second_acceptance": 0.6, "second_cost": 0.03}
    if unknown := set(values) - {*start, "lookahead", "second_lookahead", "slope", "closeness"}:
        raise TypeError(f"what_if_second_draft() has no option {', '.join(sorted(unknown))}")
    if basis is not None and draft is not None:
        found = basis_of(basis)
        start = second_draft_values(found.calibration, draft) | {"models": models_below(found.calibration, draft)}
        start["source"] = f"Predicted by the latency law; calibration {found.source}."
    for name in ("acceptance", "second_acceptance", "closeness"):
        _check_share(values.get(name, 0.5), name)
    return heat(second_draft_spec(**(start | values)), dark)


def _check_share(value: float, name: str) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name}={value} is out of range: use a number from 0 to below 1")
