"""Expected latency of stacks over measured cost curves, many settings at a time.

The law is that of :mod:`hsd_viz.latency.law`. Here a forward pass costs c_i(backlog + N_{i-1}), by the number of tokens
fed, plus the overhead of a round. The backlog is 1 token as a rule, 2 after a draft that was accepted completely (its
last token was never fed), more when several levels in a row accepted everything; :mod:`hsd_viz.latency.recursion`
follows its distribution exactly. Prefill and the last round, cut by the length limit, are left out: this is the steady
state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency import recursion
from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.recursion import CallDistribution, RoundDistribution, drafting, repeat_rounds, verify
from hsd_viz.stack import MAX_LOOKAHEAD, Stack, parse


@dataclass(frozen=True, slots=True)
class Prediction:
    """The expected latency of one stack. ``names``, ``forwards_per_token`` and ``share`` (of the time) go by level, 0
    at the bottom; those of a database are its lookups. ``acceptance_length`` is the number of tokens emitted per
    forward pass of the target.
    """

    stack: str
    names: tuple[str, ...]
    ms_per_token: float
    forwards_per_token: tuple[float, ...]
    share: tuple[float, ...]
    acceptance_length: float

    def gain_over(self, other: Prediction) -> float:
        """Return by how much this is faster than ``other``: 0.2 is 20 % more tokens per second."""
        return other.ms_per_token / self.ms_per_token - 1


class Law:
    """The law over one calibration. Results for the lower part of a stack are reused by stacks that begin alike."""

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        # Full acceptance can add 1 to a backlog at each level above, and a stack has at most as many levels as there
        # are models.
        self.reach = len(calibration.costs) + 1
        self.round, self.call = cache(self._round), cache(self._call)
        self._curves: dict[tuple[str, str], NDArray[Any]] = {}

    def predict(self, stack: Stack | str) -> Prediction:
        """Return the prediction for ``stack``. Raises: ValueError: if a lookahead is left out or something of the stack
        was not measured (``StackError`` for unreadable text).
        """
        stack = parse(stack) if isinstance(stack, str) else stack
        for draft in stack.drafts:
            if draft.lookahead is None:
                raise ValueError(f"'{draft}' in '{stack}' has no lookahead: write one, as in '{draft.name}:4'")
        database = None if stack.bottom is None else str(stack.bottom)
        top = self.round(database, tuple((m.name, m.lookahead) for m in stack.models))
        times, mean = self.times(top, database), float(top.mean())
        total = float(times.sum())
        return Prediction(
            stack=str(stack),
            names=(*([] if database is None else [database]), *(m.name for m in stack.models)),
            ms_per_token=total,
            forwards_per_token=tuple((top.forwards / mean).tolist()),
            share=tuple((times / total if total else times).tolist()),
            acceptance_length=mean,
        )

    def times(self, top: RoundDistribution, database: str | None) -> NDArray[Any]:
        """Return ms per token by level, ``[..., L]``, of a target's round; a database's update is in its row."""
        times = top.per_token()
        if database is not None:
            times[..., 0] += self.calibration.lookup(database).update / top.mean()
        return times

    def plane(
        self, database: str | None, drafts: tuple[str, ...], lookaheads: tuple[int, ...], place: int, most: int
    ) -> NDArray[Any]:
        """Return ms per token for all lookaheads 1, ..., ``most`` at ``place`` and at the place above it. Shape
        ``[most, most]``, or ``[most]`` where ``place`` is the last of ``drafts``.
        """
        settings = tuple(zip(drafts, lookaheads, strict=True))
        if place == 0 and database is None:
            calls = drafting(np.arange(1, most + 1), self.calibration.cost(drafts[0]), self.reach)
        else:
            lower = self.round(database, (*settings[:place], (drafts[place], None)))
            calls = repeat_rounds(lower, most, every=True)
        chain = (*drafts, self.calibration.target)
        for below in range(place, len(drafts)):
            draft, above = chain[below : below + 2]
            survival = self.curve(draft, above, calls.sizes.shape[-1])
            top = verify(calls, survival, self.calibration.cost(above), self.reach)
            if below + 1 < len(drafts):
                varied = below == place
                calls = repeat_rounds(top, most if varied else lookaheads[below + 1], every=varied)
        return self.times(top, database).sum(-1)

    def _round(self, database: str | None, models: tuple[tuple[str, int | None], ...]) -> RoundDistribution:
        """Return one round of the last of ``models``, (name, lookahead) each, over the drafts of the others."""
        top = models[-1][0]
        cost = self.calibration.cost(top)
        if len(models) > 1:
            call = self.call(database, models[:-1])
            return verify(call, self.curve(models[-2][0], top, call.sizes.shape[-1]), cost, self.reach)
        if database is not None:
            tier, lookup = self.calibration.tier(database, top), self.calibration.lookup(database)
            return recursion.verify_lookup(tier, lookup, cost, self.reach)
        return verify(recursion.no_draft(self.reach), np.ones(1), cost, self.reach)

    def _call(self, database: str | None, models: tuple[tuple[str, int | None], ...]) -> CallDistribution:
        """Return one call of the last of ``models``."""
        name, lookahead = models[-1]
        assert lookahead is not None
        if database is None and len(models) == 1:
            return drafting(lookahead, self.calibration.cost(name), self.reach)
        return repeat_rounds(self.round(database, (*models[:-1], (name, None))), lookahead)

    def curve(self, draft: str, verifier: str, n: int) -> NDArray[Any]:
        """Return S(0), ..., at least up to S(``n``)."""
        known = self._curves.get((draft, verifier))
        if known is None or len(known) <= n:
            known = self.calibration.edge(draft, verifier).curve(max(n, 2 * MAX_LOOKAHEAD))
            self._curves[draft, verifier] = known
        return known


def predict(stack: Stack | str, calibration: Calibration) -> Prediction:
    """Return the prediction for one stack; for many stacks over one calibration keep a :class:`Law`."""
    return Law(calibration).predict(stack)
