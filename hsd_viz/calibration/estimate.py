"""Estimate acceptance from traces: the drafts of each level that the level above accepted.

On-policy only: rounds count in which the one model's tokens were verified by the other. A curve over all positions of a
text would be too high, because real rounds begin right after a rejection, where the text is hard. Rounds are pooled
over traces.

The later tokens of a draft are only examined when the earlier ones were accepted, and drafts differ in length: so S(k)
is a product of conditional acceptances, each the share of the examined tokens (Kaplan & Meier 1958). A round cut short
by the end of the text counts for the tokens it accepted and for none after them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise

from hsd_viz.calibration.timing import Timing, timings
from hsd_viz.latency.acceptance import Edge, Tier
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.mixture import Mixture
from hsd_viz.stack import StackError, parse
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
class EdgeEstimate(AcceptanceCounts):
    """The counts of one edge, and its measured survival curve."""

    curve: Edge = field(default_factory=Edge)

    @property
    def counts(self) -> AcceptanceCounts:
        """The counts without the curve."""
        return AcceptanceCounts(*(getattr(self, field.name) for field in fields(AcceptanceCounts)))


@dataclass(frozen=True, slots=True)
class TierEstimate:
    """Acceptance of a database's drafts by one verifier, over ``rounds`` look-ups."""

    rounds: int
    tier: Tier


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimates of a set of traces: acceptance by (draft, verifier) and (database, verifier), and times."""

    models: tuple[str, ...]
    edges: dict[tuple[str, str], EdgeEstimate]
    tiers: dict[tuple[str, str], TierEstimate]
    timing: Timing

    def calibration(self) -> Calibration:
        """Return the inputs of the law.

        Raises:
            ValueError: if no forward pass of a model was timed.
        """
        return Calibration(
            models=self.models,
            costs=dict(self.timing.models),
            edges={pair: e.curve for pair, e in self.edges.items()},
            tiers={pair: t.tier for pair, t in self.tiers.items()},
            lookups=dict(self.timing.lookups),
        )


def estimate(traces: Iterable[Trace], models: Iterable[str] | None = None) -> Estimates:
    """Return estimates from ``traces``, all of one target, machine, kind of text and sampling.

    ``models`` orders the models, smallest first, the target last (default: by parameter count, as the traces give it).
    Survival curves are of one verification rule, that of most rounds of the draft models; rounds judged by another one
    are left out.
    """
    traces = list(traces)
    rounds, looked_up = rounds_of(traces)
    return Estimates(
        models=tuple(models) if models is not None else _by_size(traces),
        edges={pair: edge_estimate(rows, *pair) for pair, rows in rounds.items() if any(r.examined for r in rows)},
        tiers={
            pair: TierEstimate(c.total(), Tier.counted((m, a, n) for (m, a), n in c.items()))
            for pair, c in looked_up.items()
        },
        timing=timings((trace, level_names(trace), bottom_of(trace)) for trace in traces),
    )


def rounds_of(
    traces: Iterable[Trace], rule: str | None = None
) -> tuple[dict[tuple[str, str], list[RoundRow]], dict[tuple[str, str], Counter]]:
    """Return rounds by (draft, verifier), and counts of (drafted, accepted) by (database, verifier).

    Where rounds were judged by several rules, those by ``rule`` (default: by the most frequent one).
    """
    rounds: dict[tuple[str, str], list[RoundRow]] = {}
    looked_up: dict[tuple[str, str], Counter] = {}
    for trace in traces:
        # In old traces `auto` chose the drafter of each round by its expected gain: a biased sample of acceptance.
        if _resolved(trace).startswith("auto"):
            continue
        names, bottom = level_names(trace), bottom_of(trace)
        for row in trace.round_rows:
            if row.level == 0 or (row.why_no_draft in ("no room", "off")):
                continue
            if row.level == 1 and bottom is not None:
                if row.outcome != "stopped":
                    looked_up.setdefault((bottom, names[1]), Counter())[row.drafted, row.accepted] += 1
            elif row.drafted:
                rounds.setdefault((names[row.level - 1], names[row.level]), []).append(row)
    by_rule = Counter(row.rule for rows in rounds.values() for row in rows)
    if len(by_rule) > 1:
        kept = rule or by_rule.most_common(1)[0][0]
        rounds = {pair: [row for row in rows if row.rule == kept] for pair, rows in rounds.items()}
    return {pair: rows for pair, rows in rounds.items() if rows}, looked_up


def edge_estimate(rows: Iterable[RoundRow], draft: str = "", verifier: str = "") -> EdgeEstimate:
    """Return the figures of one edge from its rounds (chains that were not empty)."""
    rows = list(rows)
    counts = Counter(r.accepted for r in rows)
    drafted, examined, accepted = (sum(getattr(r, name) for r in rows) for name in ("drafted", "examined", "accepted"))
    longest = max(r.examined for r in rows)
    examined_at = [sum(r.examined >= k for r in rows) for k in range(1, longest + 1)]
    accepted_at = [sum(r.accepted >= k for r in rows) for k in range(1, longest + 1)]
    known = sum(n >= ENOUGH for n in examined_at)
    survival, product = [], 1.0
    for hits, seen in zip(accepted_at[:known], examined_at[:known], strict=True):
        product *= hits / seen
        survival.append(product)
    # The tail pools the last two places of the curve and all later ones.
    tail = max(0, known - 2)
    low, high = wilson(accepted, examined)
    return EdgeEstimate(
        draft=draft,
        verifier=verifier,
        rounds=len(rows),
        drafted=drafted,
        examined=examined,
        accepted=accepted,
        histogram=tuple(counts[k] for k in range(max(counts) + 1)),
        low=low,
        high=high,
        rule=rows[0].rule,
        curve=Edge(tuple(survival), sum(accepted_at[tail:]) / sum(examined_at[tail:])),
    )


def estimate_mixture(texts: Sequence[Sequence[Trace]], found: Estimates, *, prior: float = PRIOR) -> Mixture:
    """Return the mixture of groups of texts (or of their :func:`stretches`) by ease; ``found`` are the pooled
    estimates.

    ``texts[k]`` are the traces of one text, by the same stacks for each. A text is easier if its target rounds gained
    more tokens. The figures of a group, which has few rounds, are mixed with those of the pool, which count as
    ``prior`` rounds.
    """
    pooled = found.calibration()
    order = sorted((t for t in texts if any(len(trace.token_rows) for trace in t)), key=_ease)
    count = min(GROUPS, max(1, len(order) // GROUP))
    bounds = [round(k * len(order) / count) for k in range(count + 1)]
    groups = [[trace for text in order[a:b] for trace in text] for a, b in pairwise(bounds)]
    tokens = [sum(len(trace.token_rows) for trace in group) for group in groups]
    if not sum(tokens) or count == 1:
        return Mixture.of(pooled)
    parts = []
    for group, n in zip(groups, tokens, strict=True):
        rounds, looked_up = rounds_of(group, next((edge.rule for edge in found.edges.values()), None))
        edges = {pair: _edge(rounds.get(pair, ()), pool, prior) for pair, pool in pooled.edges.items()}
        tiers = {pair: _tier(looked_up.get(pair, Counter()), pool, prior) for pair, pool in pooled.tiers.items()}
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


def _edge(rows: Sequence[RoundRow], pool: Edge, prior: float) -> Edge:
    """Return conditional acceptance place by place; the pool counts as ``prior`` examined tokens at each."""
    whole = pool.curve(_PLACES)
    survival, product = [], 1.0
    for k in range(1, _PLACES + 1):
        examined = sum(r.examined >= k for r in rows)
        expected = float(whole[k] / whole[k - 1]) if whole[k - 1] > 0 else pool.tail
        product *= (sum(r.accepted >= k for r in rows) + prior * expected) / (examined + prior)
        survival.append(product)
    return Edge(tuple(survival), pool.tail)


def _tier(counts: Counter, pool: Tier, prior: float) -> Tier:
    seen = Counter({(m, a): prior * chance for m, a, chance in pool.outcomes})
    seen.update(counts)
    total = sum(seen.values())
    return Tier(tuple((m, a, n / total) for (m, a), n in sorted(seen.items())))


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate (Wilson 1927); (0, 1) without trials."""
    if not trials:
        return 0.0, 1.0
    rate, z2 = hits / trials, _Z * _Z
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z * math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def level_names(trace: Trace) -> dict[int, str]:
    """Return the name of each level of the stack that a trace decoded with."""
    return {c.level: c.name for c in trace.call_rows}


def bottom_of(trace: Trace) -> str | None:
    """Return the database below the models as the stack names it, ``None`` without one."""
    name = next((c.name for c in trace.call_rows if c.kind == "lookup"), None)
    if name is None:
        return None
    try:
        return str(parse(_resolved(trace)).bottom or name)
    except StackError:
        return name


def _resolved(trace: Trace) -> str:
    return str(trace.meta.get("stack_resolved") or trace.meta.get("stack", "")).strip()


def _by_size(traces: list[Trace]) -> tuple[str, ...]:
    """Return the models by parameter count, the target last; those without a count in the order of their levels."""
    sizes: dict[str, tuple[int, float, int]] = {}
    for trace in traces:
        bottom = next((0 for c in trace.call_rows if c.kind == "lookup"), None)
        names = {level: name for level, name in level_names(trace).items() if level != bottom}
        parameters = {m["name"]: m.get("parameters") or 0 for m in trace.meta.get("models", ())}
        for level, name in names.items():
            sizes.setdefault(name, (level == max(names), parameters.get(name, 0), level))
    return tuple(sorted(sizes, key=sizes.__getitem__))
