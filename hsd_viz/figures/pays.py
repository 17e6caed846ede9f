"""When does a hierarchy pay? The gain of a second draft model over the best single one, by cost and agreement.

The field and its frontier are the latency law; the points are measured (this ladder, and targets padded with layers
that change nothing but the cost) or predicted. Every point has its own gain: it differs from the field where its
bottom model or its verification costs do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.express as px
from numpy.typing import ArrayLike

from hsd_viz.disk import data_folder, read_json
from hsd_viz.figures.charts import HOVER, INK, Figure, between, finish
from hsd_viz.figures.palette import KINDS, pale
from hsd_viz.latency.hardware import Machine, gpu_of, shape_of
from hsd_viz.latency.inputs import Edge, LevelCost
from hsd_viz.latency.law import LevelRound, draft, repeat, verify
from hsd_viz.measure.predict import predict
from hsd_viz.stack import parse

#: The bottom model of the field, as nano is to small on the shipped ladder: its cost in passes of the upper draft
#: model, and the acceptance of its tokens by that model and by the target (medians of the grids at 0, 0.7 and 1).
BOTTOM_COST, BOTTOM_ACCEPTANCE, BOTTOM_TARGET = 0.24, 0.61, 0.6
#: The cost of verifying 1, 2, 4, 8, 16 tokens, in passes over one token: on a GPU, and as measured with the points.
WIDTHS = (1, 2, 4, 8, 16)
GPU = (1.0, 1.01, 1.03, 1.07, 1.15)
COSTS = np.geomspace(0.02, 0.7, 16)
AGREEMENTS = np.linspace(0.5, 0.99, 13)
#: The largest published gain over the best single draft (abstract of arXiv 2510.19705, which names no cost ratio).
PUBLISHED = 1.2
#: What is predicted: a GPU, its number, and the models, target first.
PREDICTED = ("H100", 4, ("llama-70b", "llama-8b", "llama-1b"))
_SINGLE, _LOWER, _UPPER = range(1, 17), range(1, 7), (*range(1, 9), 10, 12, 14, 16)
_POINT = ["cost", "agreement", "bottom_agreement", "gain", "low", "high", "law", "said", "kind"]
_HEAD = ["hierarchy", "kind", "cost", "acceptance", "acceptance of the bottom model"]
_HEAD += ["gain", "by the law as calibrated there", "by the field", "95 % interval"]
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5)


def gain(cost: ArrayLike, agreement: ArrayLike, widths: Sequence[float]) -> np.ndarray:
    """Return the speed of the best stack of two draft models over the best with at most one, by the law. The upper
    draft model costs ``cost`` target passes, and the target accepts its tokens with ``agreement``; ``widths`` are the
    costs of :data:`WIDTHS` tokens. Arrays broadcast.
    """
    upper = LevelCost(tuple(np.interp(range(1, WIDTHS[-1] + 2), WIDTHS, widths).tolist()))
    bottom, accepted = upper.scaled(BOTTOM_COST), Edge(tail=BOTTOM_ACCEPTANCE)
    cost, agreement = np.asarray(cost)[..., None], np.asarray(agreement)[..., None]

    def fastest(calls: Sequence[LevelRound], rate: ArrayLike) -> np.ndarray:
        """Return the least time per token with a draft from one of ``calls``, whose times are in upper passes."""
        most = max(len(call.tokens) for call in calls)
        chances = np.array([np.pad(call.tokens, (0, most - len(call.tokens))) for call in calls])
        drafting, catch_up = np.array([(sum(call.times), call.catch_up) for call in calls]).T
        survival = np.power.outer(np.squeeze(rate, -1), range(most))
        tokens, full = survival @ chances[:, ::-1].cumsum(axis=1)[:, ::-1].T, survival @ chances.T
        verifying = chances @ [upper.verifying(n + 1) for n in range(most)]
        return ((cost * (drafting + full * catch_up) + verifying) / tokens).min(axis=-1)

    calls = [
        repeat(verify(draft(low, bottom), accepted, upper), high)
        for low in _LOWER
        for high in _UPPER
    ]
    lowest, one = ([draft(n, model) for n in _SINGLE] for model in (bottom, upper))
    best = np.minimum(fastest(lowest, [BOTTOM_TARGET]), fastest(one, agreement))
    return np.minimum(best, 1.0) / fastest(calls, agreement)


def measured_points(grids: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the points of the reports of ``benchmarks.grid``; ``law`` is the gain by the law as calibrated there."""
    rows = []
    for grid in grids:
        how = f"T = {t:g}" if (t := grid["settings"]["temperature"]) else "greedy"
        for point in grid["points"]:
            found = point["models_over_single_draft"]
            bottom, *_, upper = (draft.name for draft in parse(found["hierarchy"]).drafts)
            law = {row["stack"]: row["predicted_ms_per_token"] for row in point["rows"]}
            gains = (
                found["speedup"],
                *found["speedup_ci"],
                law[found["over"]] / law[found["hierarchy"]],
            )
            kind = "padded target" if point["pad_layers"] else "this ladder"
            said = f"{found['hierarchy']} over {found['over']}<br>{point['target']}, {how}: {found['speedup']:.2f} ×"
            rates = [point["acceptance"][f"{name} > target"]["rate"] for name in (upper, bottom)]
            rows.append([point["cost_ratio"][upper], *rates, *gains, said, kind])
    return pd.DataFrame(rows, columns=_POINT)


def predicted_point(gpu: str, tp: int, models: Sequence[str]) -> pd.DataFrame:
    """Return the predicted gain of a second draft model at batch 1 as a point."""
    plan = predict(gpu, models, tp=tp)
    (found,) = plan.second_draft_gain
    target, (bottom, *_, upper) = models[0], (draft.name for draft in parse(found["stack"]).drafts)
    machine = Machine(gpu_of(gpu), tp)
    step = lambda name: machine.cost(shape_of(name), batch=1, context=2048).verifying(1)
    known = {a.name: a.value for a in plan.assumptions}
    rates = [float(known[f"acceptance {name} > {target}"]) for name in (upper, bottom)]
    value = 1 + found["gain"]
    said = f"{found['stack']} over {found['over']}<br>{tp} × {gpu}, predicted: {value:.2f} ×"
    row = [
        step(upper) / step(target),
        *rates,
        value,
        np.nan,
        np.nan,
        value,
        said,
        f"predicted, {tp} × {gpu}",
    ]
    return pd.DataFrame([row], columns=_POINT)


def _label_places(points: pd.DataFrame) -> list[str]:
    """Return the side of each point on which its label is farthest from other points and from earlier labels."""
    places = np.column_stack(
        [np.log10(points["cost"]) / 1.5, points["agreement"] * 1.3]
    )  # about as they are drawn
    sides = {"top center": (0.0, 0.03), "bottom center": (0.0, -0.03)}
    sides |= {"middle right": (0.033, 0.0), "middle left": (-0.033, 0.0)}
    taken, chosen = [tuple(p) for p in places], []
    for place in places:
        others = np.array([other for other in taken if other != tuple(place)])
        chosen.append(
            max(sides, key=lambda side: np.hypot(*(others - place - sides[side]).T).min())
        )
        taken.append(tuple(place + sides[chosen[-1]]))
    return chosen


def when_it_pays(
    grids: Sequence[Mapping[str, Any] | str | Path] | None = None, dark: bool = False
) -> Figure:
    """Plot where a second draft model pays: the law's field and frontier, measured and predicted points. ``grids`` are
    reports of ``benchmarks.grid`` (default: the project's own).
    """
    if grids is None:
        grids = sorted(data_folder("bench/measured", "docs/bench").glob("grid-*.json"))
    data = [read_json(Path(g), "grid") if isinstance(g, str | Path) else g for g in grids]
    points = pd.concat([measured_points(data), predicted_point(*PREDICTED)], ignore_index=True)
    here = [
        [point["verifying_over_one"][str(w)] for w in WIDTHS[1:]]
        for grid in data
        for point in grid["points"]
    ]
    colours = {
        "surely above 1": INK.accent,
        "surely below 1": INK.loss,
        "not settled": KINDS["hf"].light,
    }
    sure = np.where(
        points["low"] > 1,
        "surely above 1",
        np.where(points["high"] < 1, "surely below 1", "not settled"),
    )
    labelled = points.assign(
        sure=sure, side=_label_places(points), text=points["gain"].map("{:.2f}".format)
    )
    figure = px.scatter(
        labelled, x="cost", y="agreement", color="sure", symbol="kind", text="text", custom_data=["said", "side"],
        color_discrete_map=colours, log_x=True,
    )  # fmt: skip
    for trace in figure.data:
        said, sides = zip(*trace.customdata, strict=True)
        trace.update(customdata=said, hovertemplate=HOVER, textposition=sides)
        trace.marker.update(size=12, line={"color": INK.page, "width": 1.5})
    curves = {"GPU": GPU, "the measured points": (1.0, *np.median(here, axis=0))}
    fields = [gain(points["cost"], points["agreement"], curve) for curve in curves.values()]
    points["field"] = np.where(points["low"].isna(), *fields)
    for (name, curve), dash in zip(curves.items(), ("solid", "dot"), strict=True):
        field = gain(COSTS, AGREEMENTS[:, None], curve)
        contour = {"x": COSTS, "y": AGREEMENTS, "z": field, "showscale": False, "hoverinfo": "skip"}
        if name == "GPU":
            scale = [[0, pale(INK.loss)], [0.5, INK.page], [1, pale(INK.accent)]]
            figure.add_heatmap(
                **contour, zmin=0.8, zmax=PUBLISHED, opacity=0.7, colorscale=scale, zsmooth="best"
            )
            lines = {
                "start": 1.05,
                "end": PUBLISHED,
                "size": 0.05,
                "showlabels": True,
                "labelformat": ".2f",
            }
            thin = {"color": INK.muted, "width": 1}
            figure.add_contour(
                **contour, contours=lines | {"coloring": "none"}, line=thin, showlegend=False
            )
        words = f"frontier by the law, 8 tokens verified for {curve[3]:.2f} passes ({name})"
        frontier = {"start": 1, "end": 1, "size": 1, "coloring": "none"}
        line = {"color": INK.text, "width": 2.5, "dash": dash}
        figure.add_contour(**contour, contours=frontier, line=line, name=words, showlegend=True)
    figure.data = [
        *(t for t in figure.data if t.type != "scatter"),
        *(t for t in figure.data if t.type == "scatter"),
    ]
    ends = [float(np.log10(COSTS[0])), float(np.log10(COSTS[-1]))]
    title = "cost of the upper draft model, in forward passes of the target"
    figure.update_xaxes(
        tickvals=_TICKS, ticktext=list(map("{:g}".format, _TICKS)), title_text=title, range=ends
    )
    title, span = "acceptance of its tokens by the target", [float(AGREEMENTS[0]), 1.04]
    figure.update_yaxes(title_text=title, tickformat=".0%", range=span)
    numbers = ("cost", "agreement", "bottom_agreement", "gain", "law", "field")
    rows = [
        [p.said.partition("<br>")[0], p.kind, *(f"{getattr(p, name):.2f}" for name in numbers),
         between(p.low, p.high, ".2f")] for p in points.itertuples()
    ]  # fmt: skip
    middle, far = points.dropna()[["field", "law", "gain"]].median(), points.iloc[-1]
    return finish(
        figure,
        "When does a hierarchy pay?",
        text="Speed of the best stack with two draft models over the best with at most one. Above the solid frontier "
        "the second one pays by the law with a GPU's forward passes; with those measured here (dotted) it changes "
        "little. Points: gain of each.",
        note=f"Field: latency law, bottom model as on this ladder (cost {BOTTOM_COST:g} of the upper one, acceptance "
        f"{BOTTOM_ACCEPTANCE:g} by it, {BOTTOM_TARGET:g} by the target). Left out: the time of a round beyond forward "
        "passes, the draft models' own cost curves, the caches that they displace, a third draft model, texts that "
        f"accept less. Median point: {middle.field:.2f} by the field with measured passes, {middle.law:.2f} by the law "
        f"as calibrated there, {middle.gain:.2f} measured. The target accepts {far.bottom_agreement:.2f} of the "
        "predicted bottom model's tokens (assumed): alone it brings more than the field's. Published: up to "
        f"{PUBLISHED:g} × (arXiv 2510.19705, without cost ratio and acceptance); arXiv 2502.05609 has databases only.",
        table=[_HEAD, *rows],
        dark=dark,
        height=480,
    )
