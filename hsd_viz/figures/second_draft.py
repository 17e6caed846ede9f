"""The gain of a second draft model over the best single one: by the law, measured, predicted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from hsd_viz.latency.cards import gpu_of
from hsd_viz.latency.configs import shape_of
from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.inputs import Edge, LevelCost
from hsd_viz.latency.law import ExpectedRound, draft, repeat, verify
from hsd_viz.measure.predict.api import predict
from hsd_viz.stack import parse

#: The bottom model of the field, as nano is to small on the shipped ladder (medians of the grids at
#: temperatures 0, 0.7 and 1): its cost in passes of the upper draft model, and the acceptance of
#: its tokens by that model and by the target.
BOTTOM_COST = 0.24
BOTTOM_ACCEPTANCE = 0.61
BOTTOM_TARGET = 0.6
#: Tokens that are verified together.
WIDTHS = (1, 2, 4, 8, 16)


#: The lookaheads that are compared: of a single draft model, and of the lower and the upper of two.
_SINGLE = range(1, 17)
_LOWER = range(1, 7)
_UPPER = (*range(1, 9), 10, 12, 14, 16)
_POINT = ["cost", "agreement", "bottom_agreement", "gain", "low", "high", "law", "hover", "kind"]


def gain(cost: ArrayLike, agreement: ArrayLike, widths: Sequence[float]) -> np.ndarray:
    """Return the speed of the best stack of two draft models over the best with at most one.

    It is that of the latency law. Arrays broadcast.

    Args:
        cost: of the upper draft model, in target passes.
        agreement: the acceptance of its tokens by the target.
        widths: the costs of :data:`WIDTHS` tokens.
    """
    every_width = np.interp(range(1, WIDTHS[-1] + 2), WIDTHS, widths)
    upper = LevelCost(tuple(every_width.tolist()))
    bottom = upper.scaled(BOTTOM_COST)
    accepted = Edge(tail=BOTTOM_ACCEPTANCE)
    costs = np.asarray(cost)[..., None]
    agreements = np.asarray(agreement)[..., None]
    hierarchies = []
    for low in _LOWER:
        verified = verify(draft(low, bottom), accepted, upper)
        hierarchies += [repeat(verified, high) for high in _UPPER]
    bottoms = [draft(n, bottom) for n in _SINGLE]
    uppers = [draft(n, upper) for n in _SINGLE]
    by_bottom = _fastest(bottoms, costs, [BOTTOM_TARGET], upper)
    by_upper = _fastest(uppers, costs, agreements, upper)
    at_most_one = np.minimum(np.minimum(by_bottom, by_upper), 1.0)
    return at_most_one / _fastest(hierarchies, costs, agreements, upper)


def _fastest(
    calls: Sequence[ExpectedRound], cost: np.ndarray, rate: ArrayLike, upper: LevelCost
) -> np.ndarray:
    """Return the least time per token with a draft from one of ``calls``.

    The times of the calls are in passes of the ``upper`` draft model, which costs ``cost`` passes
    of the target; the target accepts each token with ``rate``.
    """
    longest = max(len(call.tokens) for call in calls)
    chances = np.array([np.pad(call.tokens, (0, longest - len(call.tokens))) for call in calls])
    drafting = np.array([sum(call.times) for call in calls])
    catch_up = np.array([call.catch_up for call in calls])
    survival = np.power.outer(np.squeeze(rate, -1), range(longest))
    at_least = chances[:, ::-1].cumsum(axis=1)[:, ::-1]
    tokens = survival @ at_least.T
    accepted_whole = survival @ chances.T
    verifying = chances @ [upper.verifying(n + 1) for n in range(longest)]
    seconds = cost * (drafting + accepted_whole * catch_up) + verifying
    return (seconds / tokens).min(axis=-1)


def measured_points(grids: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the points of the reports of ``benchmarks.grid``.

    ``law`` is the gain by the law as calibrated there.
    """
    rows = []
    for grid in grids:
        temperature = grid["settings"]["temperature"]
        sampling = f"T = {temperature:g}" if temperature else "greedy"
        for point in grid["points"]:
            rows.append(_measured_row(point, sampling))
    return pd.DataFrame(rows, columns=_POINT)


def _measured_row(point: Mapping[str, Any], sampling: str) -> dict[str, Any]:
    measured = point["models_over_single_draft"]
    hierarchy = measured["hierarchy"]
    single = measured["over"]
    bottom, *_, upper = (draft.name for draft in parse(hierarchy).drafts)
    law = {row["stack"]: row["predicted_ms_per_token"] for row in point["rows"]}
    low, high = measured["speedup_ci"]
    speedup = measured["speedup"]
    return {
        "cost": point["cost_ratio"][upper],
        "agreement": point["acceptance"][f"{upper} > target"]["rate"],
        "bottom_agreement": point["acceptance"][f"{bottom} > target"]["rate"],
        "gain": speedup,
        "low": low,
        "high": high,
        "law": law[single] / law[hierarchy],
        "hover": f"{hierarchy} over {single}<br>{point['target']}, {sampling}: {speedup:.2f} ×",
        "kind": "padded target" if point["pad_layers"] else "this ladder",
    }


def predicted_point(gpu: str, tp: int, models: Sequence[str]) -> pd.DataFrame:
    """Return the predicted gain of a second draft model at batch 1 as a point."""
    plan = predict(gpu, models, tp=tp)
    (second,) = plan.second_draft_gain
    target = models[0]
    levels = next(row.levels for row in plan.rows if row.stack == second.stack)
    bottom, *_, upper = (draft.name for draft in levels.drafts)
    machine = Machine(gpu_of(gpu), tp)
    assumed = {assumption.name: assumption.value for assumption in plan.assumptions}
    gained = 1 + second.gain
    card = f"{tp} × {gpu}"
    row = {
        "cost": _step(machine, upper) / _step(machine, target),
        "agreement": float(assumed[f"acceptance {upper} > {target}"]),
        "bottom_agreement": float(assumed[f"acceptance {bottom} > {target}"]),
        "gain": gained,
        "low": np.nan,
        "high": np.nan,
        "law": gained,
        "hover": f"{second.stack} over {second.over}<br>{card}, predicted: {gained:.2f} ×",
        "kind": f"predicted, {card}",
    }
    return pd.DataFrame([row], columns=_POINT)


def _step(machine: Machine, name: str) -> float:
    """Return the milliseconds of a forward pass of a model over one token."""
    return machine.cost(shape_of(name), batch=1, context=2048).verifying(1)
