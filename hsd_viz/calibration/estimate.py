"""Estimate acceptance from traces: the drafts of each level that the level above accepted.

On-policy only: rounds count in which the one model's tokens were verified by the other. A curve over all positions of a
text would be too high, because real rounds begin right after a rejection, where the text is hard. Rounds are pooled
over traces.

The later tokens of a draft are only examined when the earlier ones were accepted, and drafts differ in length: so S(k)
is a product of conditional acceptances, each the share of the examined tokens (Kaplan & Meier 1958). A round cut short
by the end of the text counts for the tokens it accepted and for none after them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hsd_viz.calibration.timing import Timing, database_of, level_names, timings
from hsd_viz.latency.inputs import Calibration, Edge, Tier
from hsd_viz.latency.mixture import Mixture
from hsd_viz.trace import RoundRow, Trace
from hsd_viz.trace.metrics import target_round_of

#: A place in the draft has its own figure when this many tokens were examined there; later places share one figure.
ENOUGH = 40
#: Rounds that the pool counts for in each group of texts.
PRIOR = 3.0
#: Texts per group, and the largest number of groups.
GROUP, GROUPS = 4, 8
#: Emitted tokens per stretch of a text.
STRETCH = 16
#: Places of a draft for which a group has its own figure; later places have the pool's.
_PLACES = 24
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class AcceptanceCounts:
    """Acceptance of ``draft``'s tokens by ``verifier`` under a verification ``rule``, over ``rounds`` rounds.
    ``histogram[k]`` counts rounds that accepted k. ``low`` and ``high`` bound the conditional acceptance accepted /
    examined (Wilson 1927, 95 %).
    """

    draft: str
    verifier: str
    rounds: int
    drafted: int
    examined: int
    accepted: int
    histogram: tuple[int, ...]
    low: float
    high: float
    rule: str = "token"

    @property
    def acceptance(self) -> float:
        """Conditional acceptance, accepted / examined."""
        return self.accepted / self.examined


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimates of a set of traces, by (draft model, verifier) or (database, verifier). ``counts`` and ``edges``
    are the counts and the survival curves of draft models, ``lookups`` and ``tiers`` the number of look-ups and the
    acceptance of databases.
    """

    models: tuple[str, ...]
    counts: dict[tuple[str, str], AcceptanceCounts]
    edges: dict[tuple[str, str], Edge]
    lookups: dict[tuple[str, str], int]
    tiers: dict[tuple[str, str], Tier]
    timing: Timing

    def calibration(self) -> Calibration:
        """Return the inputs of the law. Raises: ValueError: if no forward pass of a model was timed."""
        timing = self.timing
        return Calibration(self.models, dict(timing.models), dict(self.edges), dict(self.tiers), dict(timing.lookups))


def estimate(traces: Iterable[Trace], models: Iterable[str] | None = None) -> Estimates:
    """Return estimates from ``traces``, all of one target, machine, kind of text and sampling. ``models`` orders the
    models, smallest first, the target last (default: by parameter count, as the traces give it). A survival curve is of
    one verification rule, that of most rounds of its models; rounds of another one are left out.
    """
    traces = list(traces)
    rounds, looked_up = rounds_of(traces)
    examined = {pair: rows for pair, rows in rounds.items() if any(r.examined for r in rows)}
    return Estimates(
        models=tuple(models) if models is not None else _by_size(traces),
        counts={pair: count_acceptance(rows, *pair) for pair, rows in examined.items()},
        edges={pair: estimate_edge(rows) for pair, rows in examined.items()},
        lookups={pair: counts.total() for pair, counts in looked_up.items()},
        tiers={pair: Tier.counted((m, a, n) for (m, a), n in c.items()) for pair, c in looked_up.items()},
        timing=timings(traces),
    )


def rounds_of(traces: Iterable[Trace]) -> tuple[dict[tuple[str, str], list[RoundRow]], dict[tuple[str, str], Counter]]:
    """Return rounds by (draft, verifier), and counts of (drafted, accepted) by (database, verifier). Where the rounds
    of a pair were judged by several rules, those by the most frequent one.
    """
    rounds: dict[tuple[str, str], list[RoundRow]] = {}
    looked_up: dict[tuple[str, str], Counter] = {}
    for trace in traces:
        # In old traces `auto` chose the drafter of each round by its expected gain: a biased sample of acceptance.
        if trace.stack.startswith("auto"):
            continue
        names, database = level_names(trace), database_of(trace)
        for row in trace.round_rows:
            if row.level == 0 or (row.why_no_draft in ("no room", "off")):
                continue
            if row.level == 1 and database is not None:
                if row.outcome != "stopped":
                    looked_up.setdefault((database, names[1]), Counter())[row.drafted, row.accepted] += 1
            elif row.drafted:
                rounds.setdefault((names[row.level - 1], names[row.level]), []).append(row)
    for pair, rows in rounds.items():
        rule, _ = Counter(row.rule for row in rows).most_common(1)[0]
        rounds[pair] = [row for row in rows if row.rule == rule]
    return rounds, looked_up


def count_acceptance(rows: Sequence[RoundRow], draft: str, verifier: str) -> AcceptanceCounts:
    """Return the counts of one edge from its rounds (chains that were not empty)."""
    by_accepted = Counter(r.accepted for r in rows)
    drafted, examined, accepted = (sum(getattr(r, name) for r in rows) for name in ("drafted", "examined", "accepted"))
    histogram = tuple(by_accepted[k] for k in range(max(by_accepted) + 1))
    interval = wilson(accepted, examined)
    return AcceptanceCounts(draft, verifier, len(rows), drafted, examined, accepted, histogram, *interval, rows[0].rule)


def estimate_edge(rows: Sequence[RoundRow]) -> Edge:
    """Return the survival curve of one edge from its rounds (chains that were not empty)."""
    places = range(1, max(r.examined for r in rows) + 1)
    examined_at = [sum(r.examined >= k for r in rows) for k in places]
    accepted_at = [sum(r.accepted >= k for r in rows) for k in places]
    known = sum(n >= ENOUGH for n in examined_at)
    survival, product = [], 1.0
    for hits, seen in zip(accepted_at[:known], examined_at[:known], strict=True):
        product *= hits / seen
        survival.append(product)
    # The tail pools the last two places of the curve and all later ones.
    tail = max(0, known - 2)
    return Edge(tuple(survival), sum(accepted_at[tail:]) / sum(examined_at[tail:]))


def estimate_mixture(texts: Sequence[Sequence[Trace]], pooled: Calibration) -> Mixture:
    """Return the mixture of groups of texts (or of their :func:`stretches`) by ease; ``pooled`` is that of all texts.

    ``texts[k]`` are the traces of one text, by the same stacks for each. A text is easier if its target rounds gained
    more tokens. The figures of a group, which has few rounds, are mixed with those of the pool, which count as
    :data:`PRIOR` rounds.
    """
    order = sorted((t for t in texts if any(len(trace.token_rows) for trace in t)), key=_ease)
    count = min(GROUPS, max(1, len(order) // GROUP))
    bounds = [round(k * len(order) / count) for k in range(count + 1)]
    groups = [[trace for text in order[a:b] for trace in text] for a, b in pairwise(bounds)]
    tokens = [sum(len(trace.token_rows) for trace in group) for group in groups]
    if not sum(tokens) or count == 1:
        return Mixture(pooled)
    parts = []
    for group, n in zip(groups, tokens, strict=True):
        rounds, looked_up = rounds_of(group)
        edges = {pair: _edge(rounds.get(pair, ()), pool) for pair, pool in pooled.edges.items()}
        tiers = {pair: _tier(looked_up.get(pair, Counter()), pool) for pair, pool in pooled.tiers.items()}
        parts.append((n / sum(tokens), replace(pooled, edges=edges, tiers=tiers)))
    return Mixture(pooled, tuple(parts))


def stretches(text: Sequence[Trace], length: int = STRETCH) -> list[list[Trace]]:
    """Return the traces of one text cut into stretches of ``length`` emitted tokens: a hard text may end in repetition.
    Requires that all stacks wrote the same text, as with greedy decoding. A target round and all rounds below it belong
    to the stretch of its first token.
    """
    cut: dict[int, list[Trace]] = {}
    for trace in text:
        owner = target_round_of(trace.round_rows)
        first: dict[int, int] = {}
        for token in trace.token_rows:
            first.setdefault(token.round, token.index // length)
        parts: dict[int, Trace] = {}
        for place in sorted(set(first.values())):
            parts[place] = Trace(trace.meta)
            parts[place].call_rows = trace.call_rows
            cut.setdefault(place, []).append(parts[place])
        for token in trace.token_rows:
            parts[first[token.round]].token_rows.append(token)
        for row in trace.round_rows:
            if owner[row.id] in first:
                parts[first[owner[row.id]]].round_rows.append(row)
    return list(cut.values())


def _ease(text: Sequence[Trace]) -> float:
    tokens = sum(len(trace.token_rows) for trace in text)
    return tokens / max(1, sum(r.parent is None for trace in text for r in trace.round_rows))


def _edge(rows: Sequence[RoundRow], pool: Edge) -> Edge:
    """Return conditional acceptance place by place; the pool counts as :data:`PRIOR` examined tokens at each."""
    whole = pool.curve(_PLACES)
    survival, product = [], 1.0
    for k in range(1, _PLACES + 1):
        examined = sum(r.examined >= k for r in rows)
        expected = float(whole[k] / whole[k - 1]) if whole[k - 1] > 0 else pool.tail
        product *= (sum(r.accepted >= k for r in rows) + PRIOR * expected) / (examined + PRIOR)
        survival.append(product)
    return Edge(tuple(survival), pool.tail)


def _tier(counts: Counter, pool: Tier) -> Tier:
    seen = Counter({(m, a): PRIOR * chance for m, a, chance in pool.outcomes})
    seen.update(counts)
    return Tier.counted((m, a, n) for (m, a), n in seen.items())


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate (Wilson 1927); (0, 1) without trials."""
    if not trials:
        return 0.0, 1.0
    rate, z2 = hits / trials, _Z * _Z
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z * math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def _by_size(traces: list[Trace]) -> tuple[str, ...]:
    """Return the models by parameter count, the target last; those without a count in the order of their levels."""
    sizes: dict[str, tuple[int, float, int]] = {}
    for trace in traces:
        names = level_names(trace)
        if database_of(trace) is not None:
            names.pop(0, None)
        parameters = {m["name"]: m.get("parameters") or 0 for m in trace.meta.get("models", ())}
        for level, name in names.items():
            sizes.setdefault(name, (level == max(names), parameters.get(name, 0), level))
    return tuple(sorted(sizes, key=sizes.__getitem__))
