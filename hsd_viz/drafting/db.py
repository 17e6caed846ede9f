"""``db``: database drafting, which queries databases in order of locality and merges their answers
into a scored draft tree.

The order of locality (context, then model, then statistics) is that of Hierarchy Drafting (Cho et
al., Findings of NAACL 2025, arXiv 2502.05609; :mod:`.hd` is the method as published). The
differences are: keys are longest suffixes, the answers of databases are mixed with probabilities,
and the tree grows best-first until a further token would cost more than it gains.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from hsd_viz.drafting.adapters import (
    ContextAdapter,
    DatabaseAdapter,
    SemanticAdapter,
    SharedAdapter,
)
from hsd_viz.drafting.context_database import LOGITS, ContextDatabase, Database, LogitsDatabase
from hsd_viz.drafting.costs import CPU_MARGINAL, CostCurve, cost_curve
from hsd_viz.drafting.make import DrafterRun, drafter
from hsd_viz.drafting.proposals import PastDraft, Proposals, Spot
from hsd_viz.drafting.semantic_database import DEPTH, SEMANTIC, Copy, SemanticDatabase
from hsd_viz.drafting.tree import Drafter, DraftTree, Ids, LogitsObserver, Probabilities, spell
from hsd_viz.drafting.tree_building import GrowingTree, Waiting, prices_of
from hsd_viz.drafting.trust import Trust
from hsd_viz.stack import DATABASE, DATABASES

#: The lowest score of a drafted node if verification has a cost.
MIN_SCORE = 0.01
#: The lowest score of a drafted node if verification is free.
MIN_SCORE_FREE = 0.001
#: The amount subtracted from each continuation's count, by database (absolute discounting, Ney,
#: Essen & Kneser 1994): a single occurrence is weaker evidence than its share suggests. The
#: discount of the context is small, because text tends to repeat itself.
DISCOUNTS = {"context": 0.15, "model": 0.4, "statistics": 0.5, "logits": 0.0, SEMANTIC: 0.15}


def _make(run: DrafterRun) -> Drafter:
    sources = run.sources()
    databases = run.databases.present
    is_named = LOGITS in run.source.items
    if is_named or (not run.source.items and sources == ("context",)):
        # Without its name in the stack, `logits` keeps nothing between runs.
        return LogitsDatabaseDrafter(
            run.source.items or (*sources, LOGITS),
            {**databases, LOGITS: run.state if is_named else LogitsDatabase()},
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
    """A drafter that queries databases, the most local first, for one run.

    Args:
        sources: the names of the databases, in the order of their queries.
        databases: the databases that outlive a run, by source name (``model``, ``statistics``); the
            context database is created here.
        eos: the tokens that end a text; such a token may be drafted, but no token after it.
        costs: the cost of verification (:func:`~hsd_viz.drafting.costs.cost_curve`). Each tree has
            the best ratio of expected tokens to cost; with ``None`` it fills the budget.
        temperature: the sampling temperature of the target. The higher it is, the lower is the
            initial trust in proposals.
        longest: the largest key length in the context database, in tokens.

    Attributes:
        trust: the trust in each database, which a run begins with its priors.
    """

    name = DATABASE
    nodes = 24
    trust: Trust

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
        self.trust = Trust(self.sources, self.temperature)
        #: An adapter per source, in the order of ``sources``.
        self._adapters = [self._adapter(number) for number in range(len(self.sources))]
        #: The drafts proposed since the last :meth:`extend`.
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

    def _adapter(self, number: int) -> DatabaseAdapter:
        """Return the adapter that queries the database of a source."""
        name = self.sources[number]
        rates = self.trust.rates[number]
        discount = DISCOUNTS[name]
        if name == "context":
            return ContextAdapter(number, rates, discount, self._context)
        if name == SEMANTIC:
            return SemanticAdapter(number, rates, discount, self._semantic)
        return SharedAdapter(number, rates, discount, self.databases[name])

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the tree of at most ``budget`` nodes with the best ratio of expected tokens
        (1 + Σ scores) to cost.

        Nodes are added best first, so scores never increase. The first nodes, up to the best ratio,
        are drafted.
        """
        if budget < 1:
            return DraftTree(why_empty="no room")
        spot = self._end_of(text)
        tree = GrowingTree(self._prices(budget), spot)
        while True:
            # Skip the look-up after an end token, or if no token could reach the needed score.
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
        """Return the tokens that may be drafted after a position.

        Each database in turn looks up its longest known suffix, and distributes a part of the
        probability that the more local ones left over (as in PPM, Cleary & Witten 1984). The loop
        ends when no further token could score above ``least``. If several databases propose a
        token, its scores are added, and its origin is the first answer. A token has a cosine if the
        semantic database proposed it.
        """
        spot.proposals = proposals = Proposals()
        left = spot.reach
        for database in self._adapters:
            if left <= least:
                break
            match = database.look_up(spot)
            if match is not None:
                left -= database.distribute(match, spot, proposals, left)
        return proposals

    def _end_of(self, text: Sequence[int]) -> Spot:
        """Return the position at the end of a text."""
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
        """Return the position of a new node for a token from the queue."""
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
            # After one more token the match is at most one token longer.
            bound=parent.bound + 1,
            copies=copies,
        )

    def _tree_of(self, nodes: Sequence[Spot]) -> DraftTree:
        """Return the draft tree of these nodes."""
        tree = DraftTree()
        for node in nodes:
            parent = node.parent
            token = node.token
            # The databases were queried at the parent before the node was added.
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
        """Count the hits and misses of answers along the path of the emitted tokens, in the trees
        drafted since the last call.
        """
        start = len(self._context.text)
        for length, ahead, spots in self._drafts:
            place = length - start
            if place < 0 or tuple(tokens[:place]) != ahead:
                # The draft followed tokens that the target rejected, so its correct continuation
                # is unknown.
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
        """Count the hits and misses of the answers at the position of an emitted token."""
        for answer in proposals.answers:
            hit = answer.has(emitted)
            self.trust.observe(answer.database, answer.bucket, answer.expected, hit)
            if hit:
                break


def _child_with(spots: Sequence[Spot], parent: Spot, token: int) -> Spot | None:
    """Return the child of ``parent`` with a token; ``None`` if there is none."""
    # Children come after their parents.
    for node in spots[parent.number + 2 :]:
        if node.parent is parent and node.token == token:
            return node
    return None


class LogitsDatabaseDrafter(DatabaseDrafter, LogitsObserver):
    """A database drafter that also uses the target's probabilities as a database.

    ``databases["logits"]`` is a :class:`~hsd_viz.drafting.context_database.LogitsDatabase`, which
    is updated after each verification.
    """

    def observe_probabilities(
        self, text: Sequence[int], tree: DraftTree, top: Ids, probabilities: Probabilities
    ) -> None:
        logits: Any = self.databases[LOGITS]
        longest = logits.longest
        tails = [spell(text[-longest:])]
        for token, parent in zip(tree.tokens, tree.parents, strict=True):
            tails.append((tails[parent + 1] + chr(token))[-longest:])
        # The row after the text is stored last, so that it replaces rows after draft tokens.
        for tail, ids, row in zip(
            reversed(tails), reversed(top), reversed(probabilities), strict=True
        ):
            logits.put(tail, ids, row)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = super().draft(text, budget)
        for node, origin in enumerate(tree.origins):
            if origin.source == LOGITS:
                # The counts of the logits database are probabilities.
                tree.origins[node] = origin._replace(count=None)
        return tree
