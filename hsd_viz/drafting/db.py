"""``db``: database drafting. The databases are asked in order of locality and merged into one
scored draft tree.

The order of locality (context, then model, then statistics) is that of Hierarchy Drafting (Cho et
al., Findings of NAACL 2025, arXiv 2502.05609; as published: :mod:`.hd`). The differences: keys are
longest suffixes, the databases' answers are mixed with probabilities, and the tree grows best-first
until another token would cost more than it gains.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from hsd_viz.drafting.asked import AskedDatabase, AskedShared, AskedStates, AskedText
from hsd_viz.drafting.context_database import LOGITS, ContextDatabase, Database, LogitsDatabase
from hsd_viz.drafting.costs import CPU_MARGINAL, CostCurve, cost_curve
from hsd_viz.drafting.growing import GrowingTree, Waiting, prices_of
from hsd_viz.drafting.make import DrafterRun, drafter
from hsd_viz.drafting.proposals import PastDraft, Proposals, Spot
from hsd_viz.drafting.semantic_database import DEPTH, SEMANTIC, Copy, SemanticDatabase
from hsd_viz.drafting.tree import Drafter, DraftTree, Ids, LogitsObserver, Probabilities, spell
from hsd_viz.drafting.trust import Trust
from hsd_viz.stack import DATABASE, DATABASES

#: The lowest score of a drafted node: where verification has a cost, and where it is free.
MIN_SCORE = 0.01
MIN_SCORE_FREE = 0.001
#: Subtracted from each continuation's count (absolute discounting, Ney, Essen & Kneser 1994): a
#: single occurrence is weaker evidence than its share suggests. Text tends to repeat itself, so the
#: context's discount is small.
DISCOUNTS = {"context": 0.15, "model": 0.4, "statistics": 0.5, "logits": 0.0, SEMANTIC: 0.15}


def _make(run: DrafterRun) -> Drafter:
    sources = run.sources()
    databases = run.databases.present
    if LOGITS in run.source.items or (not run.source.items and sources == ("context",)):
        return LogitsDatabaseDrafter(
            run.source.items or (*sources, LOGITS),
            {**databases, LOGITS: run.state},
            eos=run.eos,
            costs=run.costs,
            temperature=run.temperature,
        )
    return DatabaseDrafter(
        sources,
        databases,
        eos=run.eos,
        costs=run.costs,
        temperature=run.temperature,
    )


@drafter(DATABASE, items=(*DATABASES, SEMANTIC, LOGITS), remembers=LogitsDatabase, make=_make)
class DatabaseDrafter(Drafter):
    """Drafts for one run from databases, the most local first.

    Args:
        sources: the names of the databases, in the order in which they are asked.
        databases: those that outlive a run by source name (``model``, ``statistics``); the context
            database is created here.
        eos: the tokens that end a text: one may be drafted, nothing after it.
        costs: of verification (:func:`~hsd_viz.drafting.costs.cost_curve`): each tree has the best
            ratio of tokens to cost. ``None``: it fills the budget.
        temperature: of the target's sampling: the higher, the lower the initial trust in proposals.
        longest: the most tokens of a key of the context database.
    """

    name = DATABASE
    nodes = 24

    def __init__(
        self,
        sources: Sequence[str],
        databases: Mapping[str, Database],
        *,
        eos: Collection[int] = frozenset(),
        costs: CostCurve | Sequence[float] | float | None = CPU_MARGINAL,
        temperature: float = 0.0,
        longest: int = 8,
    ) -> None:
        self.sources = tuple(sources)
        self.databases = databases
        self.eos = eos
        self.costs = cost_curve(costs)
        self.min_score = MIN_SCORE_FREE if costs is None else MIN_SCORE
        self.temperature = temperature
        self.longest = longest
        self._prices = cache(partial(prices_of, self.costs, self.min_score))
        self.state_depth = DEPTH if SEMANTIC in self.sources else None

    def start(self, prompt: Sequence[int]) -> None:
        self._context = ContextDatabase(self.longest)
        self._semantic = SemanticDatabase()
        self._trust = Trust(self.sources, self.temperature)
        #: The databases in their order.
        self._asked = [self._asked_database(number) for number in range(len(self.sources))]
        #: The drafts since the last :meth:`extend`.
        self._drafts: list[PastDraft] = []
        self._remember(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        self._learn(tokens)
        self._remember(tokens)

    def observe_states(self, states: np.ndarray) -> None:
        self._semantic.observe(states)

    def _remember(self, tokens: Sequence[int]) -> None:
        self._context.extend(tokens)
        if self.state_depth is not None:
            self._semantic.extend(tokens)

    def _asked_database(self, number: int) -> AskedDatabase:
        """Return the database of this number as it is asked."""
        name = self.sources[number]
        rates = self._trust.rates[number]
        discount = DISCOUNTS[name]
        if name == "context":
            return AskedText(number, rates, discount, self._context)
        if name == SEMANTIC:
            return AskedStates(number, rates, discount, self._semantic)
        return AskedShared(number, rates, discount, self.databases[name])

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the tree of at most ``budget`` nodes with the most expected tokens (1 + Σ scores)
        for its cost: nodes are added best first, so scores never increase, and the prefix with the
        best ratio is drafted.
        """
        if budget < 1:
            return DraftTree(why_empty="no room")
        spot = self._end_of(text)
        tree = GrowingTree(self._prices(budget), spot)
        while True:
            # No look-up after an end of text, or where no token could score enough.
            if spot.reach > tree.least and spot.token not in self.eos:
                proposals = self._ask(spot, tree.least)
                tree.offer(proposals, spot.number)
            best = tree.take()
            if best is None:
                break
            spot = self._next_spot(tree, best)
            tree.add(spot)
        ahead = tuple(text[len(self._context.text) :])
        self._drafts.append(PastDraft(len(text), ahead, tree.spots))
        nodes = tree.best_nodes()
        if nodes:
            return self._tree_of(nodes)
        if tree.has_proposals():
            return DraftTree(why_empty="not worth it")
        return DraftTree(why_empty="no match")

    def _ask(self, spot: Spot, least: float) -> Proposals:
        """Return what may be drafted after a place.

        Each database in turn is asked for its longest known suffix and takes a part of the
        probability that the more local ones left (as in PPM, Cleary & Witten 1984), until none
        could score above ``least``. A token keeps the first answer that has it, while scores add
        up; it has a cosine if the semantic database proposed it, too.
        """
        spot.proposals = proposals = Proposals()
        left = spot.reach
        for database in self._asked:
            if left <= least:
                break
            match = database.look_up(spot)
            if match is not None:
                left -= database.distribute(match, spot, proposals, left)
        return proposals

    def _end_of(self, text: Sequence[int]) -> Spot:
        """Return the end of a text as a place."""
        copies: Sequence[Copy] = ()
        if self.state_depth is not None:
            copies = self._semantic.find(len(text))
        return Spot(
            token=None,
            parent=None,
            number=-1,
            reach=1.0,
            tail=spell(text[-self.longest :]),
            bound=self.longest,
            copies=copies,
        )

    def _next_spot(self, tree: GrowingTree, waiting: Waiting) -> Spot:
        """Return the next node of a tree as a place."""
        negative_score, token, above = waiting
        parent = tree.spots[above + 1]
        copies: Sequence[Copy] = ()
        if parent.copies:
            copies = self._semantic.advance(parent.copies, token)
        return Spot(
            token=token,
            parent=parent,
            number=len(tree.spots) - 1,
            reach=-negative_score,
            tail=(parent.tail + chr(token))[-self.longest :],
            # A key one token longer matches at most one token more.
            bound=parent.bound + 1,
            copies=copies,
        )

    def _tree_of(self, nodes: Sequence[Spot]) -> DraftTree:
        """Return nodes as a draft tree."""
        tree = DraftTree()
        for node in nodes:
            parent = node.parent
            token = node.token
            # The drafter asks at a place before it adds nodes there.
            assert token is not None and parent is not None and parent.proposals is not None
            answer, (_, count, position) = parent.proposals.origins[token]
            tree.add(
                token,
                parent.number,
                self.sources[answer.database],
                key_length=answer.key_length,
                count=count,
                score=node.reach,
                position=position,
                cosine=parent.proposals.cosines.get(token),
            )
        return tree

    def _learn(self, tokens: Sequence[int]) -> None:
        """Count hits and misses of the answers along the emitted tokens in the trees drafted since
        the last call.
        """
        start = len(self._context.text)
        for length, ahead, spots in self._drafts:
            place = length - start
            if place < 0 or tuple(tokens[:place]) != ahead:
                # Drafted after tokens that the target then rejected: what would have followed is
                # unknown.
                continue
            spot: Spot | None = spots[0]
            for token in tokens[place:]:
                if spot is None:
                    break
                if spot.proposals is not None:
                    self._learn_from(spot.proposals, token)
                spot = _child_with(spots, spot, token)
        self._drafts.clear()

    def _learn_from(self, proposals: Proposals, emitted: int) -> None:
        """Count hits and misses of the answers that were given where this token was emitted."""
        for answer in proposals.answers:
            hit = answer.has(emitted)
            self._trust.observe(answer.database, answer.bucket, answer.expected, hit)
            if hit:
                break


def _child_with(spots: Sequence[Spot], parent: Spot, token: int) -> Spot | None:
    """Return the node after ``parent`` with this token, ``None`` if there is none."""
    # Nodes come after their parents.
    for node in spots[parent.number + 2 :]:
        if node.parent is parent and node.token == token:
            return node
    return None


class LogitsDatabaseDrafter(DatabaseDrafter, LogitsObserver):
    """A database drafter with the target's probabilities as one of its databases:
    ``databases["logits"]`` is a :class:`~hsd_viz.drafting.context_database.LogitsDatabase`, filled
    after each verification.
    """

    def observe_probabilities(
        self, text: Sequence[int], tree: DraftTree, top: Ids, probabilities: Probabilities
    ) -> None:
        logits: Any = self.databases[LOGITS]
        longest = logits.longest
        tails = [spell(text[-longest:])]
        for token, parent in zip(tree.tokens, tree.parents, strict=True):
            tails.append((tails[parent + 1] + chr(token))[-longest:])
        # The row after the text comes last, so that it has precedence over rows of draft tokens.
        for tail, ids, row in zip(
            reversed(tails), reversed(top), reversed(probabilities), strict=True
        ):
            logits.put(tail, ids, row)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = super().draft(text, budget)
        for node, origin in enumerate(tree.origins):
            if origin.source == LOGITS:
                # Its counts are probabilities.
                tree.origins[node] = origin._replace(count=None)
        return tree
