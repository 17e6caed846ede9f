"""Write verdicts in device memory: a line of numbers for each verification, which
:mod:`hsd_viz.torch_models.read_verdicts` reads on the host.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd_viz.torch_models.layout import LINE, MIN_P, TOP_K, TOP_P, USED, WARM, StackPlan, State
from hsd_viz.torch_models.rejection_sampling import Decision
from hsd_viz.torch_models.rules import row_of
from hsd_viz.torch_models.sampling import Shaping, describe, distribution, likeliest

#: Numbers of a line of the report before those of each place.
HEADS = 8


def line_size(plan: StackPlan, level: int) -> int:
    """Return how many numbers a verification by this level reports at most."""
    m = plan.places(level)
    size = HEADS + 6 * m
    if level == plan.top and plan.details:
        size += (m + 1) * (2 + 2 * plan.details) + 4 * plan.details
    if level == plan.top and plan.observe:
        size += (m + 1) * 2 * plan.observe
    return size


def write_line(
    state: State,
    plan: StackPlan,
    level: int,
    scores: Tensor,
    tokens: Tensor,
    n: Tensor,
    at: Tensor,
    due: Tensor,
    decision: Decision,
) -> None:
    """Write the line of a verification of a draft of ``n`` of these ``tokens``: what
    :func:`hsd_viz.torch_models.read_verdicts.read_line` reads.
    """
    marks = state.marks
    used = marks[USED] + torch.where(due, decision.used, 0)
    heads = [due, at, n, decision.count, decision.token, decision.row, decision.mass, used]
    parts = [torch.stack([head.double() for head in heads])]
    parts += [tokens.double(), decision.nodes.double(), decision.columns.flatten()]
    is_top = level == plan.top
    if is_top and plan.details:
        rows = torch.cat([decision.nodes.new_zeros(1), decision.nodes + 1])
        places = torch.arange(len(rows), device=rows.device)
        emitted = torch.cat([tokens[decision.nodes], decision.token[None]])
        emitted = torch.where(places == decision.count, decision.token, emitted)
        parts.append(describe(scores[rows], emitted, plan.details).flatten())
        parts += _top_of(decision.weights, plan.details)
        if plan.by_points(level):
            parts.append(torch.zeros_like(parts[-1]))
            parts.append(torch.zeros_like(parts[-1]))
        else:
            q = state.rows[level - 1]
            parts += _top_of(row_of(q, decision.row), plan.details)
    if is_top and plan.observe:
        seen = scores
        if plan.warm:
            warm = Shaping(greedy=False, top_k=False, top_p=False, min_p=False)
            seen = distribution(
                scores,
                temperature=state.settings[WARM],
                top_k=marks[TOP_K],
                top_p=state.settings[TOP_P],
                min_p=state.settings[MIN_P],
                shaping=warm,
            )
        places, values = likeliest(seen, plan.observe)
        parts += [places.double().flatten(), values.double().flatten()]
    line = torch.cat(parts)
    line = torch.nn.functional.pad(line, (0, state.report.shape[1] - len(line)))
    place = marks[LINE].clamp(max=len(state.report) - 1)
    state.report.index_copy_(0, place[None], line[None])


def _top_of(weights: Tensor, most: int) -> list[Tensor]:
    """Return the likeliest tokens of ``weights`` ``[V]`` and their values, each ``[most]`` in
    float64.
    """
    places, values = likeliest(weights[None], most)
    return [places[0].double(), values[0].double()]
