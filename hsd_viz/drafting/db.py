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

from .context import LOGITS, ContextDatabase, Database, LogitsDatabase
from .make import CPU_MARGINAL, CostCurve, Run, cost_curve, drafter
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


def _make(run: Run) -> Drafter:
    sources = run.sources()
    found = run.databases.found
    if LOGITS in run.source.items or (not run.source.items and sources == ("context",)):
        return LogitsDatabaseDrafter(
            run.source.items or (*sources, LOGITS),
            {**found, LOGITS: run.state},
            eos=run.eos,
            costs=run.costs,
            temperature=run.temperature,
        )
    return DatabaseDrafter(
        sources, found, eos=run.eos, costs=run.costs, temperature=run.temperature
    )


@drafter("db", items=(*DATABASES, SEMANTIC, LOGITS), remembers=LogitsDatabase, make=_make)
class DatabaseDrafter(Drafter):
    """Drafts for one run from the databases named in ``sources``, in that order.

    ``databases`` holds those that outlive a run by source name (``model``, ``statistics``); the
    context database is created here. ``costs`` are the costs of verification
    (:func:`~hsd_viz.drafting.make.cost_curve`), of which each tree maximizes its ratio of tokens;
    with ``None`` it fills the budget. ``temperature`` is that of the target's sampling: the higher,
    the lower the initial trust in proposals. An end-of-text token (one of ``eos``) may be drafted,
    nothing after it.
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
        #: Per database, in order: number, name, look-up, rates by key length or band, discount.
        self._levels = [
            (i, name, self._lookup_of(name), self._trust.rates[i], DISCOUNTS[name])
            for i, name in enumerate(self.sources)
        ]
        #: Per draft since the last :meth:`extend`: text length, tokens not emitted yet, nodes,
        #: answers by node.
        self._drafts: list[tuple] = []
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

    def _lookup_of(self, name: str) -> Callable[..., Any]:
        """Return the look-up of a database: by the end of a text, of the semantic one by copies."""
        if name == "context":
            return self._context.lookup
        if name == SEMANTIC:
            return self._semantic.continuations
        return self.databases[name].lookup

    def _ask(
        self, tail: str, reach: float, least: float, bound: int, copies: Sequence[Copy]
    ) -> tuple[dict[int, tuple], list[tuple], int]:
        """Return scores for the token after ``tail``, a node that the verifier reaches with
        probability ``reach`` and that these ``copies`` of earlier text lead to.

        Each database in turn is asked for its longest known suffix and takes a part of the
        probability that the more local ones left (as in PPM, Cleary & Witten 1984), until none
        could score above ``least``. Returns {token: (score, source, key length, count, position,
        cosine)}, where a token keeps the first source that proposed it while scores add up, and has
        a cosine if the semantic database proposed it, too; per answer (database, key length,
        expected, continuations) for learning; and the length of the context match, which like
        ``bound`` limits the length of a key there.
        """
        candidates: dict[int, tuple] = {}
        answers: list[tuple] = []
        left = reach
        found = bound
        for which, name, lookup, rates, discount in self._levels:
            if left <= least:
                break
            if name == "context":
                match = lookup(tail, bound)
                found = match[0] if match else 0
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
            scale = (
                left * rate / total if rate * seen < MAX_SHARE * total else left * MAX_SHARE / seen
            )
            for token, count, position in continuations:
                score = scale * (count - discount)
                cosine = None
                if name == SEMANTIC:
                    cosine = next(copy.cosine for copy in copies if copy.position == position)
                before = candidates.get(token)
                if before is None:
                    # The key of the semantic database is a state, not tokens.
                    key_length = None if name == SEMANTIC else length
                    candidates[token] = (score, which, key_length, count, position, cosine)
                else:
                    similar = before[5] if cosine is None else cosine
                    candidates[token] = (before[0] + score, *before[1:5], similar)
            answers.append((which, bucket, seen / total, continuations))
            left -= scale * seen
        return candidates, answers, found

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
        at, slopes = self._tables(budget)
        answers: dict[int, list[tuple]] = {}
        queue: list[tuple] = []
        picked: list[tuple] = []
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
            if reach > least and (node < 0 or picked[node][0] not in eos):
                candidates, answers[node], found = self._ask(tail, reach, least, bound, copies)
                matched = matched or bool(candidates)
                # A key one token longer matches at most one token more.
                found += 1
                for token, entry in candidates.items():
                    if entry[0] > least:
                        # The token breaks ties: equal scores must not depend on dictionary order.
                        onward = self._semantic.advance(copies, token) if copies else ()
                        heappush(queue, (-entry[0], token, node, tail, found, entry, onward))
            if (
                not queue
                or len(picked) >= budget
                or -queue[0][0] <= best_ratio * slopes[len(picked)]
            ):
                break
            negative, token, parent, tail, bound, entry, copies = heappop(queue)
            reach = -negative
            node = len(picked)
            picked.append((token, parent, entry))
            expected += reach
            if (ratio := expected / at[node + 1]) > best_ratio:
                best_ratio = ratio
                best = node
            tail = (tail + chr(token))[-longest:]
        self._drafts.append((len(text), tuple(text[len(self._context.text) :]), picked, answers))
        if best < 0:
            return DraftTree(why_empty="not worth it" if matched else "no match")
        tokens, parents, entries = zip(*picked[: best + 1], strict=True)
        scores, numbers, lengths, counts, positions, cosines = map(list, zip(*entries, strict=True))
        return DraftTree(
            tokens=list(tokens),
            parents=list(parents),
            sources=[self.sources[k] for k in numbers],
            key_lengths=lengths,
            counts=counts,
            scores=scores,
            positions=positions,
            cosines=cosines,
        )

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
                for which, bucket, expected, continuations in answers.get(node, ()):
                    hit = any(proposed == token for proposed, _, _ in continuations)
                    observe(which, bucket, expected, hit)
                    if hit:
                        break
                child = next(
                    (k for k in range(node + 1, len(picked)) if picked[k][:2] == (token, node)),
                    None,
                )
                if child is None:
                    break
                node = child
                place = place + 1
        self._drafts.clear()


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
        pairs = zip(tree.sources, tree.counts, strict=True)
        tree.counts = [
            None if source == LOGITS else count for source, count in pairs
        ]  # its counts are probabilities
        return tree
