"""The steps that change the state of a decode in device memory
(:mod:`hsd_viz.torch_models.layout`).

A step is a forward pass of one level and what follows from its logits: tokens are drawn, drafts
verified, the text and the numbers of cached tokens updated. It reads and writes device memory only,
so that steps follow one another without the host: a draft of k tokens is k steps, and the next
level verifies them where they are. All steps of a decode write the same text; what is behind its
end has no meaning. A step that is not due, because a draft is long enough or the text has ended,
changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hsd_viz.torch_models import rules
from hsd_viz.torch_models.layout import (
    END,
    LIMIT,
    LINE,
    MIN_P,
    PROMPT,
    TEMPERATURE,
    TOP_K,
    TOP_P,
    USED,
    WARM,
    Plan,
    State,
    base_mark,
    cached_mark,
)
from hsd_viz.torch_models.rules import row_of
from hsd_viz.torch_models.sampling import Shaping, describe, distribution, draw, likeliest, total

#: Numbers of a line of the report before those of each place.
HEADS = 8


def _ends(state: State, token: Tensor) -> Tensor:
    """Return whether tokens end a text."""
    return (token[..., None] == state.eos).any(-1)


def _is_due(state: State, plan: Plan, level: int, at: Tensor) -> Tensor:
    """Return whether a round of ``level`` that starts with a text of ``at`` tokens is asked for
    by all levels.
    """
    marks = state.marks
    due = torch.ones_like(at, dtype=torch.bool)
    for above in range(level, plan.top):
        due = due & _wants_more(state, plan, above, at)
        # This draft is part of a round of the next level, which began where the draft did.
        at = marks[base_mark(plan, above)]
    ended = (at > marks[PROMPT]) & _ends(state, row_of(state.text, at - 1))
    return due & (at < marks[LIMIT]) & ~ended


def _wants_more(state: State, plan: Plan, level: int, at: Tensor) -> Tensor:
    """Return whether the draft of ``level``, which ends at ``at``, is to become longer."""
    base = state.marks[base_mark(plan, level)]
    ended = (at > base) & _ends(state, row_of(state.text, at - 1))
    return (at - base < _wanted(state, plan, level)) & ~ended


def _wanted(state: State, plan: Plan, level: int) -> Tensor:
    """Return the tokens that a level proposes at least, fewer close to the limit."""
    room = state.marks[LIMIT] - (plan.top - level) - state.marks[base_mark(plan, level)]
    return room.clamp(max=plan.lookaheads[level])


def _changed(marks: Tensor, changes: dict[int, Tensor]) -> Tensor:
    """Return ``marks`` with other values at some places."""
    values = list(marks.unbind())
    for place, value in changes.items():
        values[place] = value
    return torch.stack(values)


def _computed(scores: Tensor) -> Tensor:
    """Return logits in the type in which probabilities are computed."""
    return scores if scores.dtype == torch.float64 else scores.float()


def _shaped(state: State, scores: Tensor, shaping: Shaping) -> Tensor:
    """Return the probabilities of rows of logits."""
    return distribution(
        scores,
        temperature=state.settings[TEMPERATURE],
        top_k=state.marks[TOP_K],
        top_p=state.settings[TOP_P],
        min_p=state.settings[MIN_P],
        shaping=shaping,
    )


def draft_step(state: State, scores: Tensor, plan: Plan, opens: int) -> None:
    """Draft one token by level 0, from the logits ``[n, V]`` of a pass from its first uncached
    token on.

    ``opens``: the drafts of so many of the lowest levels begin with this token.
    """
    marks = state.marks
    if opens:
        marks.copy_(_opened(state, plan, opens))
    end = marks[END]
    used = marks[USED]
    base = marks[base_mark(plan, 0)]
    cached = marks[cached_mark(0)]
    held = end - base
    wanted = _wanted(state, plan, 0)
    due = _is_due(state, plan, 1, base)
    row = _computed(row_of(scores, end - 1 - cached))[None]
    if plan.shaping.greedy:
        token = row.argmax(-1)
    else:
        p = _shaped(state, row, plan.shaping)
        place = held.clamp(0, len(state.rows[0]) - 1)
        state.rows[0].index_copy_(0, place[None], p)
        if opens:
            used = used + torch.where(due, wanted.clamp(min=0), 0)
        number = row_of(state.fresh, used - wanted + held)
        token = draw(p, number[None])
    active = due & _wants_more(state, plan, 0, end)
    state.text.index_copy_(0, end[None], token)
    changes = {
        END: end + active,
        USED: used,
        cached_mark(0): torch.where(active, end, cached),
    }
    marks.copy_(_changed(marks, changes))


def _opened(state: State, plan: Plan, opens: int) -> Tensor:
    """Return ``marks`` with the drafts of so many of the lowest levels started at the end of the
    text.
    """
    end = state.marks[END]
    return _changed(state.marks, {base_mark(plan, level): end for level in range(opens)})


@dataclass(slots=True)
class Decision:
    """What a verification decides, in places of a draft of at most m tokens.

    Attributes:
        count: the number of accepted tokens, ``[]``.
        token: the verifier's own token, ``[]``.
        row: the row that it is drawn from, ``[]``.
        nodes: the accepted nodes in order, ``[m]``, then the other places' own numbers.
        columns: ``[4, m]``: of point masses whether accepted, whether compared, p; of a chain p, q,
            u, h.
        mass: the sum of what a correction was drawn from, ``[]``.
        weights: what the token was drawn from ``[V]``; not used where no details are reported.
        path_rows: the rows of the accepted tokens and of ``token`` ``[m + 1, V]``; not used for
            greedy decoding.
        used: how many numbers that never repeat were used, ``[]``.
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


def verify_step(
    state: State, scores: Tensor, plan: Plan, level: int, places: int, opens: int
) -> None:
    """Verify the draft for ``level`` by the logits ``[n, V]`` of a pass that started at its first
    uncached token.

    The draft has up to ``places`` tokens. ``opens``: the drafts of so many of the lowest levels
    begin here, empty.
    """
    marks = state.marks
    if opens:
        marks.copy_(_opened(state, plan, opens))
    end = marks[END]
    at = marks[base_mark(plan, level - 1)] if level else end
    n = end - at
    first = at - 1 - marks[cached_mark(level)]
    numbered = torch.arange(places + 1, device=scores.device)
    rows = _computed(scores[(first + numbered).clamp(0, len(scores) - 1)])
    tokens = state.text[at + numbered[:places]]
    due = _is_due(state, plan, level, at)
    if plan.by_points(level):
        made = _judge_points(state, plan, level, rows, tokens, n, at)
    else:
        made = _judge_chain(state, plan, level, rows, tokens, n, at)
    _report(state, plan, level, rows, tokens, n, at, due, made)
    _commit(state, plan, level, tokens, at, due, made)


def _numbers(state: State, plan: Plan, level: int, at: Tensor, used: Tensor, n: int) -> Tensor:
    """Return the numbers ``[n]`` of a level's own tokens after a text of ``at`` tokens."""
    places = torch.arange(n, device=at.device)
    if level == plan.top:
        return state.placed[(at + places).clamp(max=len(state.placed) - 1)]
    return state.fresh[(used + places).clamp(max=len(state.fresh) - 1)]


def _judge_points(
    state: State, plan: Plan, level: int, scores: Tensor, tokens: Tensor, n: Tensor, at: Tensor
) -> Decision:
    """Decide on a tree of point masses, as :func:`hsd_viz.decoding.verify.walk` does."""
    m = len(tokens)
    places = torch.arange(m, device=tokens.device)
    parents = state.parents[:m] if plan.is_tree(level) else places - 1
    lineage = rules.lineage_of(parents) if m else torch.ones((0, 0), dtype=torch.bool)
    depths = lineage.sum(1)
    used = torch.zeros_like(at)
    if plan.shaping.greedy:
        p = scores
        own = scores.argmax(-1)
    else:
        p = _shaped(state, scores, plan.shaping)
        r = _numbers(state, plan, level, at, state.marks[USED], m + 1)
        row_depths = torch.cat([depths.new_zeros(1), depths])
        own = draw(p, r[row_depths])
        if level < plan.top:
            used = torch.ones_like(at)
            if m:
                used = 1 + torch.where(places < n, depths, 0).amax()
    if not m:
        nothing = own.new_zeros((0,))
        columns = torch.zeros((4, 0), dtype=torch.float64, device=own.device)
        zero = own.new_zeros(())
        mass = torch.zeros((), dtype=torch.float64, device=own.device)
        return Decision(zero, own[0], zero, nothing, columns, mass, p[0], p, used)
    walked = rules.walk_tree(tokens, parents, n, lineage, own)
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
    # Without the drafted tokens: none of them was the verifier's own.
    missed = walked.compared & ~walked.accepted & (parents + 1 == walked.row)
    weights = row_of(p, walked.row)
    token = row_of(own, walked.row)
    mass = torch.zeros((), dtype=torch.float64, device=p.device)
    if plan.details and level == plan.top and not plan.shaping.greedy:
        spared = torch.where(missed, tokens, token)
        kept = torch.where(missed, 0, row_of(weights, token))
        weights = weights.index_copy(0, spared, kept)
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


def _judge_chain(
    state: State, plan: Plan, level: int, scores: Tensor, tokens: Tensor, n: Tensor, at: Tensor
) -> Decision:
    """Decide on a chain that was sampled from rows, by the rule of the plan."""
    m = len(tokens)
    used = state.marks[USED]
    p = _shaped(state, scores, plan.shaping)
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


def _commit(
    state: State, plan: Plan, level: int, tokens: Tensor, at: Tensor, due: Tensor, made: Decision
) -> None:
    """Write the accepted tokens and the level's own into the text; an accepted end token is the
    last one.
    """
    m = len(tokens)
    marks = state.marks
    places = torch.arange(m + 1, device=at.device)
    path = tokens[made.nodes]
    ending = _ends(state, path) & (places[:m] < made.count)
    stopped = ending.any()
    first_end = torch.where(ending, places[:m] + 1, m + 1)
    count = made.count if not m else torch.minimum(made.count, first_end.amin())
    emitted = torch.where(due, count + ~stopped, 0)
    written = torch.where(places == count, made.token, torch.cat([path, made.token[None]]))
    state.text.index_copy_(0, at + places, written)
    if plan.is_tree(level):
        numbered = torch.arange(len(state.path), device=at.device)
        moved = torch.cat([made.nodes, numbered[m:]])
        state.path.copy_(torch.where(numbered < count, moved, numbered))
    if level < plan.top and not plan.shaping.greedy:
        held = at - marks[base_mark(plan, level)]
        most = len(state.rows[level]) - 1
        state.rows[level].index_copy_(0, (held + places).clamp(0, most), made.path_rows)
    changes = {END: at + emitted, LINE: marks[LINE] + 1}
    if level == plan.top:
        changes[LINE] = torch.zeros_like(at)
    if not plan.shaping.greedy:
        changes[USED] = marks[USED] + torch.where(due, made.used, 0)
    for below in range(1 if plan.drafter else 0, level):
        kept = torch.minimum(marks[cached_mark(below)], at + count)
        changes[cached_mark(below)] = torch.where(due, kept, marks[cached_mark(below)])
    cached = marks[cached_mark(level)]
    changes[cached_mark(level)] = torch.where(due, at + count, cached)
    marks.copy_(_changed(marks, changes))


def report_size(plan: Plan, level: int) -> int:
    """Return how many numbers a verification by this level reports at most."""
    m = plan.places(level)
    size = HEADS + 6 * m
    if level == plan.top and plan.details:
        size += (m + 1) * (2 + 2 * plan.details) + 4 * plan.details
    if level == plan.top and plan.observe:
        size += (m + 1) * 2 * plan.observe
    return size


def _report(
    state: State,
    plan: Plan,
    level: int,
    scores: Tensor,
    tokens: Tensor,
    n: Tensor,
    at: Tensor,
    due: Tensor,
    made: Decision,
) -> None:
    """Write a line of the report: what :func:`hsd_viz.torch_models.report.read_line` reads."""
    marks = state.marks
    used = marks[USED] + torch.where(due, made.used, 0)
    heads = [due, at, n, made.count, made.token, made.row, made.mass, used]
    parts = [torch.stack([head.double() for head in heads])]
    parts += [tokens.double(), made.nodes.double(), made.columns.flatten()]
    is_top = level == plan.top
    if is_top and plan.details:
        rows = torch.cat([made.nodes.new_zeros(1), made.nodes + 1])
        places = torch.arange(len(rows), device=rows.device)
        emitted = torch.cat([tokens[made.nodes], made.token[None]])
        emitted = torch.where(places == made.count, made.token, emitted)
        parts.append(describe(scores[rows], emitted, plan.details).flatten())
        parts += _top_of(made.weights, plan.details)
        if plan.by_points(level):
            parts.append(torch.zeros_like(parts[-1]))
            parts.append(torch.zeros_like(parts[-1]))
        else:
            q = state.rows[level - 1]
            parts += _top_of(row_of(q, made.row), plan.details)
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
