"""The hierarchy of databases: asked in order of locality, merged into one scored draft tree.

The order of locality (context, then model, then statistics) is that of Hierarchy Drafting (Cho et al., Findings of NAACL 2025,
arXiv 2502.05609). What is drafted differs: keys are longest suffixes, the databases' answers are mixed with probabilities, the
tree grows best-first, and it stops where another token would cost more than it gains.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

from .context import ContextDatabase, Match, spell
from .costs import CPU_MARGINAL, CostCurve, cost_curve
from .estimates import DISCOUNTS, LONGEST_BUCKET, Trust
from .logits import LOGITS, LogitsDatabase
from .tree import DraftTree, as_eos_set

#: No node is drafted that the verifier is expected to reach less often than this; where verifying is free, than that.
LEAST_SCORE, LEAST_FREE = 0.01, 0.001
#: No answer is given more than this share of what was left open.
SUREST = 0.999


class Database(Protocol):
    """A database: answers the end of a text with what may come next."""

    def lookup(self, tail: str, longest: int | None = None) -> Match | None:
        """What followed the longest suffix of ``tail`` it knows, or ``None``; ``longest`` caps the key."""


class DatabaseDrafter:
    """Drafts for one run from the databases named in ``sources``, in that order.

    ``shared`` holds the databases that outlive a run by source name (``model``, ``statistics``); the context database is made
    here. ``costs`` is what verifying costs (see :func:`hsd_viz.drafting.costs.cost_curve`); ``None`` drafts as much as the
    budget allows. ``temperature`` is that of the target's sampling: the warmer, the less any proposal is trusted at first. An
    end-of-text token (``eos``: one id or several) may be drafted, nothing after it.
    """

    name = "db"
    nodes = 24

    def __init__(
        self,
        sources: Sequence[str],
        shared: dict[str, Database],
        *,
        eos: int | Collection[int] | None = None,
        costs: CostCurve | Sequence[float] | float | None = CPU_MARGINAL,
        temperature: float = 0.0,
        longest: int = 8,
    ) -> None:
        self.sources = tuple(sources)
        self.ends = as_eos_set(eos)
        self.costs = cost_curve(costs)
        self.temperature = temperature
        self.floor = LEAST_FREE if costs is None else LEAST_SCORE
        self.longest = longest
        #: Tokens per cost of a step without a draft that a decode reaches on the whole, where somebody keeps count. A node is then worth
        #: its cost when what it adds is more than that; without it each tree is made the best by itself, whatever others are like.
        self.min_gain_rate: float | None = None
        self.shared = shared
        self._tables: dict[int, tuple[list[float], list[float]]] = {}
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt: the context database and the run's estimates start anew."""
        self._context = ContextDatabase(self.longest)
        self._trust = Trust(self.sources, self.temperature)
        #: For each database, in the order in which they are asked: its number, whether it is the context database, its look-up,
        #: its rates by key length, its discount.
        self._databases = [
            (
                i,
                s == "context",
                self._context.lookup if s == "context" else self.shared[s].lookup,
                self._trust.rates[i],
                DISCOUNTS[s],
            )
            for i, s in enumerate(self.sources)
        ]
        self._asked: list[tuple] = []
        self._context.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted: learn which proposals were right, then remember the tokens."""
        self._learn(tokens)
        self._context.extend(tokens)

    def _ask(self, tail: str, reach: float, least: float, bound: int) -> tuple[dict[int, tuple], list[tuple], int]:
        """Probabilities for the token after ``tail``, a place that the verifier is expected to reach with probability ``reach``.

        Each database is asked in turn for the longest suffix it knows and takes its part of what the more local ones left
        open (as in PPM, Cleary & Witten 1984); the less local ones are left alone once nothing they could say would score
        above ``least``. Returns {token: (score, source, key length, count, position)}, a token keeping the first source that
        proposed it while scores add up; for learning (database, key length, expected, continuations) per answer; and the length
        of the context's match, which like ``bound`` says how long a key can match there at most.
        """
        candidates: dict[int, tuple] = {}
        answers: list[tuple] = []
        left, found = reach, bound
        for which, own, lookup, rates, discount in self._databases:
            if left <= least:
                break
            match = lookup(tail, bound) if own else lookup(tail)
            if match is None:
                if own:
                    found = 0
                continue
            length, total, continuations = match
            if own:
                found = length
            bucket = length if length < LONGEST_BUCKET else LONGEST_BUCKET
            rate = rates[bucket]
            seen = 0.0
            for _, count, _ in continuations:
                seen += count - discount
            # No answer takes more than what is left, and none is certain.
            scale = left * rate / total if rate * seen < SUREST * total else left * SUREST / seen
            for token, count, position in continuations:
                before = candidates.get(token)
                if before is None:
                    candidates[token] = (scale * (count - discount), which, length, count, position)
                else:
                    candidates[token] = (before[0] + scale * (count - discount), *before[1:])
            answers.append((which, bucket, seen / total, continuations))
            left -= scale * seen
        return candidates, answers, found

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """The tree of at most ``budget`` nodes after ``text`` that promises the most tokens for its cost.

        Nodes are added best first, so scores never rise from one to the next; the tree kept is the prefix of them with the best
        ratio of expected tokens (1 + Σ scores) to cost. Where it is known what is reached ``min_gain_rate``, it is all nodes that are
        better than that.
        """
        if budget < 1:
            return DraftTree(why_empty="no room")
        ends, longest, ask = self.ends, self.longest, self._ask
        if budget not in self._tables:
            self._tables[budget] = self.costs.tables(budget)
        at, slopes = self._tables[budget]
        least_slope, floor = self.costs.least_slope, self.floor
        asked: dict[int, list[tuple]] = {}
        queue: list[tuple] = []
        picked: list[tuple] = []
        min_gain_rate = self.min_gain_rate
        expected = 1.0
        best_ratio = min_gain_rate or 1.0
        best = -1
        node, reach, tail, bound = -1, 1.0, spell(text[-longest:]), longest
        matched = False
        while True:
            # Nothing at or below this score can ever pay: the ratio to beat only grows.
            least = best_ratio * least_slope
            if least < floor:
                least = floor
            # After an end of text, or where no token could score enough, nobody is asked.
            if reach > least and (node < 0 or picked[node][0] not in ends):
                candidates, asked[node], found = ask(tail, reach, least, bound)
                if candidates:
                    matched = True
                # A key one token longer matches at most one token more.
                found += 1
                for token, entry in candidates.items():
                    if entry[0] > least:
                        # The token breaks ties, so that equal scores do not depend on the order of a dictionary.
                        heappush(queue, (-entry[0], token, node, tail, found, entry))
            if not queue or len(picked) >= budget or -queue[0][0] <= best_ratio * slopes[len(picked)]:
                break
            negative, token, parent, tail, bound, entry = heappop(queue)
            reach = -negative
            node = len(picked)
            picked.append((token, parent, entry))
            expected += reach
            ratio = expected / at[node + 1]
            if min_gain_rate is not None:
                best = node
            elif ratio > best_ratio:
                best_ratio, best = ratio, node
            tail = (tail + chr(token))[-longest:]
        self._asked.append((len(text), tuple(text[len(self._context.text) :]), picked, asked))
        if best < 0:
            return DraftTree(why_empty="not worth it" if matched else "no match")
        tokens, parents, entries = zip(*picked[: best + 1], strict=True)
        scores, numbers, lengths, counts, positions = map(list, zip(*entries, strict=True))
        return DraftTree(
            list(tokens), list(parents), [self.sources[k] for k in numbers], lengths, counts, scores, positions
        )

    def _learn(self, tokens: Sequence[int]) -> None:
        """Walk the trees drafted since the last call along what was emitted and count hits and misses of every answer on the way."""
        start = len(self._context.text)
        observe = self._trust.observe
        for length, ahead, picked, asked in self._asked:
            place = length - start
            if place < 0 or tuple(tokens[:place]) != ahead:
                # Drafted after tokens that the target then refused: what would have followed is not known.
                continue
            node = -1
            while place < len(tokens):
                token = tokens[place]
                for which, bucket, expected, continuations in asked.get(node, ()):
                    hit = False
                    for proposed, _, _ in continuations:
                        if proposed == token:
                            hit = True
                            break
                    observe(which, bucket, expected, hit)
                    if hit:
                        break
                for child in range(node + 1, len(picked)):
                    if picked[child][1] == node and picked[child][0] == token:
                        node = child
                        break
                else:
                    break
                place += 1
        self._asked.clear()


class HarvestingDrafter(DatabaseDrafter):
    """A database drafter with what the target held likely as one of its databases: ``logits``.

    It is told by :meth:`harvest` what each verification scored. ``logits`` in ``shared`` is the state that outlives a run.
    """

    def __init__(self, sources: Sequence[str], shared: dict[str, Database], **options: Any) -> None:
        super().__init__(sources, shared, **options)
        self._rows: LogitsDatabase = shared[LOGITS]

    def harvest(
        self, text: Sequence[int], tree: DraftTree, top: Sequence[Sequence[int]], chances: Sequence[Sequence[float]]
    ) -> None:
        """The target's likeliest tokens after ``text`` and each node: see :class:`hsd_viz.drafting.observe.LogitsObserver`."""
        longest, put = self._rows.longest, self._rows.put
        tails = [spell(text[-longest:])]
        for token, parent in zip(tree.tokens, tree.parents, strict=True):
            tails.append((tails[parent + 1] + chr(token))[-longest:])
        # The first row comes last: it is about the text that is there.
        for tail, ids, shares in zip(reversed(tails), reversed(top), reversed(chances), strict=True):
            put(tail, ids, shares)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = super().draft(text, budget)
        # A probability is no count.
        tree.counts = [
            None if source == LOGITS else count for source, count in zip(tree.sources, tree.counts, strict=True)
        ]
        return tree
