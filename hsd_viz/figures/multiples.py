"""Small multiples over a suite: the speed-ups of a bench report, one panel per prompt or category, on the same axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hsd_viz.bench.report import Report
from hsd_viz.bench.verdict import COLOURS, fastest_of_kind, kind, plausible
from hsd_viz.figures.speeds import report_of
from hsd_viz.figures.style import INKS, chart, figure, go, hover, legend_room, plain

PROMPT, CATEGORY = "prompt", "category"
#: Panels of one row, the most panels by prompt, and the pixels of a bar and around the bars of a panel.
COLUMNS, MOST, STEP, AROUND = 3, 48, 13, 44
_WORDS = {PROMPT: "One prompt each: no intervals.", CATEGORY: "All prompts of a category."}


def small_multiples(
    report: Report | Mapping[str, Any] | str | Path,
    dark: bool = False,
    *,
    by: str | None = None,
    stacks: Sequence[str] | None = None,
) -> go.Figure:
    """Plot the speed-up over plain decoding in one panel per prompt or category of a bench report, on the same axes.

    ``by`` is ``prompt`` or ``category`` (default: prompts if the report has their times and there are at most 48),
    ``stacks`` those shown (default: the fastest of each kind).

    Raises:
        ValueError: for another ``by``, an unknown stack, a report without the times of its prompts or one in which no
            stack drafts.
    """
    report = report_of(report)
    by, panels = _panels(report, by)
    shown = fastest_of_kind(report) if stacks is None else list(stacks)
    if unknown := next((name for name in shown if name not in {s.stack for s in report.stacks}), None):
        raise ValueError(f"no stack '{unknown}' in the report: use {', '.join(s.stack for s in report.stacks)}")
    if not shown or not panels:
        raise ValueError("the report has no speed-up to show: none of its stacks drafts")
    height = math.ceil(len(panels) / COLUMNS) * (STEP * len(shown) + AROUND)
    fig = _drawn(panels, shown, height, dark)
    text = f"Speed over plain decoding, the dashed line. {_WORDS[by]}"
    table = [[by, *shown], *([name, *(_number(values.get(s)) for s in shown)] for name, values in panels.items())]
    listed = lambda row: ", ".join(f"{s} {v}" for s, v in zip(shown, row[1:], strict=True))
    words = f"{text} {'; '.join(f'{row[0]}: {listed(row)}' for row in table[1:])}."
    note = f"{text} {report.suite.name}, {report.processor or 'an unknown machine'}."
    about = {"text": text, "table": table}
    fig.update_layout(figure([], f"Speed-up by {by}", words, dark, note=note, about=about).layout)
    top, below = fig.layout.margin.t + 22, legend_room(shown)
    return fig.update_layout(height=height + top + below, margin={"t": top, "b": below, "l": 12}, showlegend=True)


def _drawn(panels: Mapping[str, Mapping[str, float]], shown: Sequence[str], height: int, dark: bool) -> go.Figure:
    """Return the panels: a bar for each stack, in the order of ``shown``."""
    from plotly.subplots import make_subplots

    fig = make_subplots(
        figure=chart()(),
        rows=math.ceil(len(panels) / COLUMNS),
        cols=COLUMNS,
        subplot_titles=[plain(name) for name in panels],
        shared_xaxes=True,
        shared_yaxes=True,
        vertical_spacing=26 / height,
        horizontal_spacing=0.03,
    )
    fig.update_annotations(font={"size": 11})
    for k, stack in enumerate(shown):
        for place, (name, values) in enumerate(panels.items()):
            value = values.get(stack)
            said = "not measured" if value is None else f"{value:.2f} times the speed of plain decoding"
            bar = go.Bar(x=[value], y=[k], orientation="h", width=0.8, name=plain(stack), legendgroup=stack)
            bar.update(marker_color=COLOURS[kind(stack)][dark], showlegend=not place)
            bar.update(customdata=[hover(f"{name}: {stack}, {said}")], hovertemplate="%{customdata}<extra></extra>")
            fig.add_trace(bar, row=place // COLUMNS + 1, col=place % COLUMNS + 1)
    end = max(1.0, *(value for values in panels.values() for name, value in values.items() if name in shown))
    fig.add_vline(x=1, line={"color": INKS[dark][0], "width": 1, "dash": "dash"})
    fig.update_xaxes(range=[0, 1.05 * end])
    fig.update_xaxes(title_text="times plain decoding", title_font_size=11, row=math.ceil(len(panels) / COLUMNS))
    fig.update_yaxes(range=[len(shown) - 0.5, -0.5], showticklabels=False, showgrid=False, ticks="")
    return fig


def _panels(report: Report, by: str | None) -> tuple[str, dict[str, dict[str, float]]]:
    """Return what the panels are, and the speed-ups by panel and stack."""
    if by not in (None, PROMPT, CATEGORY):
        raise ValueError(f"by={by!r} is unknown: use '{PROMPT}' or '{CATEGORY}'")
    plain_row = next((s for s in report.stacks if s.stack == "target"), None)
    times = (plain_row.by_prompt if plain_row is not None else None) or {}
    if by == PROMPT and not times:
        raise ValueError(f"the report has no times of its prompts: use by='{CATEGORY}'")
    if by == PROMPT or (by is None and 0 < len(times) <= MOST):
        speed = lambda pair: pair[0] / pair[1] if pair[0] and pair[1] else None
        found: dict[str, dict[str, float]] = {name: {} for name in times}
        for s in report.stacks:
            for name, pair in (s.by_prompt or {}).items():
                own, alone = speed(pair), speed(times.get(name, (0, 0)))
                if own and alone:
                    found[name][s.stack] = own / alone
        return PROMPT, found
    groups: dict[str, dict[str, float]] = {name: {} for name in report.suite.categories}
    for s in report.stacks:
        for name, group in s.by_category.items():
            if group.speedup_over_plain.value is not None and plausible(group):
                groups.setdefault(name, {})[s.stack] = group.speedup_over_plain.value
    return CATEGORY, groups


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
