"""Verify drafts on the device: accept or reject their tokens and draw the token after them.

These are the functions of :mod:`hsd_viz.decoding.rejection_sampling` in torch, for graphs. Their
inputs are logits and the state of the decode, and their results stay in device memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hsd_viz.torch_models import rules
from hsd_viz.torch_models.layout import MIN_P, TEMPERATURE, TOP_K, TOP_P, USED, StackPlan, State
from hsd_viz.torch_models.rules import row_of
from hsd_viz.torch_models.sampling import Shaping, distribution, draw, total


@dataclass(slots=True)
class Decision:
    """The decision of a verification about a draft of at most m tokens.

    Attributes:
        count: the number of accepted tokens, ``[]``.
        token: the verifier's own token, ``[]``.
        row: the index of the row that ``token`` is drawn from, ``[]``.
        nodes: the accepted nodes in order, followed by the indices of the remaining places,
            ``[m]``.
        columns: the values of each node, ``[4, m]``: for point masses, whether it was accepted,
            whether it was compared, and p; for a chain, p, q, u and h.
        mass: the sum of the residual that a correction was drawn from, ``[]``.
        weights: the weights that ``token`` was drawn from, ``[V]``; used only for details.
        path_rows: the rows of the accepted tokens and of ``token``, ``[m + 1, V]``; not used for
            greedy decoding.
        used: the number of single-use random numbers that were used, ``[]``.
    """

    count: Tensor
    token: Tensor
    row: Tensor
    nodes: Tensor
    columns: Tensor
    mass: Tensor
    weights: Tensor
    path_rows: Tensor
    used: Tensor


def computed(scores: Tensor) -> Tensor:
    """Return logits in the number type in which probabilities are computed."""
    return scores if scores.dtype == torch.float64 else scores.float()


def shaped(state: State, scores: Tensor, shaping: Shaping) -> Tensor:
    """Return the probabilities of rows of logits."""
    return distribution(
        scores,
        temperature=state.settings[TEMPERATURE],
        top_k=state.marks[TOP_K],
        top_p=state.settings[TOP_P],
        min_p=state.settings[MIN_P],
        shaping=shaping,
    )


def _numbers(state: State, plan: StackPlan, level: int, at: Tensor, used: Tensor, n: int) -> Tensor:
    """Return the random numbers ``[n]`` for a level's own tokens after a text of ``at`` tokens."""
    places = torch.arange(n, device=at.device)
    if level == plan.top:
        return state.placed[(at + places).clamp(max=len(state.placed) - 1)]
    return state.fresh[(used + places).clamp(max=len(state.fresh) - 1)]


def judge_points(
    state: State, plan: StackPlan, level: int, scores: Tensor, tokens: Tensor, n: Tensor, at: Tensor
) -> Decision:
    """Decide about a tree of point masses, as :func:`hsd_viz.decoding.verify.walk` does."""
    m = len(tokens)
    places = torch.arange(m, device=tokens.device)
    parents = state.parents[:m] if plan.is_tree(level) else places - 1
    lineage = rules.lineage_of(parents) if m else torch.ones((0, 0), dtype=torch.bool)
    depths = lineage.sum(1)
    used = torch.zeros_like(at)
    if plan.shaping.greedy:
        p = scores
        own_tokens = scores.argmax(-1)
    else:
        p = shaped(state, scores, plan.shaping)
        r = _numbers(state, plan, level, at, state.marks[USED], m + 1)
        row_depths = torch.cat([depths.new_zeros(1), depths])
        own_tokens = draw(p, r[row_depths])
        if level < plan.top:
            used = torch.ones_like(at)
            if m:
                used = 1 + torch.where(places < n, depths, 0).amax()
    if not m:
        return _without_draft(p, own_tokens[0], used)
    walked = rules.walk_tree(tokens, parents, n, lineage, own_tokens)
    rank = walked.accepted.cumsum(0)
    is_next = walked.accepted[None, :] & (rank[None, :] == places[:, None] + 1)
    node = (is_next * places[None, :]).sum(1)
    nodes = torch.where(places < walked.count, node, places)
    path = torch.cat([nodes.new_zeros(1), nodes + 1])
    chances = walked.accepted.double()
    if not plan.shaping.greedy:
        chances = p[parents + 1].gather(1, tokens[:, None])[:, 0].double()
    columns = torch.stack(
        [walked.accepted.double(), walked.compared.double(), chances, torch.zeros_like(chances)]
    )
    # The residual is p without the rejected draft tokens.
    missed = walked.compared & ~walked.accepted & (parents + 1 == walked.row)
    weights = row_of(p, walked.row)
    token = row_of(own_tokens, walked.row)
    mass = torch.zeros((), dtype=torch.float64, device=p.device)
    if plan.details and level == plan.top and not plan.shaping.greedy:
        spared = torch.where(missed, tokens, token)
        own_weight = torch.where(missed, 0, row_of(weights, token))
        weights = weights.index_copy(0, spared, own_weight)
        mass = torch.where(missed.any(), total(weights), 0)
    return Decision(
        count=walked.count,
        token=token,
        row=walked.row,
        nodes=nodes,
        columns=columns,
        mass=mass,
        weights=weights,
        path_rows=p if plan.shaping.greedy else p[path],
        used=used,
    )


def _without_draft(p: Tensor, token: Tensor, used: Tensor) -> Decision:
    """Return the decision without a draft, which is the level's own token."""
    zero = token.new_zeros(())
    return Decision(
        count=zero,
        token=token,
        row=zero,
        nodes=token.new_zeros((0,)),
        columns=torch.zeros((4, 0), dtype=torch.float64, device=token.device),
        mass=torch.zeros((), dtype=torch.float64, device=token.device),
        weights=p[0],
        path_rows=p,
        used=used,
    )


def judge_chain(
    state: State, plan: StackPlan, level: int, scores: Tensor, tokens: Tensor, n: Tensor, at: Tensor
) -> Decision:
    """Decide about a chain that was sampled from rows, by the rule of the plan."""
    m = len(tokens)
    used = state.marks[USED]
    p = shaped(state, scores, plan.shaping)
    q = state.rows[level - 1][:m]
    places = torch.arange(m, device=tokens.device)
    u = state.fresh[(used + places).clamp(max=len(state.fresh) - 1)]
    verdict = rules.judge_chain(plan.rule, tokens, n, p, q, u)
    r = _numbers(state, plan, level, at, used + n, m + 1)
    accepted = verdict.accepted
    token = draw(verdict.weights[None], row_of(r, accepted)[None])[0]
    columns = torch.stack([verdict.p, verdict.q, u, verdict.h])
    own = torch.zeros_like(n) if level == plan.top else n + 1
    return Decision(
        count=accepted,
        token=token,
        row=accepted,
        nodes=places,
        columns=columns,
        mass=verdict.mass,
        weights=verdict.weights,
        path_rows=p,
        used=n + own,
    )
