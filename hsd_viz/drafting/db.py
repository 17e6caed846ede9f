"""``db``: database drafting. The databases are asked in order of locality and merged into one
scored draft tree.

The order of locality (context, then model, then statistics) is that of Hierarchy Drafting (Cho et
al., Findings of NAACL 2025, arXiv 2502.05609; as published: :mod:`.hd`). The differences: keys are
longest suffixes, the databases' answers are mixed with probabilities, and the tree grows best-first
until another token would cost more than it gains.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from typing import Any

import numpy as np

from hsd_viz.stack import DATABASES

from .context import LOGITS, ContextDatabase, Database, LogitsDatabase, Match
from .costs import CPU_MARGINAL, CostCurve, cost_curve
from .make import Run, drafter
from .proposals import (
    AskedDatabase,
    Continued,
    DatabaseAnswer,
    PastDraft,
    Proposals,
    Spot,
    TreeNode,
    Waiting,
)
from .semantic import DEPTH, SEMANTIC, Copy, SemanticDatabase
from .tree import Drafter, DraftTree, Ids, LogitsObserver, Probabilities, spell
from .trust import LONGEST_BUCKET, Trust

#: The lowest score of a drafted node: where verification has a cost, and where it is free.
MIN_SCORE = 0.01
MIN_SCORE_FREE = 0.001
#: The largest share of the remaining probability that one database can take.
MAX_SHARE = 0.999
#: Subtracted from each continuation's count (absolute discounting, Ney, Essen & Kneser 1994): a
#: single occurrence is weaker evidence than its share suggests. Text tends to repeat itself, so the
#: context's discount is small.
DISCOUNTS = {"context": 0.15, "model": 0.4, "statistics": 0.5, "logits": 0.0, SEMANTIC: 0.15}


def _make(run: Run) -> Drafter:
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
        sources, databases, eos=run.eos, costs=run.costs, temperature=run.temperature
    )


@drafter("db", items=(*DATABASES, SEMANTIC, LOGITS), remembers=LogitsDatabase, make=_make)
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
        self._tables = cache(self.costs.tables)
        self.state_depth = DEPTH if SEMANTIC in self.sources else None

    def start(self, prompt: Sequence[int]) -> None:
        self._context = ContextDatabase(self.longest)
        self._semantic = SemanticDatabase()
        self._trust = Trust(self.sources, self.temperature)
        #: The databases in their order.
        self._asked: list[AskedDatabase] = []
        for number, name in enumerate(self.sources):
            lookup = self._lookup_of(name)
            rates = self._trust.rates[number]
            self._asked.append(AskedDatabase(number, name, lookup, rates, DISCOUNTS[name]))
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

    def _lookup_of(self, name: str) -> Callable[..., Match | None]:
        """Return the look-up of a database: by the end of a text, of the semantic one by copies."""
        if name == "context":
            return self._context.lookup
        if name == SEMANTIC:
            return self._semantic.continuations
        return self.databases[name].lookup

    def _ask(
        self, tail: str, reach: float, least: float, bound: int, copies: Sequence[Copy]
    ) -> Proposals:
        """Return what may be drafted after a node.

        Each database in turn is asked for its longest known suffix and takes a part of the
        probability that the more local ones left (as in PPM, Cleary & Witten 1984), until none
        could score above ``least``. A token keeps the first answer that has it, while scores add
        up; it has a cosine if the semantic database proposed it, too.

        Args:
            tail: the end of the text up to the node.
            reach: the probability that the verifier reaches the node.
            least: the lowest score that can pay.
            bound: the longest key of the context database.
            copies: the copies of earlier text that lead to the node.
        """
        scores: dict[int, float] = {}
        origins: dict[int, tuple[DatabaseAnswer, Continued]] = {}
        cosines: dict[int, float] = {}
        answers: list[DatabaseAnswer] = []
        left = reach
        matched = bound
        for number, name, lookup, rates, discount in self._asked:
            if left <= least:
                break
            if name == "context":
                match = lookup(tail, bound)
                matched = match[0] if match else 0
            elif name == SEMANTIC:
                match = lookup(copies)
            else:
                match = lookup(tail)
            if match is None:
                continue
            length, total, continuations = match
            bucket = length if length < LONGEST_BUCKET else LONGEST_BUCKET
            seen = 0.0
            for _, count, _ in continuations:
                seen += count - discount
            rate = rates[bucket]
            # An answer takes at most the probability that is left, and never all of it.
            if rate * seen < MAX_SHARE * total:
                scale = left * rate / total
            else:
                scale = left * MAX_SHARE / seen
            key_length: int | None = length
            if name == SEMANTIC:
                # Its key is a state, not tokens.
                key_length = None
                for token, _, position in continuations:
                    cosines[token] = _cosine_at(copies, position)
            answer = DatabaseAnswer(number, key_length, bucket, seen / total, continuations)
            answers.append(answer)
            for continuation in continuations:
                token, count, _ = continuation
                score = scale * (count - discount)
                if token in scores:
                    scores[token] += score
                else:
                    scores[token] = score
                    origins[token] = (answer, continuation)
            left -= scale * seen
        return Proposals(scores, origins, cosines, answers, matched)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return the tree of at most ``budget`` nodes with the most expected tokens (1 + Σ scores)
        for its cost: nodes are added best first, so scores never increase, and the prefix with the
        best ratio is drafted.
        """
        if budget < 1:
            return DraftTree(why_empty="no room")
        eos = self.eos
        longest = self.longest
        least_slope = self.costs.least_slope
        floor = self.min_score
        costs, slopes = self._tables(budget)
        spots: dict[int, Spot] = {}
        queue: list[Waiting] = []
        picked: list[TreeNode] = []
        expected = 1.0
        best_ratio = 1.0
        best = -1
        node = -1
        reach = 1.0
        tail = spell(text[-longest:])
        bound = longest
        copies: Sequence[Copy] = ()
        if self.state_depth is not None:
            copies = self._semantic.find(len(text))
        while True:
            # No node at or below this score can pay: the ratio to beat only grows.
            least = best_ratio * least_slope if best_ratio * least_slope > floor else floor
            # No look-up after an end of text, or where no token could score enough.
            if reach > least and (node < 0 or picked[node].token not in eos):
                proposals = self._ask(tail, reach, least, bound, copies)
                spots[node] = Spot(tail, copies, proposals)
                for token, score in proposals.scores.items():
                    if score > least:
                        heappush(queue, (-score, token, node))
            if not queue or len(picked) >= budget:
                break
            if -queue[0][0] <= best_ratio * slopes[len(picked)]:
                break
            negative_score, token, parent = heappop(queue)
            reach = -negative_score
            spot = spots[parent]
            node = len(picked)
            picked.append(TreeNode(token, parent, spot.proposals))
            expected += reach
            if (ratio := expected / costs[node + 1]) > best_ratio:
                best_ratio = ratio
                best = node
            tail = (spot.tail + chr(token))[-longest:]
            # A key one token longer matches at most one token more.
            bound = spot.proposals.matched + 1
            copies = self._semantic.advance(spot.copies, token) if spot.copies else ()
        ahead = tuple(text[len(self._context.text) :])
        self._drafts.append(PastDraft(len(text), ahead, picked, spots))
        if best < 0:
            is_known = any(spot.proposals.scores for spot in spots.values())
            return DraftTree(why_empty="not worth it" if is_known else "no match")
        return self._tree_of(picked[: best + 1])

    def _tree_of(self, nodes: Sequence[TreeNode]) -> DraftTree:
        """Return nodes as a draft tree."""
        tree = DraftTree()
        for token, parent, proposals in nodes:
            answer, (_, count, position) = proposals.origins[token]
            tree.add(
                token,
                parent,
                self.sources[answer.database],
                key_length=answer.key_length,
                count=count,
                score=proposals.scores[token],
                position=position,
                cosine=proposals.cosines.get(token),
            )
        return tree

    def _learn(self, tokens: Sequence[int]) -> None:
        """Count hits and misses of the answers along the emitted tokens in the trees drafted since
        the last call.
        """
        start = len(self._context.text)
        observe = self._trust.observe
        for length, ahead, picked, spots in self._drafts:
            place = length - start
            if place < 0 or tuple(tokens[:place]) != ahead:
                # Drafted after tokens that the target then rejected: what would have followed is
                # unknown.
                continue
            node = -1
            while place < len(tokens):
                token = tokens[place]
                answers = spots[node].proposals.answers if node in spots else ()
                for which, _, bucket, expected, continuations in answers:
                    hit = any(proposed == token for proposed, _, _ in continuations)
                    observe(which, bucket, expected, hit)
                    if hit:
                        break
                child = _child_with(picked, node, token)
                if child is None:
                    break
                node = child
                place = place + 1
        self._drafts.clear()


def _cosine_at(copies: Sequence[Copy], position: int | None) -> float:
    """Return the similarity of the copy that continues at a position of the text."""
    return next(copy.cosine for copy in copies if copy.position == position)


def _child_with(picked: Sequence[TreeNode], parent: int, token: int) -> int | None:
    """Return the node after ``parent`` with this token, ``None`` if there is none."""
    for node in range(parent + 1, len(picked)):
        if picked[node].parent == parent and picked[node].token == token:
            return node
    return None


class LogitsDatabaseDrafter(DatabaseDrafter, LogitsObserver):
    """A database drafter with the target's probabilities as one of its databases:
    ``databases["logits"]`` is a :class:`~hsd_viz.drafting.context.LogitsDatabase`, filled after
    each verification.
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
        for node, source in enumerate(tree.sources):
            if source == LOGITS:
                tree.counts[node] = None  # its counts are probabilities
        return tree
