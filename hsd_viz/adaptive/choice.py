"""Which option serves the next round of the target: the one of least expected cost minus lambda times expected tokens.

With lambda the latency per token that is reached on average, the best option of a round is the one with the least C - lambda G; and lambda
is the fixed point at which these minima average 0 (Dinkelbach 1967, for the ratio of two sums). Lambda is followed on-line, as the
fading ratio of the costs and the tokens of the options that were taken.

Options: a plain step; the first nodes of a database's tree, put straight before the target; any one or two draft models, over the
database or over nothing, each with its lookahead. C counts what an idle model has to catch up on. An option looks at the
past alone, the database's tree included, which is a function of the past: so the choice takes nothing from losslessness.

The expected costs are those of :mod:`hsd_viz.latency.law` with averages put in the place of distributions, times what rounds of this
kind took beside what was expected of them: quick, and right to a few percent.
"""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.adaptive.options import ATTENTIVE, FROM_DATABASE, Estimates, Family, Option

#: Longest lookahead of a model that drafts straight for the target on its own; those of other hierarchies lie on a grid.
MOST = 16
GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
#: Rounds that a model is thought to serve once it has caught up: each bears its share of what that took.
SERVES = 4
#: Share of the time that may be spent on options that look worse than the best one, to learn about them.
EXPLORING = 0.002
HOPEFUL = 4
#: Where rounds are chosen one by one, times are looked at in one of so many.
TURN = 4
#: A database that emits a token in less than ``GOOD`` plain steps goes on serving until so many of its drafts in a row were poor.
GOOD, MISSES = 0.5, 2
#: Rounds for which models that were taken go on: choosing takes time, too. A database that is chosen again and again goes on for up to
#: ``MOST_HOLDS`` times as many.
HOLD, MOST_HOLDS = 7, 4
#: Rounds after which what an option showed lately begins to be forgotten.
IDLE = 8
#: When look-ups are not worth their time, so many rounds pass at most until the next; half of that, a quarter, ... after one that was.
LOOK_EVERY = 16
#: A call over a database stops at the first sum that reaches the lookahead: by how much of a round's surplus it overshoots.
_OVERSHOOT = 0.6


class Chooser:
    """Chooses for one run, round by round: :meth:`looks`, :meth:`choose`, and what happened told to ``estimates``.

    What was chosen goes on for ``hold`` more rounds in which the rest is not asked: models as they are, a database as long as
    its drafts are :meth:`enough`. ``attentive``: whether the time of what was chosen is to be learnt from; acceptance always is.
    """

    def __init__(self, estimates: Estimates) -> None:
        self.estimates = estimates
        self._target = len(estimates.costs) - 1
        self._turn = 0
        self.hold, self.attentive = 0, True
        #: Lambda and C - lambda G of the best option beside the database, at the last choice.
        self._latency = self._other = 0.0
        self._misses = self._streak = 0
        self._pause = self._wait = 1
        estimates.begin()

    @property
    def latency(self) -> float:
        """Lambda: ms per token."""
        known = self.estimates
        if not known.gained:
            self._start()
        return known.spent / known.gained

    def looks(self) -> bool:
        """Whether the database is asked in this round."""
        known = self.estimates
        if known.bottom is None or known.worth > known.lookup:
            return known.bottom is not None
        self._wait -= 1
        return self._wait <= 0

    @property
    def min_gain_rate(self) -> float | None:
        """Tokens per cost of a plain step, reached on the whole: what a node of a database's draft, by its score, has to beat.

        ``None`` where a database serves well: lambda is then mostly its own, and a tree that is the best by itself was found better.
        """
        known, latency = self.estimates, self.latency
        return None if latency < GOOD * known.plain else known.plain / latency / known.kept

    def enough(self, nodes: int, promised: float) -> float | None:
        """The cost of taking a database's draft as it is, its scores summing up to ``promised``; ``None``: it has to be weighed."""
        known, top = self.estimates, self.estimates.costs[-1]
        cost = known.pace.of(FROM_DATABASE) * (top.overhead + top.at(nodes + 1))
        if not nodes or cost - self._latency * (1.0 + known.kept * promised) > self._other:
            # Between good drafts, choosing anew would take about what it gains.
            self._misses += 1
            return cost if self._misses < MISSES and self._latency < GOOD * known.plain else None
        self._misses = 0
        return cost

    def choose(self, pending: Sequence[int], reach: Sequence[float] | None = None) -> Option:
        """The option of the next round. ``pending`` are the draft models' uncached tokens, ``reach`` the scores of the draft
        that was looked up, best first.

        What an option of models promised when it was last looked at serves until it is about to be taken; one of them in turn is
        looked at anew now and then.
        """
        known, latency = self.estimates, self.latency
        families = known.families
        known.rounds += 1
        known.choices += 1
        self.attentive = known.rounds < ATTENTIVE or self.hold > 0 or known.choices % TURN == 0
        self.hold = 0
        cost, gain, nodes = known.plain, 1.0, 0
        plain = score = cost - latency
        if reach is not None:
            value, price, tokens, n = self._direct(reach, latency)
            if value < plain:
                score, cost, gain, nodes = value, price, tokens, n
        turn, tried = None, False
        if families and self.attentive:
            self._turn = (self._turn + 1) % len(families)
            turn = families[self._turn]
            if known.rounds - turn.taken > IDLE:
                known.edges[turn.members[-1], self._target].fade()
            self._look_at(turn, pending, latency, True)
        best, value = self._leader(latency)
        while value < score and best.looked != known.rounds:
            self._look_at(best, pending, latency, False)
            best, value = self._leader(latency)
        if reach is not None:
            self._latency, self._other = latency, min(plain, value)
            worth = self._other - score
            known.look_worth(worth)
            self._pause = 1 if worth > known.lookup else min(2 * self._pause, LOOK_EVERY)
            self._wait = self._pause
        if value < score:
            score, cost, gain, nodes = value, best.cost, best.gain, 0
        else:
            best = None
        if turn is not None and turn is not best and self._worth_trying(turn, pending, score, latency):
            known.explored += max(0.0, turn.cost - latency * turn.gain - score)
            best, cost, gain, tried = turn, turn.cost, turn.gain, True
        known.took(cost, gain, nodes > 0)
        if best is None:
            self._streak = self._streak + 1 if nodes else 0
            if nodes:
                self._misses = 0
                self.hold = HOLD * min(MOST_HOLDS, self._streak) if known.rounds >= ATTENTIVE else 1
            return Option(nodes, (), nodes > 0, cost, gain)
        best.taken = known.rounds
        self._streak = 0
        # A try is for one round, and what looks up needs to be asked whether it should.
        if not tried and not best.looked_up:
            self.hold = self._holds()
        return Option(0, tuple(zip(best.members, best.looks, strict=True)), best.looked_up, cost, gain)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _holds(self) -> int:
        """For how many more rounds models go on that were taken: until the next look-up at most."""
        known = self.estimates
        hold = HOLD if known.rounds >= ATTENTIVE else 1
        if known.bottom is None:
            return hold
        if known.worth > known.lookup:
            return 0
        hold = max(0, min(hold, self._wait - 1))
        self._wait -= hold
        return hold

    def _leader(self, latency: float) -> tuple[Family | None, float]:
        """The family that promised the most when it was last looked at, and C - lambda G of that."""
        best, score = None, float("inf")
        for family in self.estimates.families:
            value = family.cost - latency * family.gain
            if value < score:
                best, score = family, value
        return best, score

    def _start(self) -> None:
        """Lambda from the priors: the best ratio of all options, by two steps of Dinkelbach's iteration."""
        known = self.estimates
        cost, gain = known.plain, 1.0
        for _ in range(2):
            for family in known.families:
                self._look_at(family, [1] * self._target, cost / gain, True)
            for family in known.families:
                if family.cost * gain < cost * family.gain:
                    cost, gain = family.cost, family.gain
        known.start(cost / gain)

    def _direct(self, reach: Sequence[float], latency: float) -> tuple[float, float, float, int]:
        """The best first nodes of the database's tree: (score, cost, tokens, nodes), of at least one node where there is one."""
        top = self.estimates.costs[-1]
        table, pace = top.table, self.estimates.pace.of(FROM_DATABASE)
        overhead = pace * top.overhead
        best, at, most, tokens = float("inf"), 0, 1.0, 1.0
        kept = self.estimates.kept
        for n, chance in enumerate(reach, 2):
            tokens += kept * chance
            score = pace * table[n] - latency * tokens
            if score < best:
                best, at, most = score, n, tokens
        return best + overhead, overhead + pace * table[at], most, max(0, at - 1)

    def _look_at(self, family: Family, pending: Sequence[int], latency: float, improve: bool) -> None:
        """Put the family's cost and gain up to date; ``improve`` its lookaheads, where they lie on the grid by one step at most."""
        family.looked = self.estimates.rounds
        if len(family.members) == 1 and not family.looked_up:
            self._single(family, pending, latency)
            return
        family.cost, family.gain = self._evaluate(family, family.looks, pending)
        if not improve:
            return
        family.turns += 1
        place, up = family.turns // 2 % len(family.looks), family.turns % 2
        at = GRID.index(family.looks[place]) + (1 if up else -1)
        if 0 <= at < len(GRID):
            looks = (*family.looks[:place], GRID[at], *family.looks[place + 1 :])
            cost, gain = self._evaluate(family, looks, pending)
            if cost - latency * gain < family.cost - latency * family.gain:
                family.cost, family.gain, family.looks = cost, gain, looks

    def _single(self, family: Family, pending: Sequence[int], latency: float) -> None:
        """One model that drafts for the target: the lookahead after which no further token could pay."""
        known, model = self.estimates, family.members[0]
        own, edge, top = known.costs[model], known.edges[model, self._target], known.costs[-1]
        pace = known.pace.of(family.kind)
        later, step, table = edge.later.value, pace * own.step, top.table
        reach = edge.first.value
        tokens, n = 1.0 + reach, 1
        best, at, most = step + pace * table[2] - latency * tokens, 1, tokens
        while n < MOST and latency * reach * later > step:
            reach *= later
            tokens += reach
            n += 1
            score = n * step + pace * table[n + 1] - latency * tokens
            if score < best:
                best, at, most = score, n, tokens
        family.looks, family.gain = (at,), most
        late = own.catching_up(pending[model]) / SERVES
        family.cost = pace * (top.overhead + own.launch + late + table[at + 1]) + at * step

    def _evaluate(
        self, family: Family, looks: Sequence[int], pending: Sequence[int], idle: int | None = None
    ) -> tuple[float, float]:
        """Expected cost and gain of a hierarchy: l_i = (E[N] l + C) / E[R] level by level, with averages for N and R.

        ``idle``: with acceptance as high as it may well be after so many rounds out of use.
        """
        known, target = self.estimates, self._target
        cost, n, below = 0.0, 0.0, -1
        for model, look in zip(family.members, looks, strict=True):
            own = known.costs[model]
            if below < 0 and not family.looked_up:
                cost, n = own.launch + own.catching_up(pending[model]) / SERVES + look * own.step, float(look)
            else:
                if below < 0:
                    drafted, accepted = known.tiers[model].drafted, known.tiers[model].accepted
                    each, kept = known.lookup, 1 + accepted
                    rounds = max(1.0, (look + _OVERSHOOT * accepted) / kept)
                else:
                    drafted, each, edge = n, cost, known.edges[below, model]
                    kept, rounds = edge.tokens(n, idle), edge.rounds(n, look, idle)
                forward = own.between(1 + drafted)
                late = own.between(pending[model] + drafted) - forward if pending[model] > 1 else 0.0
                cost, n = rounds * (each + forward + own.overhead) + late / SERVES, rounds * kept
            below = model
        top = known.costs[-1]
        cost = known.pace.of(family.kind) * (cost + top.overhead + top.between(1 + n))
        return cost, known.edges[below, target].tokens(n, idle)

    def _worth_trying(self, family: Family, pending: Sequence[int], score: float, latency: float) -> bool:
        """Whether a family may well be better than the best one, and learning about it is not too dear."""
        known = self.estimates
        extra = family.cost - latency * family.gain - score
        allowed = EXPLORING * known.total + known.grant * latency - known.explored
        if extra > allowed:
            return False
        idle = known.rounds - family.taken
        cost, gain = self._evaluate(family, family.looks, pending, idle)
        if cost - latency * gain < score:
            return True
        # Where little is hoped for, lookaheads have become short, and a long draft teaches more.
        looks = tuple(max(look, HOPEFUL) for look in family.looks)
        cost, gain = self._evaluate(family, looks, pending, idle)
        if cost - latency * gain < score:
            family.looks = looks
            family.cost, family.gain = self._evaluate(family, looks, pending)
            extra = family.cost - latency * family.gain - score
            return extra <= allowed
        return False
