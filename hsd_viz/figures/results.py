"""A figure of each result: what :meth:`hsd_viz.results.result.Result.figure` draws."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from hsd_viz.errors import Unsupported
from hsd_viz.figures.charts import HOVER, INK, STEP, Figure, finish, plain
from hsd_viz.figures.palette import KINDS
from hsd_viz.figures.predictions import prediction, ranking
from hsd_viz.figures.reports import speedup
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.measure.plan.result import PlanResult
from hsd_viz.measure.predict.hardware_plan import HardwarePlan
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table, Value


def of_result(result: Result, dark: bool = False) -> Figure:
    """Plot a result.

    A bench is drawn by speed-up, a plan by milliseconds per token, a prediction by batch, and any
    other result by the first column of ratios, else of numbers, in its tables.

    Raises:
        Unsupported: if it has no numbers.
    """
    if isinstance(result, BenchResult):
        return speedup(result.report, dark)
    if isinstance(result, PlanResult):
        return ranking(result.to_dict(), dark)
    if isinstance(result, HardwarePlan):
        return prediction(result, dark)
    for table in result.tables():
        head = table.chart.head if table.chart is not None else _numbers_of(table)
        if head is not None:
            return table_bars(table, head, dark)
    raise Unsupported(f"there are no numbers in this {result.noun} to plot: use .to_dict()")


def table_bars(table: Table, column: str, dark: bool = False) -> Figure:
    """Plot a column of a table as bars, with the intervals of its estimates."""
    place = list(table.rows[0]).index(column)
    labels = []
    values = []
    to_low = []
    to_high = []
    for row in table.rows[1:]:
        number = _estimate(row[place])
        value = number.value or 0.0
        low, high = number.interval or (value, value)
        labels.append(plain(row[0]))
        values.append(value)
        to_low.append(value - low)
        to_high.append(high - value)
    kinds = table.kinds or ("models",) * len(labels)
    figure = go.Figure(
        go.Bar(
            x=values,
            y=labels,
            orientation="h",
            marker_color=[KINDS[kind].light for kind in kinds],
            error_x={"array": to_high, "arrayminus": to_low, "color": INK.text, "thickness": 1.5},
            customdata=[
                f"{label}: {value:.3g}" for label, value in zip(labels, values, strict=True)
            ],
            hovertemplate=HOVER,
        )
    )
    figure.update_xaxes(title_text=plain(column), rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category")
    return finish(
        figure,
        table.title or column,
        text=f"{column} by {table.rows[0][0]}.",
        note=table.note,
        table=table.cells(),
        dark=dark,
        height=STEP * (len(labels) + 2),
    )


def _numbers_of(table: Table) -> str | None:
    """Return the head of the first column with numbers only."""
    if len(table.rows) < 2:
        return None
    for place, head in enumerate(table.rows[0]):
        cells = [row[place] for row in table.rows[1:]]
        is_numeric = not any(isinstance(cell, str) for cell in cells)
        if place and is_numeric and any(not pd.isna(_estimate(cell).value) for cell in cells):
            return str(head)
    return None


def _estimate(cell: Value) -> Estimate:
    """Return the number of a cell with its interval."""
    if isinstance(cell, Estimate):
        return cell
    return Estimate(None if isinstance(cell, str) else cell)
