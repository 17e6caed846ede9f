"""The law's recursion: from what a level is handed to what one of its rounds does, and to what it hands up.

Every array may have leading axes: alternatives (lookaheads, acceptances) that are worked out together. Levels are rows in the
order of the stack, 0 at the bottom; a database has a row, too.

Which tokens a level still has to feed is followed exactly. Call a level's *backlog* the tokens of the text that are not in its
cache when its next forward comes (at least 1, the newest). Whoever has just handed tokens up has fed all of them but the
last. When the level above accepts k of n tokens and adds one of its own, everybody below forgets what was rejected, so a
backlog of d becomes max(1, d + 1 - (n - k)): full acceptance adds one, a rejection takes some away. Within a call a level's
later rounds start from a backlog of 1; only its first depends on what happened above. So each level's first forward of a call
is left open (``first``, by backlog) until the level above closes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.acceptance import Tier
from hsd_viz.latency.costs import LevelCost, LookupCost

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a level by the one above: what it hands up, and what that takes. Its own row is the last.

    ``sizes`` ``[..., N]``: P(n tokens are handed up). ``backlog`` ``[..., L, D, N]``: P(n tokens, and level l has a backlog of
    d + 1 behind the last of them). ``time`` ``[..., L]``: expected ms by level, each level's first forward left out;
    ``first`` ``[..., L, reach]``: what that costs where it meets a backlog of d + 1. ``forwards`` ``[..., L]``: their expected
    number.
    """

    sizes: Array
    backlog: Array
    time: Array
    first: Array
    forwards: Array

    def take(self, index: NDArray[np.intp]) -> Call:
        """The alternatives ``index`` of the first axis."""
        return Call(self.sizes[index], self.backlog[index], self.time[index], self.first[index], self.forwards[index])


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a level. Its own row is the last of ``first`` and ``forwards``; the others have the rows below alone.

    ``gains`` ``[..., R]``: P(r tokens are kept), the level's own token included. ``backlog`` ``[..., L - 1, D, R]``: jointly with
    the backlog of each row below after the verification. ``time`` ``[..., L - 1]``: ms, first forwards left out.
    """

    gains: Array
    backlog: Array
    time: Array
    first: Array
    forwards: Array

    def mean(self) -> Array:
        """E[R], tokens per round."""
        return self.gains @ np.arange(self.gains.shape[-1])

    def per_token(self) -> Array:
        """ms per token by level, ``[..., L]``, where these rounds follow one another for ever: at the target."""
        below = self.time + _closed(self.backlog.sum(-1), self.first[..., :-1, :])
        own = np.broadcast_to(self.first[..., -1:, 0], (*below.shape[:-1], 1))
        return np.concatenate([below, own], -1) / self.mean()[..., None]

    def take(self, index: NDArray[np.intp]) -> Round:
        """The alternatives ``index`` of the first axis."""
        return Round(self.gains[index], self.backlog[index], self.time[index], self.first[index], self.forwards[index])


def nothing(reach: int) -> Call:
    """What stands beneath a level that has no drafter: an empty draft at no cost."""
    return Call(np.ones(1), np.zeros((0, 1, 1)), np.zeros(0), np.zeros((0, reach)), np.zeros(0))


def drafting(lookaheads: Array | int, cost: LevelCost, reach: int) -> Call:
    """A model that drafts on its own: exactly ``lookaheads`` tokens, one forward each, the first of which catches up."""
    n = np.asarray(lookaheads)
    sizes = (n[..., None] == np.arange(int(n.max()) + 1)).astype(float)
    steps = cost.drafting(reach)
    first = np.broadcast_to(steps[1:] + cost.draft_overhead, (*n.shape, 1, reach))
    return Call(sizes, sizes[..., None, None, :], (n[..., None] - 1) * steps[1], first, n[..., None].astype(float))


def verify(call: Call, survival: Array, cost: LevelCost, reach: int) -> Round:
    """A round of the level above ``call``: one forward over its backlog and the draft; accept a prefix, add one token.

    ``survival`` ``[..., N]`` is S(0), S(1), ... . With T(k) = P(n >= k) the chance that at least k tokens are accepted is S(k) T(k).
    ``reach`` is the largest backlog that is followed; 1 leaves all of them at one token, which is exact for flat costs.
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
        chance = (
            survival if rejected == 0 else survival[..., : width - rejected] - survival[..., 1 : width - rejected + 1]
        )
        # n tokens of which n - rejected are accepted: d + 1 becomes d + 2 - rejected, and n - rejected + 1 tokens are kept.
        part = call.backlog[..., rejected : rejected + deeper - 1, rejected:] * chance[..., None, None, :]
        backlog[..., 1 : 1 + part.shape[-2], 1 : width + 1 - rejected] += part
    backlog[..., 0, :] = gains[..., None, :] - backlog[..., 1:, :].sum(-2)

    table = cost.verifying(width - 1 + reach)
    fed = np.add.outer(np.arange(width), np.arange(1, reach + 1))
    own = call.sizes @ table[fed] + cost.overhead
    first = _stack(call.first, own[..., None, :], lead, 2)
    forwards = _stack(call.forwards, np.ones(1), lead, 1)
    return Round(gains, backlog, np.broadcast_to(call.time, (*lead, rows)), first, forwards)


def verify_lookup(tier: Tier, lookup: LookupCost, cost: LevelCost, reach: int) -> Round:
    """A round of a level above a database: one look-up, one forward over backlog and draft (which may be empty)."""
    drafted = tier.drafted()
    gains = np.concatenate([[0.0], tier.accepted()])
    table = cost.verifying(len(drafted) - 1 + reach)
    own = drafted @ table[np.add.outer(np.arange(len(drafted)), np.arange(1, reach + 1))] + cost.overhead
    # A database has no cache, so its row's backlog is of no interest: any will do.
    first = np.stack([np.full(reach, lookup.lookup), own])
    return Round(gains, gains[None, None, :], np.zeros(1), first, np.ones(2))


def hand_up(this: Round, most: int, *, every: bool = False) -> Call:
    """A call of a level: rounds until it holds at least ``most`` tokens, overshoot kept.

    With r = ``gains`` the chance that a partial sum stands at s is v(s) = sum_k r(k) v(s - k), v(0) = 1, and the last round starts
    below the lookahead g: P(N = n) = sum_{s < g} v(s) r(n - s), n >= g; rounds per call = sum_{s < g} v(s). ``every`` gives all
    lookahead 1, ..., ``most`` on a new axis behind the leading ones.
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
        this = Round(
            *(
                a[(slice(None),) * len(lead) + (None,)]
                for a in (this.gains, this.backlog, this.time, this.first, this.forwards)
            )
        )
        lead = (*lead, most)
    # All rounds of a call less the last one: after those a further round follows within the same call.
    between = rounds[..., None, None] * this.backlog.sum(-1) - last.sum(-1)
    below = rounds[..., None] * this.time + _closed(between, this.first[..., :-1, :])
    time = np.concatenate([below, (rounds[..., None] - 1) * this.first[..., -1:, 0]], -1)

    sizes = last[..., 0, :, :].sum(-2)
    backlog = np.zeros((*lead, rows + 1, deep, sizes.shape[-1]))
    backlog[..., :rows, :, :] = last
    backlog[..., rows, 0, :] = sizes
    return Call(
        sizes,
        backlog,
        time,
        np.broadcast_to(this.first, (*lead, *this.first.shape[-2:])),
        rounds[..., None] * this.forwards,
    )


def flat(call: Call, axes: int) -> Call:
    """The first ``axes`` axes of alternatives as one."""
    return Call(
        *(a.reshape(-1, *a.shape[axes:]) for a in (call.sizes, call.backlog, call.time, call.first, call.forwards))
    )


def _closed(backlog: Array, first: Array) -> Array:
    """Expected cost of first forwards: ``backlog`` ``[..., rows, D]`` of them meet d + 1, each at ``first`` ``[..., rows, reach]``."""
    return (backlog * first[..., : backlog.shape[-1]]).sum(-1)


def _stack(below: Array, own: Array, lead: tuple[int, ...], axes: int) -> Array:
    """``own`` as one more row behind those of ``below``; rows have ``axes`` - 1 further axes, alternatives are ``lead``."""
    tail = below.shape[-(axes - 1) :] if axes > 1 else ()
    rows = below.shape[-axes]
    out = np.empty((*lead, rows + 1, *tail))
    if axes > 1:
        out[..., :rows, :], out[..., rows:, :] = below, own
    else:
        out[..., :rows], out[..., rows:] = below, own
    return out
