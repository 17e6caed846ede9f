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

from hsd_viz.decoding.loop import Draft, Loop, Verified
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
        #: What serves the round in progress.
        self.option = Option()
        #: Levels below the models.
        self._first = 0 if self.drafter is None else 1
        self._models = [level.model for level in self.levels[self._first : -1]]
        self._weighs = isinstance(self.drafter, DatabaseDrafter)
        self._found: Draft | None = None
        #: What the database said about the round in progress, where it was asked before the choice.
        self._tree: DraftTree | None = None
        #: Who drafts for each level in the round in progress.
        self._below: dict[int, int] = {}
        #: When this round began, and what the calls of the last one took, where that was looked at.
        self._began = 0
        self._spent: int | None = None

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        yield from super().prefill()
        for call in self.log.calls:
            if call.kind == "prefill" and call.level >= self._first:
                self.estimates.see_prefill(call.level - self._first, call.fed, call.duration_ns * _MS)

    def propose(self, room: int) -> Draft:
        """Look up, choose, and have the chosen levels draft."""
        self._time()
        found, self._tree = None, None
        if room <= 0 or len(self.levels) == 1:
            self.option, self._below = Option(), {}
            return self.draft(self.chain, room)
        reach = None
        if self.chooser.looks():
            if self._weighs:
                self.drafter.elsewhere = self.chooser.elsewhere
            found = self._look_up(room)
            self._tree = tree = found.tree
            reach = self.estimates.promise.reach(tree.parents, tree.scores, tree.sources, tree.key_lengths)
        text = len(self.text)
        self.option = option = self.chooser.choose([text - model.length for model in self._models], reach)
        self._below = {}
        if option.nodes:
            return Draft(found.tree.first(option.nodes), found.paths[: option.nodes])
        if option.models:
            self._found = found if option.looked_up else None
            chain = [(model + self._first, look) for model, look in option.models]
            if option.looked_up:
                chain = [(0, None), *chain]
            self._below = {above: level for (level, _), (above, _) in pairwise([*chain, (len(self.levels) - 1, None)])}
            return self.draft(chain, room)
        why = "not worth it" if self._models or found is None or len(found) else found.tree.why_empty
        return Draft(DraftTree(why_empty=why))

    def rounds(self) -> Iterator[Verified]:
        for verified in super().rounds():
            self._learn(verified)
            yield verified

    def _look_up(self, room: int) -> Draft:
        """What was looked up for the choice serves the first round beneath a model, too."""
        found, self._found = self._found, None
        return found if found is not None and len(found) <= room else super()._look_up(room)

    def _time(self) -> None:
        """A round takes more than its calls: what a whole one took, until the next began, goes to the target's verification."""
        if self._spent is not None:
            self.estimates.see_overhead(len(self._models), max(0, self.log.now() - self._began - self._spent) * _MS)
        self._began = self.log.now()

    # --- what the round showed -------------------------------------------------------------------------------------

    def _learn(self, verified: Verified) -> None:
        """Tell the estimates. Rows of this round are the last ones, and its own number is the least of them."""
        known, first, log, option = self.estimates, self._first, self.log, self.option
        this, below = log.rounds[-1].id, self._below
        if len(option.models) == 1 and not option.looked_up:
            row = log.rounds[-1]
            if row.drafted:
                known.see_chain(option.models[0][0], len(self._models), row.examined, row.accepted)
        elif below:
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
        self._spent = None
        if not known.attentive:
            return
        if (tree := self._tree) is not None:
            emitted = verified.kept.tree.tokens
            known.promise.learn(tree.tokens, tree.parents, tree.scores, tree.sources, tree.key_lengths, emitted)
        spent = 0
        for call in reversed(log.calls):
            if call.round < this:
                break
            spent += call.duration_ns
            if call.kind == "verify":
                known.see_forward(call.level - first, call.fed, call.duration_ns * _MS)
            elif call.kind == "draft":
                known.see_draft(call.level - first, call.fed - call.steps + 1, call.steps, call.duration_ns * _MS)
            elif call.kind == "lookup":
                known.see_lookup(call.fed, call.duration_ns * _MS)
        self._spent = spent
