"""What a choice made while decoding stands on: times, acceptance and databases' promises, learnt round by round.

Everything is plain floats: a round has some ten microseconds for it. Each estimate starts from a prior (a calibration's figure, where
there is one) and has a long memory and a short one: what was seen over many texts is the prior of what is seen now.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import exp, log

from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost

#: What the prior of a rate is worth in trials, and what the long memory is worth to the short one.
PRIOR_TRIALS = 4.0
LONG_WORTH = 12.0
#: A trial counts for less by this factor with each later one.
LONG_FADE = 1 - 1 / 400
SHORT_FADE = 1 - 1 / 40
#: Numbers of tokens fed up to which forwards share a correction of their prior.
WIDTHS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
#: Costs of up to so many tokens lie in a table.
TABLE = 96
#: Cost of one more token in a forward where nothing is known, relative to one token's.
PRIOR_SLOPE = 0.06
#: Share of a new time that goes into an estimate, once there are enough of them.
TIME_SHARE = 0.08
#: How far one time may be from what was expected, as a logarithm; half as far above.
SURPRISE = 0.4
#: Times that it takes to move the shape of a curve half way.
SHAPE_WORTH = 8.0
#: Node conditionals are never put above this.
_SUREST = 0.995


class Rate:
    """A chance, learnt from hits and misses: Beta counters that fade, the long memory's mean being the short one's prior.

    ``value`` is the mean. Censored places (not looked at) are simply not told to :meth:`see`.
    """

    __slots__ = ("_hits", "_long_hits", "_long_trials", "_prior", "_trials", "value")

    def __init__(self, prior: float) -> None:
        self._prior = prior
        self._hits = self._trials = self._long_hits = self._long_trials = 0.0
        self.value = prior

    def see(self, hits: float, trials: float) -> None:
        """``hits`` of ``trials``."""
        fade = LONG_FADE**trials
        self._long_hits = self._long_hits * fade + hits
        self._long_trials = self._long_trials * fade + trials
        fade = SHORT_FADE**trials
        self._hits = self._hits * fade + hits
        self._trials = self._trials * fade + trials
        self._update()

    def begin(self) -> None:
        """A new text: what the last one showed lately is forgotten."""
        self._hits = self._trials = 0.0
        self._update()

    def high(self, idle: int) -> float:
        """A mean and its doubt: what the chance may well be, seen last ``idle`` rounds ago."""
        trials = PRIOR_TRIALS + (self._trials + min(self._long_trials, 5 * LONG_WORTH)) / (1 + idle / 200)
        return min(1.0, self.value + 1.3 * (max(self.value * (1 - self.value), 0.02) / trials) ** 0.5)

    def _update(self) -> None:
        long = (PRIOR_TRIALS * self._prior + self._long_hits) / (PRIOR_TRIALS + self._long_trials)
        self.value = (LONG_WORTH * long + self._hits) / (LONG_WORTH + self._trials)


class Acceptance:
    """How a verifier takes the tokens of the level below it: the first of a draft, and each later one after its predecessor.

    Two figures instead of one, because a round begins where the one before it failed: at a hard place.
    """

    __slots__ = ("first", "later")

    def __init__(self, first: float, later: float) -> None:
        self.first, self.later = Rate(first), Rate(later)

    def see(self, examined: int, accepted: int) -> None:
        """A round that looked at ``examined`` tokens and accepted ``accepted`` of them."""
        if examined:
            self.first.see(accepted > 0, 1)
            if examined > 1:
                self.later.see(accepted - 1, examined - 1)

    def tokens(self, n: float, idle: int | None = None) -> float:
        """Expected tokens of a round over ``n`` (a whole number or an average), the verifier's own included.

        With ``idle`` as many as there may well be, the edge having been seen last so many rounds ago.
        """
        first, later = (self.first.value, self.later.value) if idle is None else (self.first.high(idle), self.later.high(idle))
        return 1.0 + first * ((1.0 - later**n) / (1.0 - later) if later < 1.0 else n)


class Beneath:
    """A database's drafts beneath a model: mean nodes and mean accepted nodes."""

    __slots__ = ("_seen", "accepted", "drafted")

    def __init__(self, drafted: float, accepted: float) -> None:
        self.drafted, self.accepted = drafted, accepted
        self._seen = PRIOR_TRIALS

    def see(self, drafted: int, accepted: int) -> None:
        share = max(1 / (self._seen + 1), 1 - SHORT_FADE)
        self._seen += 1
        self.drafted += (drafted - self.drafted) * share
        self.accepted += (accepted - self.accepted) * share


class Promise:
    """Whether a database keeps what its scores promise: hits per expected hit (Gamma-Poisson), by source and key length."""

    __slots__ = ("_long", "_short")

    def __init__(self) -> None:
        self._long: dict[tuple[str, int], tuple[float, float]] = {}
        self._short: dict[tuple[str, int], tuple[float, float]] = {}

    def begin(self) -> None:
        """A new text."""
        self._short.clear()

    def rate(self, key: tuple[str, int]) -> float:
        hits, expected = self._long.get(key, (0.0, 0.0))
        long = (PRIOR_TRIALS + hits) / (PRIOR_TRIALS + expected)
        hits, expected = self._short.get(key, (0.0, 0.0))
        return (LONG_WORTH * long + hits) / (LONG_WORTH + expected)

    def see(self, key: tuple[str, int], expected: float, hit: bool) -> None:
        """A place that was reached: a token expected with that chance came, or another."""
        for memory, fade in ((self._long, LONG_FADE), (self._short, SHORT_FADE)):
            hits, total = memory.get(key, (0.0, 0.0))
            memory[key] = (hits * fade + hit, total * fade + expected)


class Tree:
    """A database's draft as far as the choice looks at it: for each node its parent, and its chance given that parent.

    ``reach`` is the chance that the verifier walks to a node, after correction. Nodes without a score are given ``unscored``.
    """

    __slots__ = ("given", "keys", "parents", "reach")

    def __init__(
        self,
        parents: Sequence[int],
        scores: Sequence[float | None],
        sources: Sequence[str],
        key_lengths: Sequence[int | None],
        promise: Promise,
        unscored: float = 0.5,
    ) -> None:
        self.parents = parents
        self.reach: list[float] = []
        self.given: list[float] = []
        self.keys: list[tuple[str, int]] = []
        rates: dict[tuple[str, int], float] = {}
        for parent, score, source, length in zip(parents, scores, sources, key_lengths, strict=True):
            key = (source, 0 if length is None else length if length < 8 else 8)
            rate = rates.get(key)
            if rate is None:
                rates[key] = rate = promise.rate(key)
            if score is None:
                given = unscored
            elif parent < 0:
                given = score
            else:
                given = score / scores[parent]
            chance = given * rate
            self.given.append(given)
            self.keys.append(key)
            self.reach.append((chance if chance < _SUREST else _SUREST) * (1.0 if parent < 0 else self.reach[parent]))

    def learn(self, tokens: Sequence[int], emitted: Sequence[int], promise: Promise) -> None:
        """Walk along what was emitted, whoever drafted it: every child of a reached place is a hit or a miss."""
        parents, n, node, last = self.parents, len(self.parents), -1, -1
        for token in emitted:
            for child in range(last + 1, n):
                if parents[child] == node:
                    hit = tokens[child] == token
                    promise.see(self.keys[child], self.given[child], hit)
                    if hit:
                        last = child
            if last == node:
                return
            node = last


class ForwardCost:
    """ms of one model's forwards: a prior curve over the tokens fed, corrected by the times that were seen.

    c(m) = ``pace * table[m]`` up to ``TABLE``. ``step`` is what each token but the first costs when the model drafts on its own,
    ``launch`` what a launch costs besides, ``overhead`` what a verification costs besides its forward.

    Corrections are logarithms: ``pace`` for all widths, which follows the machine, and one for each group of widths (its
    neighbours share in it), which only many times can move far. Large surprises count as small ones, those above even more,
    because other work only ever slows a forward down.
    """

    __slots__ = ("_base", "_shape", "_steps", "_tail", "_times", "launch", "overhead", "pace", "relative", "step", "table")

    def __init__(self, cost: LevelCost) -> None:
        base = [max(c, 1e-9) for c in cost.verifying(TABLE).tolist()]
        self._base = base
        self._tail = base[-1] - base[-2]
        self.pace = 1.0
        # By group of widths: the sum of logarithms seen beside the pace, and their weight.
        self._shape = [(0.0, 0.0)] * (len(WIDTHS) + 1)
        self._times = self._steps = 0
        self.table = list(base)
        self.step = max(float(cost.drafting(1)[1]), 1e-9)
        self.launch = cost.draft_overhead
        self.overhead = cost.overhead
        #: c(m) / c(1): what the first forward of a draft costs, in steps, when it has to catch up.
        self.relative = [c / base[1] for c in base]

    def at(self, fed: int) -> float:
        """c(``fed``)."""
        return self.pace * (self.table[fed] if fed <= TABLE else self.table[TABLE] * self._prior(fed) / self._base[TABLE])

    def between(self, fed: float) -> float:
        """c of an average number of tokens fed."""
        if fed >= TABLE:
            return self.at(int(fed))
        m = int(fed)
        low = self.table[m]
        return self.pace * (low + (fed - m) * (self.table[m + 1] - low))

    def catching_up(self, pending: int) -> float:
        """What the first forward of a draft takes, ``pending`` tokens being uncached."""
        return self.launch + self.step * (self.relative[pending] if pending <= TABLE else self._prior(pending) / self._base[1])

    @property
    def known(self) -> bool:
        """Whether any of its verifications was timed."""
        return self._times > 0

    def scale(self, fed: int, ms: float) -> None:
        """No verification was timed yet, and a forward of many tokens took ``ms``: the prior curve is laid through that."""
        self.pace = ms / self._prior(fed)
        if not self._steps:
            self.step = self._base[1] * self.pace

    def see(self, fed: int, ms: float) -> None:
        """A verification that fed ``fed`` tokens took ``ms``."""
        place = bisect_left(WIDTHS, fed)
        total, weight = self._shape[place]
        off = log(max(ms, 1e-9) / self._prior(fed))
        if not self._times:
            self.pace = exp(off)
            if not self._steps:
                self.step = self._base[1] * self.pace
        off -= log(self.pace) + total / (weight + SHAPE_WORTH)
        off = min(max(off, -SURPRISE), SURPRISE / 2)
        self._times += 1
        self.pace *= exp(off * max(1 / self._times, TIME_SHARE))
        self._reshape(place, off, 1.0)
        if place:
            self._reshape(place - 1, off, 0.4)
        if place < len(WIDTHS):
            self._reshape(place + 1, off, 0.4)

    def see_draft(self, pending: int, steps: int, ms: float) -> None:
        """``steps`` tokens decoded by the model on its own in one launch (or one forward), ``pending`` tokens being uncached."""
        first = self.relative[pending] if pending <= TABLE else self._prior(pending) / self._base[1]
        off = log(max(ms - self.launch, 1e-9) / (first + steps - 1) / self.step)
        if self._steps:
            off = min(max(off, -SURPRISE), SURPRISE / 2)
        self._steps += 1
        self.step *= exp(off * max(1 / self._steps, TIME_SHARE))

    def _prior(self, fed: int) -> float:
        return self._base[fed] if fed <= TABLE else self._base[TABLE] + (fed - TABLE) * self._tail

    def _reshape(self, place: int, off: float, share: float) -> None:
        total, weight = self._shape[place]
        mean = total / (weight + SHAPE_WORTH)
        fade = 1 - share * (1 - SHORT_FADE)
        self._shape[place] = total, weight = total * fade + share * (mean + off), weight * fade + share
        by, base, table = exp(total / (weight + SHAPE_WORTH)), self._base, self.table
        start = WIDTHS[place - 1] + 1 if place else 1
        stop = WIDTHS[place] if place < len(WIDTHS) else TABLE
        for m in range(start, stop + 1):
            table[m] = base[m] * by


def prior_cost(parameters: float) -> LevelCost:
    """A forward's cost where nothing was measured: in proportion to the parameters, in units of no meaning."""
    return LevelCost((parameters, parameters * (1 + PRIOR_SLOPE)))


def prior_acceptance(calibration: Calibration | None, draft: str, verifier: str, default: float) -> Acceptance:
    """What a calibration says of an edge, or ``default`` for both figures."""
    edge = calibration.edges.get((draft, verifier)) if calibration else None
    if edge is None:
        return Acceptance(default, default)
    first, second = (float(s) for s in edge.curve(2)[1:])
    return Acceptance(first, second / first if first else edge.tail)
