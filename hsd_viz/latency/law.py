"""Expected latency of a stack, exactly as the loop runs it.

The idea, models stacked into a hierarchy with a closed form for its expected latency, is that of Hierarchical Speculative
Decoding (Globerson et al. 2025, arXiv 2510.19705); the derivation below is this project's own, checked against a simulation of
the loop and against the loop itself.

Level i hands up at least g_i tokens, overshoot kept. Write N_i for what one call hands up and R_i for the tokens that a round of
level i gains: the accepted ones and one of its own. S_i(k) is the chance that k tokens in a row of the level below are accepted.

- A bottom model: N_0 = g_0, with forwards one token at a time.
- A round over a draft of n tokens: P(R_i > k) = S_i(k), k <= n, so E[R_i] = E[sum_{k <= N_{i-1}} S_i(k)]. Over a database: R is
  1 + the accepted tokens, as counted.
- A call: N_i is the first partial sum of independent R_i that reaches g_i (a renewal process).
- With ms per token l_i, by Wald's identity: l_i = (E[N_{i-1}] l_{i-1} + C_i) / E[R_i]; C_i is the expected cost of a round's forward.
  Unrolled: l = sum_i n_i C_i, with n_i forwards of level i per emitted token: counters that a decode logs as well.
- C_i is an expectation over the tokens fed, c_i(backlog + N_{i-1}), plus the overhead of a round: 1 token of backlog as a rule, 2 when
  the draft before was accepted as a whole (its last token was never fed), more when several levels in a row accepted all.
  :mod:`hsd_viz.latency.recursion` follows that distribution exactly.

Assumed: tokens are accepted independently of one another, of the text and of which level proposed them (S(k) as measured where
a curve is given); forwards run one after the other; the text is long: what the first round and the last, cut by the length limit,
do otherwise is left out, as are prefill and the end of the text. That is the steady state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost, LookupCost
from hsd_viz.latency.recursion import Call, Round, drafting, hand_up, nothing, verify, verify_lookup
from hsd_viz.stack import MAX_LOOKAHEAD, Stack, parse


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the law expects of a stack. ``names``, ``forwards_per_token`` and ``share`` (of the time) go by level, 0 at the bottom.

    A database's "forwards" are its look-ups. ``acceptance_length`` is the tokens emitted per forward of the target.
    """

    stack: str
    names: tuple[str, ...]
    ms_per_token: float
    forwards_per_token: tuple[float, ...]
    share: tuple[float, ...]
    acceptance_length: float

    def gain_over(self, other: Prediction) -> float:
        """How much faster than ``other``, as a share: 0.2 is 20 % more tokens a second."""
        return other.ms_per_token / self.ms_per_token - 1


class Law:
    """The law over one calibration. What was worked out for the lower part of a stack is kept for the next that begins alike."""

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        # Full acceptance can add 1 to a backlog at every level above; no stack is higher than the models are many.
        self.reach = len(calibration.costs) + 1
        self._rounds: dict[tuple, Round] = {}
        self._calls: dict[tuple, Call] = {}
        self._curves: dict[tuple[str, str], NDArray[np.float64]] = {}

    def predict(self, stack: Stack | str) -> Prediction:
        """Raises ``ValueError`` where a lookahead is left out or something was not measured, ``StackError`` for unreadable text."""
        stack = parse(stack) if isinstance(stack, str) else stack
        for draft in stack.drafts:
            if draft.lookahead is None:
                raise ValueError(f"'{draft}' in '{stack}' has no lookahead: write one, as in '{draft.name}:4'")
        bottom = None if stack.bottom is None else str(stack.bottom)
        top = self.round(bottom, tuple((m.name, m.lookahead) for m in stack.models))
        return self.prediction(bottom, stack, top)

    def prediction(self, bottom: str | None, stack: Stack, top: Round) -> Prediction:
        """Put the figures of the target's round together."""
        times = self.times(top, bottom)
        mean = float(top.mean())
        total = float(times.sum())
        return Prediction(
            stack=str(stack),
            names=tuple(([] if bottom is None else [bottom]) + [m.name for m in stack.models]),
            ms_per_token=total,
            forwards_per_token=tuple((top.forwards / mean).tolist()),
            share=tuple((times / total if total else times).tolist()),
            acceptance_length=mean,
        )

    def times(self, top: Round, bottom: str | None) -> NDArray[np.float64]:
        """ms per token by level, ``[..., L]``, of a target's round; a database's update once a round is in its row."""
        times = top.per_token()
        if bottom is not None:
            times[..., 0] += self.calibration.lookup(bottom).update / top.mean()
        return times

    def plane(
        self, bottom: str | None, drafts: tuple[str, ...], lookaheads: tuple[int, ...], place: int, most: int
    ) -> NDArray[np.float64]:
        """ms per token with every lookahead 1, ..., ``most`` at ``place`` and at the place above it, the others as they are.

        Shape ``[most, most]``; ``[most]`` where ``place`` is the last of ``drafts``.
        """
        settings = tuple(zip(drafts, lookaheads, strict=True))
        if place == 0 and bottom is None:
            calls = drafting(np.arange(1, most + 1), self.calibration.cost(drafts[0]), self.reach)
        else:
            calls = hand_up(self.round(bottom, (*settings[:place], (drafts[place], None))), most, every=True)
        chain = (*drafts, self.calibration.target)
        for below in range(place, len(drafts)):
            draft, above = chain[below : below + 2]
            top = verify(
                calls, self.curve(draft, above, calls.sizes.shape[-1]), self.calibration.cost(above), self.reach
            )
            if below + 1 < len(drafts):
                next_one = below == place
                calls = hand_up(top, most if next_one else lookaheads[below + 1], every=next_one)
        return self.times(top, bottom).sum(-1)

    def round(self, bottom: str | None, models: tuple[tuple[str, int | None], ...]) -> Round:
        """One round of the last of ``models``, (name, lookahead) each, over what the others hand up."""
        top = models[-1][0]
        key = (bottom, models[:-1], top)
        if key not in self._rounds:
            cost = self.calibration.cost(top)
            if len(models) > 1:
                call = self.call(bottom, models[:-1])
                self._rounds[key] = verify(call, self.curve(models[-2][0], top, call.sizes.shape[-1]), cost, self.reach)
            elif bottom is not None:
                self._rounds[key] = verify_lookup(
                    self.calibration.tier(bottom, top), self.calibration.lookup(bottom), cost, self.reach
                )
            else:
                self._rounds[key] = verify(nothing(self.reach), np.ones(1), cost, self.reach)
        return self._rounds[key]

    def call(self, bottom: str | None, models: tuple[tuple[str, int], ...]) -> Call:
        """What the last of ``models`` hands up."""
        key = (bottom, models)
        if key not in self._calls:
            name, lookahead = models[-1]
            alone = bottom is None and len(models) == 1
            cost = self.calibration.cost(name)
            self._calls[key] = (
                drafting(lookahead, cost, self.reach) if alone else hand_up(self.round(bottom, models), lookahead)
            )
        return self._calls[key]

    def curve(self, draft: str, verifier: str, n: int) -> NDArray[np.float64]:
        """S(0), ..., at least up to S(``n``)."""
        known = self._curves.get((draft, verifier))
        if known is None or len(known) <= n:
            self._curves[draft, verifier] = known = self.calibration.edge(draft, verifier).curve(
                max(n, 2 * MAX_LOOKAHEAD)
            )
        return known


def predict(stack: Stack | str, calibration: Calibration) -> Prediction:
    """What the law expects of one stack; for many stacks over one calibration keep a :class:`Law`."""
    return Law(calibration).predict(stack)


def fed_per_token(stack: Stack | str, calibration: Calibration) -> tuple[NDArray[np.float64], ...]:
    """For each model of the stack, bottom first: forwards per emitted token by number of tokens fed (index 0 is never used).

    The law is linear in the costs, so the forwards that feed m tokens are what it says where only those cost something.
    """
    stack = parse(stack) if isinstance(stack, str) else stack
    plain = {m: LevelCost((0.0,)) for m in calibration.costs}
    found: list[list[float]] = [[0.0] for _ in stack.models]
    free = {name: LookupCost() for name in calibration.bottoms}
    wanted = np.array(
        predict(stack, replace(calibration, costs=plain, lookups=free)).forwards_per_token[-len(stack.models) :]
    )
    done = np.zeros(len(wanted))
    while np.any(done < wanted * (1 - 1e-12)):
        m = len(found[0])
        if m > 10_000:
            raise AssertionError("forwards are missing from the distribution of tokens fed")
        only = LevelCost((0.0,) * (m - 1) + (1.0, 0.0, 0.0))
        top = predict(stack, replace(calibration, costs=dict.fromkeys(plain, only), lookups=free))
        share = np.array(top.share[-len(wanted) :]) * top.ms_per_token
        done += share
        for row, value in zip(found, share, strict=True):
            row.append(float(value))
    return tuple(np.array(row) for row in found)
