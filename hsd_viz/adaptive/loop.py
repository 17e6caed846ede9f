"""``auto``: before each round of the target the option that promises the most is chosen.

What chooses is pure (:mod:`hsd_viz.adaptive.choice`); this is the loop's side of it: it tells what a round showed, and has the chosen
levels draft. The choice is made before anything is sampled and looks at emitted tokens, at the clock and at the database's tree, which
is a function of the text: so what is emitted is distributed as ever, and greedy text is the same to the token. Which draft
was tried does depend on the clock, unless the costs are given and not learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from hsd_viz.adaptive.choice import Chooser
from hsd_viz.adaptive.options import Estimates, Option
from hsd_viz.decoding.loop import Chain, Draft, Loop, Verified
from hsd_viz.drafting.db import DatabaseDrafter
from hsd_viz.drafting.tree import DraftTree

_MS = 1e-6


class AutoLoop(Loop):
    """A loop whose levels are options: all the draft models there are, smallest first, and a database beneath them or none.

    ``estimates`` are those of its models, in the same order; the levels' lookaheads are not used.
    """

    def __init__(self, *args: Any, estimates: Estimates, **options: Any) -> None:
        super().__init__(*args, **options)
        assert len(estimates.costs) == sum(level is not None for level in self.levels)
        assert (estimates.bottom is None) == (self.drafter is None)
        self.estimates = estimates
        self.chooser = Chooser(estimates)
        #: What serves the round in progress, and for how many more rounds it goes on without a choice.
        self.option = Option()
        self._left = 0
        self._chain: Chain = ()
        #: Levels below the models.
        self._first = 0 if self.drafter is None else 1
        self._models = [level.model for level in self.levels[self._first : -1]]
        #: The database, and how much of the text it has: where nobody asks it, it is told what was emitted when somebody does.
        self._database, self._told = self.drafter, len(self.text)
        self._patient = self.drafter is not None and not (self._observed or self._harvested)
        self._weighs = isinstance(self.drafter, DatabaseDrafter)
        self._found: Draft | None = None
        #: What the database said about the round in progress, where it was asked before the choice.
        self._tree: DraftTree | None = None
        #: Who drafts for each level in the round in progress.
        self._below: dict[int, int] = {}
        #: When what serves began to, less the time of its look-up; whether what it takes is to be learnt; its rounds so far, and what
        #: they examined and accepted, where it is one model.
        self._began = 0
        self._timed = False
        self._served, self._cost, self._next = 0, 0.0, 0.0
        #: What the database's draft promised.
        self._promised = 0.0
        self._shown: list[tuple[float, int]] = []

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        yield from super().prefill()
        if self._patient:
            # From here on nobody tells it each round.
            self.drafter = None

    def rounds(self) -> Iterator[Verified]:
        for verified in super().rounds():
            option = self.option
            self._served += 1
            self._cost += self._next
            if self._alone:
                row = self.log.rounds[-1]
                if row.drafted:
                    self._shown.append((row.examined, row.accepted))
            elif option.nodes:
                self._shown.append((self._promised, len(verified.accepted)))
            elif option.models:
                self._learn()
            if (tree := self._tree) is not None and not option.nodes:
                # Whoever served: the next token was among the first ones or it was not.
                first = [k for k, parent in enumerate(tree.parents) if parent < 0]
                said = verified.tokens[0] in [tree.tokens[k] for k in first]
                self.estimates.see_direct(sum(_score(tree.scores[k]) for k in first), said)
            self._tree = None
            yield verified
        self._account()

    def propose(self, room: int) -> Draft:
        """What serves goes on, or another option is chosen and has its levels draft."""
        found = None
        if self._left > 0 and room > 0:
            self._left -= 1
            if not self.option.nodes:
                return self.draft(self._chain, room)
            self._tell()
            found = self._look_up(room)
            self._began += self.log.calls[-1].duration_ns
            self._promised = sum(map(_score, found.tree.scores))
            if (cost := self.chooser.enough(len(found), self._promised)) is not None:
                self._next = cost
                return found
        self._account()
        if room <= 0 or len(self.levels) == 1:
            self.option, self._below, self._timed, self._next = Option(), {}, False, 0.0
            return self.draft(self.chain, room)
        return self._choose(room, found)

    def _choose(self, room: int, found: Draft | None) -> Draft:
        """Look up, unless that was done, choose, and have the chosen levels draft."""
        reach = None
        if found is not None or self.chooser.looks():
            found = self._ask(room) if found is None else found
            self._tree = tree = found.tree
            reach = list(map(_score, tree.scores))
        text, before = len(self.text), self.option
        self.option = option = self.chooser.choose([text - model.length for model in self._models], reach)
        self._left, self._next = self.chooser.hold, option.cost
        # Models that come in have to catch up, which is no part of what they take as a rule.
        self._timed = self.chooser.attentive and (not option.models or option.kind == before.kind)
        self._below = {}
        if option.nodes:
            self._promised = sum(reach[: option.nodes])
            return Draft(found.tree.first(option.nodes), found.paths[: option.nodes])
        if option.models:
            self._found = found if option.looked_up else None
            chain = [(model + self._first, look) for model, look in option.models]
            if option.looked_up:
                self._tell()
                chain = [(0, None), *chain]
            self._below = {above: level for (level, _), (above, _) in pairwise([*chain, (len(self.levels) - 1, None)])}
            self._chain = chain
            return self.draft(chain, room)
        why = "not worth it" if self._models or found is None or len(found) else found.tree.why_empty
        return Draft(DraftTree(why_empty=why))

    # --- the database ------------------------------------------------------------------------------------------------

    def _ask(self, room: int) -> Draft:
        """What the database has for this round."""
        self._tell()
        if self._weighs:
            self._database.min_gain_rate = self.chooser.min_gain_rate
        start = self.log.now()
        found = self._look_up(room)
        spent = self.log.now() - start
        self._began += spent
        self.estimates.see_lookup(len(found), spent * _MS)
        return found

    def _tell(self) -> None:
        """Bring the database up to date."""
        if self._patient and self._told < len(self.text):
            start = self.log.now()
            self._database.extend(self.text[self._told :])
            self.log.call(0, self._database.name, "update", start, fed=len(self.text) - self._told)
            self._told = len(self.text)

    def _look_up(self, room: int) -> Draft:
        """What was looked up for the choice serves the first round beneath a model, too."""
        found, self._found = self._found, None
        if found is not None and len(found) <= room:
            return found
        start = self.log.now()
        tree = self._database.draft(self.text, self.budget).within(room)
        self.log.call(0, self._database.name, "lookup", start, fed=len(tree))
        return Draft(tree, [(0,)] * len(tree))

    # --- what the round showed -------------------------------------------------------------------------------------

    @property
    def _alone(self) -> bool:
        """Whether one model drafts straight for the target."""
        return len(self.option.models) == 1 and not self.option.looked_up

    def _account(self) -> None:
        """Tell the estimates what the rounds were like that were served by what was chosen last.

        A round lasts until the next one begins: the work between them is part of it.
        """
        known, option, now = self.estimates, self.option, self.log.now()
        if self._served:
            if self._timed:
                known.see_round(option._replace(cost=self._cost), (now - self._began) * _MS)
            if self._served > 1:
                gain = (
                    (self._served + known.kept * sum(p for p, _ in self._shown)) / self._served
                    if option.nodes
                    else option.gain
                )
                option = option._replace(cost=self._cost / self._served, gain=gain)
                known.went_on(option, self._served - 1)
            if self._alone:
                for examined, accepted in self._shown:
                    known.see_chain(option.models[0][0], len(self._models), examined, accepted)
            else:
                for promised, accepted in self._shown:
                    known.see_direct(promised, accepted)
        self._began, self._served, self._cost = now, 0, 0.0
        self._shown.clear()

    def _learn(self) -> None:
        """Tell the estimates. Rows of this round are the last ones, and its own number is the least of them."""
        known, first, log = self.estimates, self._first, self.log
        this, below = log.rounds[-1].id, self._below
        for row in reversed(log.rounds):
            if row.id < this:
                break
            drafter = below.get(row.level)
            if drafter is None:
                continue
            if drafter < first:
                known.see_tree(row.level - first, row.drafted, row.accepted)
            elif row.drafted:
                known.see_chain(drafter - first, row.level - first, row.examined, row.accepted)


def _score(score: float | None) -> float:
    """The chance that a verifier walks to a node; some drafters do not say."""
    return 0.5 if score is None else score
