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
from dataclasses import dataclass, field

from hsd_viz.calibration.timing import Timing, database_of, level_names, timings
from hsd_viz.latency.inputs import Calibration, Edge, OverDatabase, Tier
from hsd_viz.trace import RoundRow, Trace

#: A place in the draft has its own figure when this many tokens were examined there; later places share one figure.
ENOUGH = 40
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
    acceptance of databases, ``over`` that of models over a database.
    """

    models: tuple[str, ...]
    counts: dict[tuple[str, str], AcceptanceCounts]
    edges: dict[tuple[str, str], Edge]
    lookups: dict[tuple[str, str], int]
    tiers: dict[tuple[str, str], Tier]
    timing: Timing
    over: dict[tuple[str, str], OverDatabase] = field(default_factory=dict)

    def calibration(self) -> Calibration:
        """Return the inputs of the law. Raises: ValueError: if no forward pass of a model was timed."""
        timing = self.timing
        figures = (timing.models, self.edges, self.tiers, timing.lookups, self.over)
        return Calibration(self.models, *map(dict, figures))


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
        over=over_databases(traces),
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


def over_databases(traces: Iterable[Trace]) -> dict[tuple[str, str], OverDatabase]:
    """Return acceptance by (model over its database, verifier): of tokens that the model took from the database, and of
    its own, the last of each of its rounds. Only models directly over a database are counted.
    """
    counts: dict[tuple[str, str], Counter] = {}
    for trace in traces:
        names, database = level_names(trace), database_of(trace)
        if database is None or trace.stack.startswith("auto"):
            continue
        accepted_below: dict[int, list[int]] = {}
        for row in sorted(trace.round_rows, key=lambda row: row.start_ns):
            if row.parent is not None and row.level == 1:
                accepted_below.setdefault(row.parent, []).append(row.accepted)
        for row in trace.round_rows:
            if row.level != 2 or not row.drafted:
                continue
            counted = counts.setdefault((f"{database} > {names[1]}", names[2]), Counter())
            own = [place for accepted in accepted_below.get(row.id, ()) for place in (*(False,) * accepted, True)]
            for k, kind in enumerate(own[: row.examined]):
                counted[kind, "examined"] += 1
                counted[kind, "accepted"] += k < row.accepted
    return {
        pair: OverDatabase(*(n[kind, "accepted"] / n[kind, "examined"] for kind in (False, True)))
        for pair, n in counts.items()
        if n[False, "examined"] >= ENOUGH and n[True, "examined"] >= ENOUGH
    }


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
