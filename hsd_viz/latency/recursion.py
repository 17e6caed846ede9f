"""The vectorised law's steps: what a call of a level returns, and what a round of the level above makes of it.

Arrays may have leading axes: alternatives (lookaheads, acceptances) that are evaluated together. Levels are rows in the
order of the stack, 0 at the bottom; a database has a row, too.

The number of tokens that each forward pass feeds is followed exactly. The *backlog* of a level is the number of tokens
of the text that are not in its cache at its next forward pass (at least 1, the newest). After a call, a level has fed
all of its tokens but the last. When the level above accepts k of n tokens and adds one of its own, the levels below
drop the rejected ones, so a backlog of d becomes max(1, d + 1 - (n - k)): full acceptance adds one, a rejection removes
some. Within a call the later rounds of a level start with a backlog of 1; only the first depends on what happened
above. So the first forward pass of a call is kept open (``first``, by backlog) until the level above closes it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.inputs import LevelCost, LookupCost, Tier

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class CallDistribution:
    """One call of a level by the level above: its tokens and the expected cost. Its own row is the last.

    ``sizes`` ``[..., N]``: P(n tokens are returned). ``backlog`` ``[..., L, D, N]``: P(n tokens, and level l has a
    backlog of d + 1 behind the last of them). ``time`` ``[..., L]``: expected ms by level without each level's first
    forward pass; ``first`` ``[..., L, reach]``: the cost of that pass at a backlog of d + 1. ``forwards`` ``[..., L]``:
    expected forward passes.
    """

    sizes: Array
    backlog: Array
    time: Array
    first: Array
    forwards: Array

    def flatten(self, axes: int) -> CallDistribution:
        """Merge the first ``axes`` axes of alternatives into one."""
        return CallDistribution(*(a.reshape(-1, *a.shape[axes:]) for a in _arrays(self)))


@dataclass(frozen=True, slots=True)
class RoundDistribution:
    """One round of a level. Its own row is the last of ``first`` and ``forwards``; the others have only the rows below.

    ``gains`` ``[..., R]``: P(r tokens are gained), the level's own token included. ``backlog`` ``[..., L - 1, D, R]``:
    jointly with the backlog of each row below after the verification. ``time`` ``[..., L - 1]``: ms without first
    forward passes.
    """

    gains: Array
    backlog: Array
    time: Array
    first: Array
    forwards: Array

    def mean(self) -> Array:
        """Return E[R], tokens per round."""
        return self.gains @ np.arange(self.gains.shape[-1])

    def per_token(self) -> Array:
        """Return ms per token by level, ``[..., L]``, where these rounds follow one another: at the target."""
        below = self.time + _close(self.backlog.sum(-1), self.first[..., :-1, :])
        own = np.broadcast_to(self.first[..., -1:, 0], (*below.shape[:-1], 1))
        return np.concatenate([below, own], -1) / self.mean()[..., None]

    def index(self, index: NDArray[np.intp] | tuple) -> RoundDistribution:
        """Index the leading axes: select alternatives, or add an axis."""
        return RoundDistribution(*(a[index] for a in _arrays(self)))


def no_draft(reach: int) -> CallDistribution:
    """Return what a level without a drafter verifies: an empty draft at no cost."""
    return CallDistribution(np.ones(1), np.zeros((0, 1, 1)), np.zeros(0), np.zeros((0, reach)), np.zeros(0))


def drafting(lookaheads: NDArray[np.intp] | int, cost: LevelCost, reach: int) -> CallDistribution:
    """Return a call of a model that drafts ``lookaheads`` tokens alone, one forward pass each; the first catches up."""
    n = np.asarray(lookaheads)
    sizes = (n[..., None] == np.arange(int(n.max()) + 1)).astype(float)
    steps = cost.drafting(reach)
    first = np.broadcast_to(steps[1:] + cost.draft_overhead, (*n.shape, 1, reach))
    n = n[..., None].astype(float)
    return CallDistribution(sizes, sizes[..., None, None, :], (n - 1) * steps[1], first, n)


def verify(call: CallDistribution, survival: Array, cost: LevelCost, reach: int) -> RoundDistribution:
    """Return a round of the level above ``call``: one forward pass over its backlog and the draft; accept a prefix, add
    one token.

    ``survival`` ``[..., N]`` is S(0), S(1), ... . With T(k) = P(n >= k) the probability that at least k tokens are
    accepted is S(k) T(k). ``reach`` is the largest backlog that is followed; with 1 all of them are one token, which is
    exact for flat costs.
    """
    width = call.sizes.shape[-1]
    survival = survival[..., :width]
    at_least = survival * call.sizes[..., ::-1].cumsum(-1)[..., ::-1]
    lead = at_least.shape[:-1]
    gains = np.zeros((*lead, width + 1))
    gains[..., 1:width] = at_least[..., :-1] - at_least[..., 1:]
    gains[..., width] = at_least[..., -1]

    rows, deep = call.backlog.shape[-3:-1]
    deeper = min(deep + 1, reach)
    backlog = np.zeros((*lead, rows, deeper, width + 1))
    for rejected in range(min(deep, width) if deeper > 1 else 0):
        chance = survival[..., : width - rejected]
        if rejected:
            chance = chance - survival[..., 1 : width - rejected + 1]
        # n tokens of which n - rejected are accepted: d + 1 becomes d + 2 - rejected, and n - rejected + 1 tokens are
        # gained.
        part = call.backlog[..., rejected : rejected + deeper - 1, rejected:] * chance[..., None, None, :]
        backlog[..., 1 : 1 + part.shape[-2], 1 : width + 1 - rejected] += part
    backlog[..., 0, :] = gains[..., None, :] - backlog[..., 1:, :].sum(-2)

    table = cost.verifying(width - 1 + reach)
    fed = np.add.outer(np.arange(width), np.arange(1, reach + 1))
    own = call.sizes @ table[fed] + cost.overhead
    first = _append(call.first, own[..., None, :], lead, 2)
    forwards = _append(call.forwards, np.ones(1), lead, 1)
    return RoundDistribution(gains, backlog, np.broadcast_to(call.time, (*lead, rows)), first, forwards)


def verify_lookup(tier: Tier, lookup: LookupCost, cost: LevelCost, reach: int) -> RoundDistribution:
    """Return a round above a database: one look-up, one forward pass over backlog and draft (which may be empty)."""
    drafted = tier.drafted()
    gains = np.concatenate([[0.0], tier.accepted()])
    table = cost.verifying(len(drafted) - 1 + reach)
    own = drafted @ table[np.add.outer(np.arange(len(drafted)), np.arange(1, reach + 1))] + cost.overhead
    # A database has no cache, so any backlog will do for its row.
    first = np.stack([np.full(reach, lookup.lookup), own])
    return RoundDistribution(gains, gains[None, None, :], np.zeros(1), first, np.ones(2))


def repeat_rounds(this: RoundDistribution, most: int, *, every: bool = False) -> CallDistribution:
    """Return a call of a level: rounds until it has at least ``most`` tokens, overshoot kept.

    With r = ``gains`` the probability that a partial sum equals s is v(s) = sum_k r(k) v(s - k), v(0) = 1, and the last
    round starts below the lookahead g: P(N = n) = sum_{s < g} v(s) r(n - s), n >= g; rounds per call = sum_{s < g}
    v(s). With ``every`` a new axis behind the leading ones has all lookaheads 1, ..., ``most``.
    """
    lead, width = this.gains.shape[:-1], this.gains.shape[-1]
    visits = np.zeros((*lead, most))
    visits[..., 0] = 1.0
    for s in range(1, most):
        k = min(s, width - 1)
        visits[..., s] = (this.gains[..., 1 : k + 1] * visits[..., s - k : s][..., ::-1]).sum(-1)

    rows, deep = this.backlog.shape[-3:-1]
    sums = np.zeros((*lead, rows, deep, most + width - 1))
    each = []
    for s in range(most):
        sums[..., s : s + width] += visits[..., s, None, None, None] * this.backlog
        if every:
            each.append(sums.copy())
    last = np.stack(each, len(lead)) if every else sums
    wanted = np.arange(1, most + 1) if every else np.array(most)
    last *= np.arange(most + width - 1) >= wanted[..., None, None, None]

    rounds = visits.cumsum(-1) if every else visits.sum(-1)
    if every:
        this = this.index((slice(None),) * len(lead) + (None,))
        lead = (*lead, most)
    # All rounds of a call except the last: after those another round follows within the same call.
    between = rounds[..., None, None] * this.backlog.sum(-1) - last.sum(-1)
    below = rounds[..., None] * this.time + _close(between, this.first[..., :-1, :])
    time = np.concatenate([below, (rounds[..., None] - 1) * this.first[..., -1:, 0]], -1)

    sizes = last[..., 0, :, :].sum(-2)
    backlog = np.zeros((*lead, rows + 1, deep, sizes.shape[-1]))
    backlog[..., :rows, :, :] = last
    backlog[..., rows, 0, :] = sizes
    first = np.broadcast_to(this.first, (*lead, *this.first.shape[-2:]))
    return CallDistribution(sizes, backlog, time, first, rounds[..., None] * this.forwards)


def _arrays(distribution: CallDistribution | RoundDistribution) -> list[Array]:
    return [getattr(distribution, field.name) for field in fields(distribution)]


def _close(backlog: Array, first: Array) -> Array:
    """Return the expected cost of first forward passes: ``[..., rows, D]`` by d + 1 with ``[..., rows, reach]``."""
    return (backlog * first[..., : backlog.shape[-1]]).sum(-1)


def _append(below: Array, own: Array, lead: tuple[int, ...], axes: int) -> Array:
    """Append the row ``own`` to ``below`` along axis -``axes``, both spread over the alternatives ``lead``."""
    spread = lambda array: np.broadcast_to(array, (*lead, *array.shape[array.ndim - axes :]))
    return np.concatenate([spread(below), spread(own)], -axes)
