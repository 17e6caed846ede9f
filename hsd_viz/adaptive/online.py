"""What a choice made while decoding stands on: times, acceptance and databases' promises, learnt round by round.

Everything is plain floats: a round has some ten microseconds for it. Each estimate starts from a prior (a calibration's figure, where
there is one) and has a long memory and a short one: what was seen over many texts is the prior of what is seen now.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import exp, log, log1p

from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost

#: What the prior of a rate is worth in trials, also where it was measured, and what the long memory is worth to the short one.
PRIOR_TRIALS, CALIBRATED_TRIALS = 10.0, 100.0
LONG_WORTH = 50.0
#: Trials that the two memories hold, and the factor by which a trial counts for less with each later one.
LONG_MEMORY, SHORT_MEMORY = 400.0, 200.0
#: What is left of the short memory after a round that could not show what it is about.
UNSEEN = 0.9
#: Costs of up to so many tokens lie in a table.
TABLE = 72
#: Cost of a second token in a forward where nothing is known, relative to one token's, and of each one more.
PRIOR_SECOND, PRIOR_SLOPE = 0.12, 0.07
#: Share of a new time that goes into an estimate, once there are enough of them.
TIME_SHARE = 0.08
#: Share of a new time that goes into what a kind of option takes beside the others, and how that is forgotten.
KIND_SHARE, KIND_FADE = 0.02, 0.996
#: How far one time may be from what was expected, as a logarithm; how many farther ones in a row are believed; and what a longer
#: time counts for, as against a shorter one.
SURPRISE = 0.3
AGAIN = 8
UPWARDS = 0.3
#: Of so many first times the least is believed.
FIRST = 3


class Rate:
    """A chance, learnt from hits and misses: Beta counters that fade, the long memory's mean being the short one's prior.

    ``value`` is the mean. Censored places (not looked at) are simply not told to :meth:`see`.
    """

    __slots__ = ("_hits", "_long_hits", "_long_trials", "_prior", "_trials", "_worth", "value")

    def __init__(self, prior: float, worth: float = PRIOR_TRIALS) -> None:
        self._prior, self._worth = prior, worth
        self._hits = self._trials = self._long_hits = self._long_trials = 0.0
        self.value = prior

    def see(self, hits: float, trials: float) -> None:
        """``hits`` of ``trials``."""
        # 1 - n / N for (1 - 1 / N) ** n: n is small, and this is quick.
        fade = 1.0 - trials / LONG_MEMORY
        self._long_hits = self._long_hits * fade + hits
        self._long_trials = self._long_trials * fade + trials
        fade = 1.0 - trials / SHORT_MEMORY
        self._hits = self._hits * fade + hits
        self._trials = self._trials * fade + trials
        self._update()

    def begin(self) -> None:
        """A new text: what the last one showed lately is forgotten."""
        self._hits = self._trials = 0.0
        self._update()

    def fade(self) -> None:
        """A round that did not get to see: what was seen lately counts for less, or a few misses would be believed for ever."""
        self._hits *= UNSEEN
        self._trials *= UNSEEN
        self._update()

    def high(self, idle: int) -> float:
        """A mean and its doubt: what the chance may well be, seen last ``idle`` rounds ago."""
        trials = self._worth + (self._trials + min(self._long_trials, LONG_WORTH)) / (1 + idle / 200)
        doubt = (max(self.value * (1 - self.value), 0.02) / trials) ** 0.5
        return min(1.0, self.value + (1.0 + log1p(idle / 50)) * doubt)

    def _update(self) -> None:
        long = (self._worth * self._prior + self._long_hits) / (self._worth + self._long_trials)
        self.value = (LONG_WORTH * long + self._hits) / (LONG_WORTH + self._trials)


class Acceptance:
    """How a verifier takes the tokens of the level below it: the first of a draft, and each later one after its predecessor.

    Two figures instead of one, because a round begins where the one before it failed: at a hard place.
    """

    __slots__ = ("first", "later")

    def __init__(self, first: float, later: float, worth: float = PRIOR_TRIALS) -> None:
        self.first, self.later = Rate(first, worth), Rate(later, worth)

    def fade(self) -> None:
        """A while without a round."""
        self.first.fade()
        self.later.fade()

    def see(self, examined: int, accepted: int) -> None:
        """A round that looked at ``examined`` tokens and accepted ``accepted`` of them."""
        if examined:
            self.first.see(accepted > 0, 1)
            if examined > 1:
                self.later.see(accepted - 1, examined - 1)
            else:
                self.later.fade()

    def tokens(self, n: float, idle: int | None = None) -> float:
        """Expected tokens of a round over ``n`` (a whole number or an average), the verifier's own included.

        With ``idle`` as many as there may well be, the edge having been seen last so many rounds ago.
        """
        first, later = (
            (self.first.value, self.later.value) if idle is None else (self.first.high(idle), self.later.high(idle))
        )
        return 1.0 + first * ((1.0 - later**n) / (1.0 - later) if later < 1.0 else n)

    def rounds(self, n: float, wanted: int, idle: int | None = None) -> float:
        """Expected rounds over drafts of ``n`` tokens until ``wanted`` tokens or more are there.

        A renewal process: a round ends at the s-th token with chance 1 - first for s = 1, with that of geometric steps further on,
        and beyond the longest round with 1 / E[R].
        """
        first, later = (
            (self.first.value, self.later.value) if idle is None else (self.first.high(idle), self.later.high(idle))
        )
        steps, inside = wanted - 1, min(wanted - 1, n)
        if inside < 1:
            return 1.0 + steps * (1.0 - first)
        ends = (1.0 - later) / (1.0 - later + first) if first + later > 0 else 1.0
        rounds = 1.0 + (1.0 - first) + (inside - 1) * ends
        return rounds if steps <= n else rounds + (steps - n) / self.tokens(n, idle)


class DatabaseDraftStats:
    """A database's drafts beneath a model: mean nodes and mean accepted nodes."""

    __slots__ = ("_seen", "accepted", "drafted")

    def __init__(self, drafted: float, accepted: float) -> None:
        self.drafted, self.accepted = drafted, accepted
        self._seen = PRIOR_TRIALS

    def see(self, drafted: int, accepted: int) -> None:
        share = max(1 / (self._seen + 1), 1 / SHORT_MEMORY)
        self._seen += 1
        self.drafted += (drafted - self.drafted) * share
        self.accepted += (accepted - self.accepted) * share


class RobustMinimum:
    """The lower part of times, as a logarithm: what they are when no other work comes between.

    Of the first few the least is believed, for whoever runs for the first time is slow. Then longer times count for less than
    shorter ones (an expectile, Newey & Powell 1987), and surprises as smaller ones, unless they come again and again.
    """

    __slots__ = ("_least", "_run", "count", "value")

    def __init__(self, value: float, known: bool = False) -> None:
        """``known``: ``value`` was measured, and is no mere beginning."""
        self.value = value
        self.count, self._run = FIRST if known else 0, 0
        self._least = 0.0

    def see(self, value: float) -> None:
        self.count += 1
        off = value - self.value
        if self.count <= FIRST:
            if self.count == 1 or off < 0:
                self.value = value
        elif off > SURPRISE:
            self._least = value if self._run == 0 else min(value, self._least)
            self._run += 1
            if self._run == AGAIN:
                self.value, self._run = self._least, 0
        else:
            self._run = 0
            self.value += TIME_SHARE * (UPWARDS * off if off > 0 else max(off, -SURPRISE))


class Curve:
    """What one model's forwards and drafts take beside those of the others, in ms where they were measured.

    ``table[m]`` is a verification of ``m`` tokens fed, up to ``TABLE``; ``step`` each token of a draft of its own, ``launch`` what
    such a draft costs besides, ``overhead`` what a verification does.
    """

    __slots__ = ("_relative", "_tail", "launch", "overhead", "step", "table")

    def __init__(self, cost: LevelCost) -> None:
        self.table = [max(c, 1e-9) for c in cost.verifying(TABLE).tolist()]
        self._tail = self.table[-1] - self.table[-2]
        self.step = max(float(cost.drafting(1)[1]), 1e-9)
        self.launch, self.overhead = cost.draft_overhead, cost.overhead
        #: What the first forward of a draft costs, in steps, when it has to catch up.
        self._relative = self.step / self.table[1]

    def at(self, fed: int) -> float:
        """c(``fed``)."""
        return self.table[fed] if fed <= TABLE else self.table[TABLE] + (fed - TABLE) * self._tail

    def between(self, fed: float) -> float:
        """c of an average number of tokens fed."""
        if fed >= TABLE:
            return self.at(int(fed))
        m = int(fed)
        low = self.table[m]
        return low + (fed - m) * (self.table[m + 1] - low)

    def catching_up(self, pending: int) -> float:
        """What the first forward of a draft takes more than a step, ``pending`` tokens being uncached."""
        return self._relative * (self.at(pending) - self.table[1])


class Pace:
    """How much longer rounds take than the curves say: all of them, and each kind of option beside that.

    A round counts for all kinds, as the machine does, and a little for its own: that curves were timed apart, that rules of
    acceptance take their time, and what else there is.
    """

    __slots__ = ("_all", "_kinds", "_scale")

    def __init__(self, known: bool) -> None:
        self._all = RobustMinimum(0.0, known)
        self._kinds: dict[Hashable, float] = {}
        self._scale: dict[Hashable, float] = {}

    def of(self, kind: Hashable) -> float:
        """A factor."""
        scale = self._scale.get(kind)
        if scale is None:
            scale = self._scale[kind] = exp(self._all.value + self._kinds.get(kind, 0.0))
        return scale

    def see(self, kind: Hashable, ratio: float) -> None:
        """A round of this kind took ``ratio`` times what was expected."""
        off = log(max(ratio, 1e-9))
        first = self._all.count == 0
        self._all.see(self._all.value + off)
        if not first:
            off = max(-SURPRISE, min(SURPRISE, off))
            own = self._kinds.get(kind, 0.0)
            self._kinds[kind] = own * KIND_FADE + KIND_SHARE * (UPWARDS * off if off > 0 else off)
        self._scale.clear()


def prior_cost(parameters: float) -> LevelCost:
    """A forward's cost where nothing was measured: in proportion to the parameters, in units of no meaning."""
    return LevelCost((parameters, parameters * (1 + PRIOR_SECOND), parameters * (1 + PRIOR_SECOND + PRIOR_SLOPE)))


def prior_acceptance(calibration: Calibration | None, draft: str, verifier: str, default: float) -> Acceptance:
    """What a calibration says of an edge, or ``default`` for both figures."""
    edge = calibration.edges.get((draft, verifier)) if calibration else None
    if edge is None:
        return Acceptance(default, default)
    first, second = (float(s) for s in edge.curve(2)[1:])
    return Acceptance(first, second / first if first else edge.tail, CALIBRATED_TRIALS)
