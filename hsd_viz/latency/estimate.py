"""Estimate acceptance and costs from traces.

Acceptance is on-policy: a curve over all positions of a text would be too high, because real rounds
begin right after a rejection, where the text is hard. The later tokens of a draft are only examined
when the earlier ones were accepted, and drafts differ in length: so S(k) is a product of
conditional acceptances, each the share of the examined tokens (Kaplan & Meier 1958). A round cut
short by the end of the text counts for the tokens it accepted and for none after them. Costs are
medians by tokens fed, made monotone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from hsd_viz.latency.inputs import (
    Calibration,
    Edge,
    LevelCost,
    LookupCost,
    OverDatabase,
    Tier,
    UnsureStop,
)
from hsd_viz.stack import decoded_stack
from hsd_viz.trace import Row, Trace

#: A place in the draft has its own figure when this many tokens were examined there; later places
#: share one figure.
ENOUGH = 40
MS = 1e-6
Pair = tuple[str, str]


def estimate(traces: Iterable[Trace], models: Iterable[str] | None = None) -> Calibration:
    """Return the inputs of the law from ``traces``, all of one target, machine, kind of text and
    sampling. ``models`` orders the models, smallest first, the target last (default: by parameter
    count, as the traces give it).

    Raises:
        UserError: if no forward pass of a model was timed.
    """
    traces = list(traces)
    rounds, looked_up = rounds_of(traces)
    costs, lookups, after = times_of(traces)
    edges = {}
    for pair, rows in rounds.items():
        edges[pair] = estimate_edge(rows)
    tiers = {}
    for pair, counts in looked_up.items():
        tiers[pair] = _tier(counts)
    return Calibration(
        models=tuple(models) if models is not None else _by_size(traces),
        costs=costs,
        edges=edges,
        tiers=tiers,
        lookups=lookups,
        over=over_databases(traces),
        after=after,
        stops=unsure_stops(traces),
    )


def _tier(counts: Counter) -> Tier:
    """Return counts of (drafted, accepted) as probabilities."""
    total = counts.total()
    outcomes = []
    for (drafted, accepted), count in sorted(counts.items()):
        outcomes.append((drafted, accepted, count / total))
    return Tier(tuple(outcomes))


def names_of(trace: Trace) -> tuple[dict[int, str], str | None]:
    """Return the name of each level of the stack that a trace decoded with, and the database below
    the models as the stack names it, if there is one.
    """
    names: dict[int, str] = {}
    database = None
    for call in trace.call_rows:
        names[call.level] = call.name
        if call.kind == "lookup" and database is None:
            database = str(decoded_stack(trace.meta).bottom)
    return names, database


def own_times(trace: Trace) -> dict[int, int]:
    """Return the ns of each round without the rounds and calls inside it."""
    own = {r.id: r.duration_ns for r in trace.round_rows}
    for r in trace.round_rows:
        if r.parent in own:
            own[r.parent] -= r.duration_ns
    for c in trace.call_rows:
        if c.round in own:
            own[c.round] -= c.duration_ns
    return own


# --- acceptance -----------------------------------------------------------------------------------


def rounds_of(traces: Iterable[Trace]) -> tuple[dict[Pair, list[Row]], dict[Pair, Counter]]:
    """Return rounds by (draft, verifier), and counts of (drafted, accepted) by (database,
    verifier). Where the rounds of a pair were judged by several rules, those by the most frequent
    one; a pair of which nothing was examined is left out. Drafts that stop when they are unsure do
    not count: those that continue are the surer ones.
    """
    rounds: dict[Pair, list[Row]] = defaultdict(list)
    looked_up: dict[Pair, Counter] = defaultdict(Counter)
    for trace in traces:
        names, database = names_of(trace)
        unsure = _unsure_levels(trace)
        for row in trace.round_rows:
            if row.level == 0 or (row.why_no_draft in ("no room", "off")):
                continue
            if row.level == 1 and database is not None:
                if row.outcome != "stopped":
                    looked_up[database, names[1]][row.drafted, row.accepted] += 1
            elif row.drafted and row.level - 1 not in unsure:
                rounds[names[row.level - 1], names[row.level]].append(row)
    for pair, rows in rounds.items():
        rule, _ = Counter(row.rule for row in rows).most_common(1)[0]
        rounds[pair] = [row for row in rows if row.rule == rule]
    examined = {}
    for pair, rows in rounds.items():
        if any(row.examined for row in rows):
            examined[pair] = rows
    return examined, looked_up


def _unsure_levels(trace: Trace) -> dict[int, tuple[float, int]]:
    """Return the confidence and the lookahead of each level that stops when it is unsure."""
    unsure = {}
    for model in trace.meta.get("models", ()):
        if model.get("confidence") is not None:
            unsure[model["level"]] = model["confidence"], model["lookahead"]
    return unsure


def unsure_stops(traces: Iterable[Trace]) -> dict[Pair, tuple[UnsureStop, ...]]:
    """Return by (draft model, verifier) what was drafted and accepted with each confidence, those
    with the longest lookahead of each. Drafts that the limit cut, and those that an end token ended
    on the way, are left out.
    """
    counts: dict[Pair, dict[tuple[float, int], Counter]] = defaultdict(lambda: defaultdict(Counter))
    for trace in traces:
        names, _ = names_of(trace)
        unsure = _unsure_levels(trace)
        for row in trace.round_rows:
            is_whole = row.draft_end in ("length", "confidence") and row.outcome != "stopped"
            if is_whole and row.level - 1 in unsure:
                pair = names[row.level - 1], names[row.level]
                counts[pair][unsure[row.level - 1]][row.drafted, row.accepted] += 1
    by_pair: dict[Pair, tuple[UnsureStop, ...]] = {}
    for pair, by_setting in counts.items():
        longest: dict[float, int] = {}
        for confidence, lookahead in sorted(by_setting):
            longest[confidence] = lookahead
        stops = []
        for confidence, lookahead in longest.items():
            stops.append(_unsure_stop(confidence, lookahead, by_setting[confidence, lookahead]))
        by_pair[pair] = tuple(stops)
    return by_pair


def _unsure_stop(confidence: float, lookahead: int, counts: Counter) -> UnsureStop:
    """Return counts of (drafted, accepted) as probabilities; a middle level's overshoot is part of
    its last place.
    """
    total = counts.total()
    shares: dict[tuple[int, int], float] = defaultdict(float)
    for (drafted, accepted), n in counts.items():
        shares[min(drafted, lookahead), min(accepted, lookahead)] += n / total
    outcomes = []
    for (drafted, accepted), share in sorted(shares.items()):
        outcomes.append((drafted, accepted, share))
    return UnsureStop(confidence, lookahead, tuple(outcomes))


def _reaching(depths: Sequence[int], deepest: int) -> list[int]:
    """Return how many depths are k or more, k = 1, 2, ..., ``deepest``."""
    counts = []
    for place in range(1, deepest + 1):
        counts.append(sum(depth >= place for depth in depths))
    return counts


def estimate_edge(rows: Sequence[Row]) -> Edge:
    """Return the survival curve of one edge from its rounds (chains that were not empty)."""
    deepest = max(row.examined for row in rows)
    examined_at = _reaching([row.examined for row in rows], deepest)
    accepted_at = _reaching([row.accepted for row in rows], deepest)
    known = sum(n >= ENOUGH for n in examined_at)
    rates = np.divide(accepted_at[:known], examined_at[:known])
    # The tail pools the last two places of the curve and all later ones.
    tail = max(0, known - 2)
    return Edge(
        tuple(np.cumprod(rates).tolist()), sum(accepted_at[tail:]) / sum(examined_at[tail:])
    )


def over_databases(traces: Iterable[Trace]) -> dict[Pair, OverDatabase]:
    """Return acceptance by (model over its database, verifier): of tokens that the model took from
    the database, and of its own, the last of each of its rounds. Only models directly over a
    database are counted.
    """
    counts: dict[Pair, Counter] = defaultdict(Counter)
    for trace in traces:
        names, database = names_of(trace)
        #: Of each round over the model and its database, of each token that was drafted whether it
        #: is the model's own.
        own: dict[int, list[bool]] = defaultdict(list)
        for row in sorted(trace.round_rows, key=lambda row: row.start_ns):
            if database is not None and row.level == 1 and row.parent is not None:
                own[row.parent] += [*(False,) * row.accepted, True]
        for row in trace.round_rows:
            if row.id in own and row.level == 2:
                counted = counts[f"{database} > {names[1]}", names[2]]
                for k, kind in enumerate(own[row.id][: row.examined]):
                    counted[kind, "examined"] += 1
                    counted[kind, "accepted"] += k < row.accepted
    by_pair = {}
    for pair, n in counts.items():
        if n[False, "examined"] >= ENOUGH and n[True, "examined"] >= ENOUGH:
            by_pair[pair] = OverDatabase(
                n[False, "accepted"] / n[False, "examined"],
                n[True, "accepted"] / n[True, "examined"],
            )
    return by_pair


def _by_size(traces: list[Trace]) -> tuple[str, ...]:
    """Return the models by parameter count, the target last; those without a count in the order of
    their levels.
    """
    sizes: dict[str, tuple[bool, float, int]] = {}
    for trace in traces:
        names, database = names_of(trace)
        parameters = {m["name"]: m.get("parameters") or 0 for m in trace.meta.get("models", ())}
        for level, name in names.items():
            if level or database is None:
                sizes.setdefault(name, (level == max(names), parameters.get(name, 0), level))
    return tuple(sorted(sizes, key=sizes.__getitem__))


# --- costs ----------------------------------------------------------------------------------------


def verifications(traces: Iterable[Trace]) -> dict[str, dict[int, list[float]]]:
    """Return the ms of each model's verifications by the number of tokens fed."""
    times: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trace in traces:
        for call in trace.call_rows:
            if call.kind == "verify":
                times[call.name][call.fed].append(call.duration_ns * MS)
    return times


def times_of(
    traces: Sequence[Trace],
) -> tuple[dict[str, LevelCost], dict[str, LookupCost], dict[Pair, float]]:
    """Return the costs of models and of databases by name, and the cost of a verification right
    above a model or database, relative to the verifier's curve, by (below, verifier). The overhead
    of a verification is the time of its round without the calls and rounds inside it, at the target
    plus the pause before the next round; medians. The time of a drafting loop between its forward
    passes is part of it.
    """
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    drafts: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    above: dict[Pair, list[tuple[int, float]]] = defaultdict(list)
    for trace in traces:
        names, database = names_of(trace)
        below = names if database is None else {**names, 0: database}
        own = own_times(trace)
        for call in trace.call_rows:
            ms = call.duration_ns * MS
            if call.kind == "draft":
                drafts[call.name][call.steps].append(ms)
            elif call.kind in ("lookup", "update"):
                times[call.kind, below[0]].append(ms)
            elif call.kind == "verify" and call.level:
                above[below[call.level - 1], call.name].append((call.fed, ms))
        for r in trace.round_rows:
            times["overhead", names[r.level]].append(max(0.0, own[r.id] * MS))
        top = sorted((r for r in trace.round_rows if r.parent is None), key=lambda r: r.start_ns)
        for this, following in pairwise(top):
            pause = (following.start_ns - this.start_ns - this.duration_ns) * MS
            times["pause", names[this.level]].append(max(0.0, pause))

    def typical(kind: str, name: str) -> float:
        return median(times[kind, name] or [0.0])

    verified = verifications(traces)
    models = {}
    for name in dict.fromkeys([*verified, *drafts]):
        each, launch = _drafting(drafts[name]) if name in drafts else (0.0, 0.0)
        draft = (each,) if name in drafts else None
        forward = _curve(verified[name]) if name in verified else (each,)
        models[name] = LevelCost(
            forward=forward,
            draft=draft,
            overhead=typical("overhead", name) + typical("pause", name),
            draft_overhead=launch,
        )
    lookups = {}
    for kind, name in list(times):
        if kind == "lookup":
            lookups[name] = LookupCost(typical("lookup", name), typical("update", name))
    after = {}
    for pair, rows in above.items():
        verifier = models[pair[1]]
        after[pair] = median(ms / verifier.verifying(fed) for fed, ms in rows)
    return models, lookups, after


def monotone(values: list[float], weights: list[float]) -> list[float]:
    """Return the closest non-decreasing curve by weighted squares (pool adjacent violators, Ayer et
    al. 1955).
    """
    pools: list[list[float]] = []
    for value, weight in zip(values, weights, strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            upper, upper_weight, upper_places = pools.pop()
            lower, lower_weight, lower_places = pools.pop()
            weight = lower_weight + upper_weight
            pooled = (lower * lower_weight + upper * upper_weight) / weight
            pools.append([pooled, weight, lower_places + upper_places])
    curve = []
    for value, _, places in pools:
        curve += [value] * int(places)
    return curve


def _curve(times: Mapping[int, list[float]]) -> tuple[float, ...]:
    """Return c(1), c(2), ... in ms from times by tokens fed: medians, monotone, interpolated."""
    fed = sorted(times)
    levels = monotone([median(times[m]) for m in fed], [len(times[m]) for m in fed])
    return tuple(np.interp(np.arange(1, fed[-1] + 1), fed, levels).tolist())


def _drafting(times: Mapping[int, list[float]]) -> tuple[float, float]:
    """Return the cost of a drafting forward pass and the fixed cost of a launch, from times by the
    number of passes in a launch: a straight line through the medians; one length alone gives no
    intercept.
    """
    steps = np.array(sorted(times), float)
    medians = np.array([median(times[int(n)]) for n in steps])
    weights = np.array([len(times[int(n)]) for n in steps], float)
    through_zero = float((weights * steps * medians).sum() / (weights * steps * steps).sum())
    if len(steps) > 1:
        slope, launch = np.polyfit(steps, medians, 1, w=np.sqrt(weights))
        if slope > 0 and launch >= 0:
            return float(slope), float(launch)
    return through_zero, 0.0
