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
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.stack import DATABASES

from .context import LOGITS, ContextDatabase, Database, LogitsDatabase, Match
from .costs import CPU_MARGINAL, CostCurve, cost_curve
from .make import Run, drafter
from .semantic import DEPTH, SEMANTIC, Copy, SemanticDatabase
from .tree import Drafter, DraftTree, Ids, LogitsObserver, Probabilities, spell

#: The lowest score of a drafted node: where verification has a cost, and where it is free.
MIN_SCORE = 0.01
MIN_SCORE_FREE = 0.001
#: The largest share of the remaining probability that one database can take.
MAX_SHARE = 0.999
#: Longer keys share the estimate of this length; a rate may exceed 1, as a discount may be too
#: cautious; and the weight of the prior in expected hits.
LONGEST_BUCKET = 8
MOST_RATE = 1.2
PRIOR_WEIGHT = 6.0

#: Subtracted from each continuation's count (absolute discounting, Ney, Essen & Kneser 1994): a
#: single occurrence is weaker evidence than its share suggests. Text tends to repeat itself, so the
#: context's discount is small.
DISCOUNTS = {"context": 0.15, "model": 0.4, "statistics": 0.5, "logits": 0.0, SEMANTIC: 0.15}

#: Hits per expected hit by key length 1, 2, ... (index 0 unused), where "expected" is the
#: discounted share of the counts, for greedy decoding and for sampling at temperature 1. Rounded
#: measurements on texts of two small models of Python source, prompted by the ``heldout`` suite;
#: results are not sensitive to them. The semantic database has bands of cosines instead of key
#: lengths. Its numbers are about half of those measured where it is the only database, on answers
#: of SmolLM2: after the context database it mostly finds what was found.
GREEDY = {
    "context": (0.0, 0.36, 0.56, 0.70, 0.80, 0.88, 0.96, 1.00, 1.12),
    "model": (0.0, 0.70, 0.80, 0.85, 0.90, 0.92, 0.94, 0.95, 0.95),
    "statistics": (0.0, 0.70, 0.75, 0.80, 0.85, 0.88, 0.90, 0.90, 0.90),
    "logits": (0.0, 0.58, 0.93, 0.94, 0.94, 0.94, 0.94, 0.94, 0.94),
    SEMANTIC: (0.0, 0.03, 0.08, 0.15, 0.20, 0.25, 0.35, 0.45, 0.50),
}
SAMPLED = {
    "context": (0.0, 0.22, 0.40, 0.41, 0.50, 0.58, 0.65, 0.68, 0.70),
    "model": (0.0, 0.32, 0.38, 0.34, 0.44, 0.50, 0.55, 0.60, 0.60),
    "statistics": (0.0, 0.37, 0.27, 0.24, 0.30, 0.38, 0.50, 0.50, 0.50),
    "logits": (0.0, 0.50, 0.74, 0.80, 0.80, 0.80, 0.80, 0.80, 0.80),
    SEMANTIC: (0.0, 0.02, 0.05, 0.10, 0.12, 0.15, 0.20, 0.25, 0.30),
}


def priors(source: str, temperature: float) -> list[float]:
    """Return the prior hits per expected hit of ``source`` by key length. Between greedy decoding
    and temperature 1 they are interpolated by the square of the temperature, which at 0.7 was
    within 0.1 of the measurement.
    """
    heat = min(1.0, temperature) ** 2
    pairs = zip(GREEDY[source], SAMPLED[source], strict=True)
    return [(1 - heat) * greedy + heat * sampled for greedy, sampled in pairs]


class Trust:
    """One run's estimate, per database and key length, of hits per expected hit. For a token with
    share s in a database, the estimated probability is rate·s with rate = (w·prior + hits) / (w + Σ
    expected), the posterior mean of a Gamma-Poisson model with prior weight w. ``rates[d][n]`` is
    read by the drafter.
    """

    def __init__(self, sources: tuple[str, ...], temperature: float = 0.0) -> None:
        self._priors = [priors(s, temperature) for s in sources]
        self.rates = [list(p) for p in self._priors]
        self._hits = [[0.0] * len(p) for p in self._priors]
        self._expected = [[0.0] * len(p) for p in self._priors]

    def observe(self, database: int, n: int, expected: float, hit: bool) -> None:
        """Record the total discounted share ``expected`` of a look-up, and whether it had the next
        token (``hit``).
        """
        hits = self._hits[database]
        totals = self._expected[database]
        hits[n] = seen = hits[n] + hit
        totals[n] = total = totals[n] + expected
        rate = (PRIOR_WEIGHT * self._priors[database][n] + seen) / (PRIOR_WEIGHT + total)
        self.rates[database][n] = min(rate, MOST_RATE)


class AskedDatabase(NamedTuple):
    """A database as a drafter asks it.

    Attributes:
        number: its place among the sources of the drafter.
        name: its name.
        lookup: its look-up.
        rates: how much its answers are trusted, by key length or band.
        discount: what is subtracted from each count.
    """

    number: int
    name: str
    lookup: Callable[..., Match | None]
    rates: Sequence[float]
    discount: float


class Candidate(NamedTuple):
    """A token that may be drafted next.

    Attributes:
        score: the estimated probability that the verifier accepts it.
        source: the number of the database that proposed it first.
        key_length: the tokens of the key there; ``None``: the key is a state.
        count: how often it was seen there.
        position: the place in the text that it is copied from; ``None``: of no copy.
        cosine: the similarity of the copy that the semantic database proposed it from; ``None``:
            that one did not.
    """

    score: float
    source: int
    key_length: int | None
    count: Any
    position: int | None
    cosine: float | None


class Answer(NamedTuple):
    """An answer of a database, from which the drafter learns how much to trust it.

    Attributes:
        database: its number.
        key_length: the tokens of the key; ``None``: the key is a state.
        bucket: the key length or band.
        expected: the total discounted share of its tokens.
        continuations: its tokens with counts and positions.
    """

    database: int
    key_length: int | None
    bucket: int
    expected: float
    continuations: Sequence[tuple[int, Any, int | None]]


class Proposals(NamedTuple):
    """What the databases propose after a node.

    Most tokens score too little to be drafted, so that only their scores are kept apart from the
    answers (:meth:`candidate`).

    Attributes:
        scores: by token.
        origins: by token, the first answer that has it, and its continuation there.
        cosines: by token, where the semantic database proposed it.
        answers: of the databases that were asked.
        matched: the tokens that the context database matched, or the bound of that match.
    """

    scores: dict[int, float]
    origins: dict[int, tuple[Answer, tuple[int, Any, int | None]]]
    cosines: dict[int, float]
    answers: list[Answer]
    matched: int

    def candidate(self, token: int) -> Candidate:
        """Return what is known of a token."""
        answer, (_, count, position) = self.origins[token]
        return Candidate(
            score=self.scores[token],
            source=answer.database,
            key_length=answer.key_length,
            count=count,
            position=position,
            cosine=self.cosines.get(token),
        )


class Waiting(NamedTuple):
    """A candidate in the queue: the best one first, among equals the lower token, so that the order
    does not depend on that of a dictionary.

    Attributes:
        negative_score: its score, negated.
        token: the token.
        parent: the node that it follows; -1: the text.
        tail: the end of the text up to its parent.
        bound: the longest match that the context database can have after it.
        candidate: what is known of it.
        copies: the copies that continue with it.
    """

    negative_score: float
    token: int
    parent: int
    tail: str
    bound: int
    candidate: Candidate
    copies: Sequence[Copy]


class TreeNode(NamedTuple):
    """A node of a draft tree.

    Attributes:
        token: its token.
        parent: the node that it follows; -1: the text.
        candidate: what is known of it.
    """

    token: int
    parent: int
    candidate: Candidate


class PastDraft(NamedTuple):
    """A draft whose verification is still unknown.

    Attributes:
        length: the tokens of the text that it continued.
        ahead: those of them that were not emitted yet.
        picked: its nodes, also those that were not drafted in the end.
        answers: the answers of the databases by node; -1: after the text.
    """

    length: int
    ahead: tuple[int, ...]
    picked: list[TreeNode]
    answers: dict[int, list[Answer]]


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
        origins: dict[int, tuple[Answer, tuple[int, Any, int | None]]] = {}
        cosines: dict[int, float] = {}
        answers: list[Answer] = []
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
            answer = Answer(number, key_length, bucket, seen / total, continuations)
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
        answers: dict[int, list[Answer]] = {}
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
        matched = False
        while True:
            # No node at or below this score can pay: the ratio to beat only grows.
            least = best_ratio * least_slope if best_ratio * least_slope > floor else floor
            # No look-up after an end of text, or where no token could score enough.
            if reach > least and (node < 0 or picked[node].token not in eos):
                proposals = self._ask(tail, reach, least, bound, copies)
                answers[node] = proposals.answers
                matched = matched or bool(proposals.scores)
                # A key one token longer matches at most one token more.
                longer = proposals.matched + 1
                for token, score in proposals.scores.items():
                    if score > least:
                        candidate = proposals.candidate(token)
                        onward = self._semantic.advance(copies, token) if copies else ()
                        heappush(
                            queue, Waiting(-score, token, node, tail, longer, candidate, onward)
                        )
            if not queue or len(picked) >= budget:
                break
            if -queue[0].negative_score <= best_ratio * slopes[len(picked)]:
                break
            negative_score, token, parent, tail, bound, candidate, copies = heappop(queue)
            reach = -negative_score
            node = len(picked)
            picked.append(TreeNode(token, parent, candidate))
            expected += reach
            if (ratio := expected / costs[node + 1]) > best_ratio:
                best_ratio = ratio
                best = node
            tail = (tail + chr(token))[-longest:]
        ahead = tuple(text[len(self._context.text) :])
        self._drafts.append(PastDraft(len(text), ahead, picked, answers))
        if best < 0:
            return DraftTree(why_empty="not worth it" if matched else "no match")
        return self._tree_of(picked[: best + 1])

    def _tree_of(self, nodes: Sequence[TreeNode]) -> DraftTree:
        """Return nodes as a draft tree."""
        tree = DraftTree()
        for token, parent, candidate in nodes:
            tree.add(
                token,
                parent,
                self.sources[candidate.source],
                key_length=candidate.key_length,
                count=candidate.count,
                score=candidate.score,
                position=candidate.position,
                cosine=candidate.cosine,
            )
        return tree

    def _learn(self, tokens: Sequence[int]) -> None:
        """Count hits and misses of the answers along the emitted tokens in the trees drafted since
        the last call.
        """
        start = len(self._context.text)
        observe = self._trust.observe
        for length, ahead, picked, answers in self._drafts:
            place = length - start
            if place < 0 or tuple(tokens[:place]) != ahead:
                # Drafted after tokens that the target then rejected: what would have followed is
                # unknown.
                continue
            node = -1
            while place < len(tokens):
                token = tokens[place]
                for which, _, bucket, expected, continuations in answers.get(node, ()):
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
