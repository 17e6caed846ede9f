"""``auto``: before each round of the target the option that promises the most is chosen.

What chooses is pure (:mod:`hsd_viz.latency.choice`); this is the loop's side of it: it tells what a round showed, and has the chosen
levels draft. The choice is made before anything is sampled and looks at emitted tokens, at the clock and at the database's tree, which
is a function of the text: so what is emitted is distributed as ever, and greedy text is the same to the token. Which draft
was tried does depend on the clock, unless the costs are given and not learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from hsd_viz.decoding.loop import Chain, Draft, Loop, Verified
from hsd_viz.drafting.hierarchy import DatabaseDrafter
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.latency.choice import Chooser, Estimates, Option

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
        #: What serves the round in progress, and for how many more rounds it goes on without being asked.
        self.option = Option()
        self._left = 0
        self._chain: Chain = ()
        #: Levels below the models.
        self._first = 0 if self.drafter is None else 1
        self._models = [level.model for level in self.levels[self._first : -1]]
        #: The database, and how much of the text it has: where nobody asks it, it is told what was emitted when somebody does.
        self._database, self._told = self.drafter, len(self.text)
        self._patient = not (self._observed or self._harvested)
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
        self._served = 0
        self._shown: list[tuple[int, int]] = []

    def rounds(self) -> Iterator[Verified]:
        for verified in super().rounds():
            self._served += 1
            if self._alone:
                row = self.log.rounds[-1]
                if row.drafted:
                    self._shown.append((row.examined, row.accepted))
            else:
                self._learn(verified)
            if (tree := self._tree) is not None and self.chooser.attentive:
                emitted = verified.kept.tree.tokens
                self.estimates.promise.learn(tree.tokens, tree.parents, tree.scores, tree.sources, tree.key_lengths, emitted)
            self._tree = None
            if self.drafter is not None:
                self._told = len(self.text)
            yield verified
        self._account()

    def propose(self, room: int) -> Draft:
        """Look up, choose, and have the chosen levels draft."""
        if self._left > 0 and room > 0:
            self._left -= 1
            if self._patient:
                self.drafter = None
            return self.draft(self._chain, room)
        self._account()
        found, reach = None, None
        if room <= 0 or len(self.levels) == 1:
            self.option, self._below, self._timed = Option(), {}, False
            return self.draft(self.chain, room)
        if self.chooser.looks():
            start = self.log.now()
            found = self._ask(room)
            spent = self.log.now() - start
            self._began += spent
            self._tree = tree = found.tree
            self.estimates.see_lookup(len(tree), spent * _MS)
            reach = self.estimates.promise.reach(tree.parents, tree.scores, tree.sources, tree.key_lengths)
        text, before = len(self.text), self.option
        self.option = option = self.chooser.choose([text - model.length for model in self._models], reach)
        self._left = self.chooser.hold
        # Models that come in have to catch up, which is no part of what they take as a rule.
        self._timed = self.chooser.attentive and (not option.models or option.kind == before.kind)
        self._below = {}
        if option.nodes:
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
            self.drafter.elsewhere = self.chooser.elsewhere
        return self._look_up(room)

    def _tell(self) -> None:
        """Bring the database up to date; it takes part in this round, and is told at its end."""
        if self.drafter is None:
            start = self.log.now()
            self.drafter = self._database
            self.drafter.extend(self.text[self._told :])
            self.log.call(0, self.drafter.name, "update", start, fed=len(self.text) - self._told)

    def _look_up(self, room: int) -> Draft:
        """What was looked up for the choice serves the first round beneath a model, too."""
        found, self._found = self._found, None
        return found if found is not None and len(found) <= room else super()._look_up(room)

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
                known.see_round(option, (now - self._began) * _MS / self._served)
            if self._served > 1:
                known.went_on(option, self._served - 1)
            for examined, accepted in self._shown:
                known.see_chain(option.models[0][0], len(self._models), examined, accepted)
        self._began, self._served = now, 0
        self._shown.clear()
        if self._patient:
            self.drafter = None

    def _learn(self, verified: Verified) -> None:
        """Tell the estimates. Rows of this round are the last ones, and its own number is the least of them."""
        known, first, log, option = self.estimates, self._first, self.log, self.option
        this, below = log.rounds[-1].id, self._below
        if below:
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
        if option.nodes:
            known.see_direct((option.gain - 1) / known.kept, len(verified.accepted))
