"""The steps that change the state of a decode in device memory
(:mod:`hsd_viz.torch_models.layout`).

A step is a forward pass of a level and the processing of its logits: it draws tokens or verifies a
draft, and updates the text and the numbers of cached tokens. It reads and writes only device
memory, so that steps follow each other without the host: a draft of k tokens is k steps, and the
next level verifies them in place. All steps of a decode write to the same text; tokens beyond its
end are meaningless. A step that is not due, because a draft is long enough or the text has ended,
changes nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd_viz.torch_models.layout import (
    END,
    LIMIT,
    LINE,
    PROMPT,
    USED,
    StackPlan,
    State,
    base_mark,
    cached_mark,
)
from hsd_viz.torch_models.rejection_sampling import (
    Decision,
    computed,
    judge_chain,
    judge_points,
    shaped,
)
from hsd_viz.torch_models.rules import row_of
from hsd_viz.torch_models.sampling import draw
from hsd_viz.torch_models.write_verdicts import write_line


def _ends(state: State, token: Tensor) -> Tensor:
    """Return whether tokens end a text."""
    return (token[..., None] == state.eos).any(-1)


def _is_due(state: State, plan: StackPlan, level: int, at: Tensor) -> Tensor:
    """Return whether all levels above request a round of ``level`` at ``at`` text tokens."""
    marks = state.marks
    due = torch.ones_like(at, dtype=torch.bool)
    for above in range(level, plan.top):
        due = due & _wants_more(state, plan, above, at)
        # The draft is part of a round of the next level, which began at the start of the draft.
        at = marks[base_mark(plan, above)]
    ended = (at > marks[PROMPT]) & _ends(state, row_of(state.text, at - 1))
    return due & (at < marks[LIMIT]) & ~ended


def _wants_more(state: State, plan: StackPlan, level: int, at: Tensor) -> Tensor:
    """Return whether the draft of ``level``, which ends at ``at``, needs more tokens."""
    base = state.marks[base_mark(plan, level)]
    ended = (at > base) & _ends(state, row_of(state.text, at - 1))
    return (at - base < _wanted(state, plan, level)) & ~ended


def _wanted(state: State, plan: StackPlan, level: int) -> Tensor:
    """Return the least number of tokens in a proposal of a level, lower close to the limit."""
    room = state.marks[LIMIT] - (plan.top - level) - state.marks[base_mark(plan, level)]
    return room.clamp(max=plan.lookaheads[level])


def _changed(marks: Tensor, changes: dict[int, Tensor]) -> Tensor:
    """Return ``marks`` with new values at some indices."""
    values = list(marks.unbind())
    for place, value in changes.items():
        values[place] = value
    return torch.stack(values)


def draft_step(state: State, scores: Tensor, plan: StackPlan, opens: int) -> None:
    """Draft the next token of level 0.

    Args:
        state: the state of the decode.
        scores: the logits ``[n, V]`` of a forward pass from the first uncached token on.
        plan: the shape of the stack.
        opens: the number of lowest levels whose drafts begin with this token.
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
    row = computed(row_of(scores, end - 1 - cached))[None]
    if plan.shaping.greedy:
        token = row.argmax(-1)
    else:
        p = shaped(state, row, plan.shaping)
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


def _opened(state: State, plan: StackPlan, opens: int) -> Tensor:
    """Return ``marks`` with the drafts of the ``opens`` lowest levels starting at the end of the
    text.
    """
    end = state.marks[END]
    return _changed(state.marks, {base_mark(plan, level): end for level in range(opens)})


def verify_step(
    state: State, scores: Tensor, plan: StackPlan, level: int, places: int, opens: int
) -> None:
    """Verify the draft for a level.

    Args:
        state: the state of the decode.
        scores: the logits ``[n, V]`` of a forward pass from the level's first uncached token on.
        plan: the shape of the stack.
        level: the level that verifies.
        places: the largest number of draft tokens.
        opens: the number of lowest levels whose drafts begin here, empty.
    """
    marks = state.marks
    if opens:
        marks.copy_(_opened(state, plan, opens))
    end = marks[END]
    at = marks[base_mark(plan, level - 1)] if level else end
    n = end - at
    first = at - 1 - marks[cached_mark(level)]
    numbered = torch.arange(places + 1, device=scores.device)
    rows = computed(scores[(first + numbered).clamp(0, len(scores) - 1)])
    tokens = state.text[at + numbered[:places]]
    due = _is_due(state, plan, level, at)
    if plan.by_points(level):
        decision = judge_points(state, plan, level, rows, tokens, n, at)
    else:
        decision = judge_chain(state, plan, level, rows, tokens, n, at)
    write_line(state, plan, level, rows, tokens, n, at, due, decision)
    _commit(state, plan, level, tokens, at, due, decision)


def _commit(
    state: State,
    plan: StackPlan,
    level: int,
    tokens: Tensor,
    at: Tensor,
    due: Tensor,
    decision: Decision,
) -> None:
    """Write the accepted tokens, up to an end token, and the level's own token to the text."""
    m = len(tokens)
    marks = state.marks
    places = torch.arange(m + 1, device=at.device)
    path = tokens[decision.nodes]
    ending = _ends(state, path) & (places[:m] < decision.count)
    stopped = ending.any()
    first_end = torch.where(ending, places[:m] + 1, m + 1)
    count = decision.count if not m else torch.minimum(decision.count, first_end.amin())
    emitted = torch.where(due, count + ~stopped, 0)
    written = torch.where(places == count, decision.token, torch.cat([path, decision.token[None]]))
    state.text.index_copy_(0, at + places, written)
    if plan.is_tree(level):
        numbered = torch.arange(len(state.path), device=at.device)
        moved = torch.cat([decision.nodes, numbered[m:]])
        state.path.copy_(torch.where(numbered < count, moved, numbered))
    if level < plan.top and not plan.shaping.greedy:
        held = at - marks[base_mark(plan, level)]
        most = len(state.rows[level]) - 1
        state.rows[level].index_copy_(0, (held + places).clamp(0, most), decision.path_rows)
    changes = {END: at + emitted, LINE: marks[LINE] + 1}
    if level == plan.top:
        changes[LINE] = torch.zeros_like(at)
    if not plan.shaping.greedy:
        changes[USED] = marks[USED] + torch.where(due, decision.used, 0)
    for below in range(1 if plan.drafter else 0, level):
        kept = torch.minimum(marks[cached_mark(below)], at + count)
        changes[cached_mark(below)] = torch.where(due, kept, marks[cached_mark(below)])
    cached = marks[cached_mark(level)]
    changes[cached_mark(level)] = torch.where(due, at + count, cached)
    marks.copy_(_changed(marks, changes))
