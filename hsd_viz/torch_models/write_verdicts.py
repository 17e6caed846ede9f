"""Write verdicts to device memory: a line of numbers per verification, which
:mod:`hsd_viz.torch_models.read_verdicts` reads on the host.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd_viz.torch_models.layout import LINE, MIN_P, TOP_K, TOP_P, USED, WARM, StackPlan, State
from hsd_viz.torch_models.rejection_sampling import Decision
from hsd_viz.torch_models.rules import row_of
from hsd_viz.torch_models.sampling import Shaping, describe, distribution, likeliest

#: The number of values in a line of the report before those of each place.
HEADS = 8


def line_size(plan: StackPlan, level: int) -> int:
    """Return the largest count of numbers in the report of a verification by a level."""
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
    """Write the line of a verification, in the form that
    :func:`hsd_viz.torch_models.read_verdicts.read_line` reads.

    Args:
        state: the state of the decode.
        plan: the shape of the stack.
        level: the level that verifies.
        scores: the logits ``[m + 1, V]``.
        tokens: the draft tokens ``[m]``, of which the first ``n`` are used.
        n: the number of draft tokens, ``[]``.
        at: the number of tokens in the text before the draft, ``[]``.
        due: whether the verification was due, ``[]``.
        decision: the decision about the draft.
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


def _top_of(weights: Tensor, count: int) -> list[Tensor]:
    """Return the likeliest tokens of ``weights`` ``[V]`` and their values, each ``[count]`` in
    float64.
    """
    places, values = likeliest(weights[None], count)
    return [places[0].double(), values[0].double()]
