"""Estimate acceptance and costs from traces.

Acceptance is on-policy: rounds count in which the one model's tokens were verified by the other. A curve over all
positions of a text would be too high, because real rounds begin right after a rejection, where the text is hard. The
later tokens of a draft are only examined when the earlier ones were accepted, and drafts differ in length: so S(k) is a
product of conditional acceptances, each the share of the examined tokens (Kaplan & Meier 1958). A round cut short by
the end of the text counts for the tokens it accepted and for none after them. Costs are medians by tokens fed, made
monotone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, OverDatabase, Tier
from hsd_viz.stack import StackError, parse
from hsd_viz.trace import CallRow, RoundRow, Trace

#: A place in the draft has its own figure when this many tokens were examined there; later places share one figure.
ENOUGH = 40
_MS = 1e-6
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Timing:
    """Costs of models and databases by name; ``medians`` has the times of a model's verifications by number of tokens
    fed: (ms, count); ``after`` compares those right above a model or database with the curve of all, by (below,
    verifier).
    """

    models: Mapping[str, LevelCost]
    lookups: Mapping[str, LookupCost]
    medians: Mapping[str, Mapping[int, tuple[float, int]]]
    after: Mapping[Pair, float]


def estimate(traces: Iterable[Trace], models: Iterable[str] | None = None) -> Calibration:
    """Return the inputs of the law from ``traces``, all of one target, machine, kind of text and sampling. ``models``
    orders the models, smallest first, the target last (default: by parameter count, as the traces give it). A survival
    curve is of one verification rule, that of most rounds of its models; rounds of another one are left out. Raises:
    ValueError: if no forward pass of a model was timed.
    """
    traces = list(traces)
    rounds, looked_up = rounds_of(traces)
    timing = timings(traces)
    return Calibration(
        models=tuple(models) if models is not None else _by_size(traces),
        costs=timing.models,
        edges={pair: estimate_edge(rows) for pair, rows in rounds.items()},
        tiers={
            pair: Tier(tuple((m, a, n / counts.total()) for (m, a), n in sorted(counts.items())))
            for pair, counts in looked_up.items()
        },
        lookups=timing.lookups,
        over=over_databases(traces),
        after=timing.after,
    )


def level_names(trace: Trace) -> dict[int, str]:
    """Return the name of each level of the stack that a trace decoded with."""
    return {c.level: c.name for c in trace.call_rows}


def database_of(trace: Trace) -> str | None:
    """Return the database below the models as the stack names it, ``None`` without one."""
    name = next((c.name for c in trace.call_rows if c.kind == "lookup"), None)
    try:
        return name and str(parse(trace.stack).bottom or name)
    except StackError:
        return name


# --- acceptance -------------------------------------------------------------------------------------------------------


def rounds_of(traces: Iterable[Trace]) -> tuple[dict[Pair, list[RoundRow]], dict[Pair, Counter]]:
    """Return rounds by (draft, verifier), and counts of (drafted, accepted) by (database, verifier). Where the rounds
    of a pair were judged by several rules, those by the most frequent one; a pair of which nothing was examined is left
    out.
    """
    rounds: dict[Pair, list[RoundRow]] = {}
    looked_up: dict[Pair, Counter] = {}
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
    return {pair: rows for pair, rows in rounds.items() if any(row.examined for row in rows)}, looked_up


def estimate_edge(rows: Sequence[RoundRow]) -> Edge:
    """Return the survival curve of one edge from its rounds (chains that were not empty)."""
    places = range(1, max(r.examined for r in rows) + 1)
    examined_at = [sum(r.examined >= k for r in rows) for k in places]
    accepted_at = [sum(r.accepted >= k for r in rows) for k in places]
    known = sum(n >= ENOUGH for n in examined_at)
    rates = np.divide(accepted_at[:known], examined_at[:known])
    # The tail pools the last two places of the curve and all later ones.
    tail = max(0, known - 2)
    return Edge(tuple(np.cumprod(rates).tolist()), sum(accepted_at[tail:]) / sum(examined_at[tail:]))


def over_databases(traces: Iterable[Trace]) -> dict[Pair, OverDatabase]:
    """Return acceptance by (model over its database, verifier): of tokens that the model took from the database, and of
    its own, the last of each of its rounds. Only models directly over a database are counted.
    """
    counts: dict[Pair, Counter] = {}
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


# --- costs ------------------------------------------------------------------------------------------------------------


def timings(traces: Iterable[Trace]) -> Timing:
    """Return times from traces. The overhead of a verification is the time of its round without the calls and rounds
    inside it, at the target plus the pause before the next round; medians. The time of a drafting loop between its
    forward passes is part of it.
    """
    times: dict[str, defaultdict[str, list[float]]]
    times = {kind: defaultdict(list) for kind in ("lookup", "update", "overhead", "pause")}
    verifying: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    drafts: dict[str, list[CallRow]] = defaultdict(list)
    above: dict[Pair, list[tuple[int, float]]] = defaultdict(list)
    for trace in traces:
        database, names = database_of(trace), level_names(trace)
        own = {r.id: r.duration_ns for r in trace.round_rows}
        for r in trace.round_rows:
            if r.parent in own:
                own[r.parent] -= r.duration_ns
        for call in trace.call_rows:
            if call.round in own:
                own[call.round] -= call.duration_ns
            if call.kind == "verify":
                verifying[call.name][call.fed].append(call.duration_ns * _MS)
                if call.level:
                    below = names[call.level - 1] if call.level > 1 or database is None else database
                    above[below, call.name].append((call.fed, call.duration_ns * _MS))
            elif call.kind == "draft":
                drafts[call.name].append(call)
            elif call.kind in times and database is not None:
                times[call.kind][database].append(call.duration_ns * _MS)
        for r in trace.round_rows:
            times["overhead"][names[r.level]].append(max(0.0, own[r.id] * _MS))
        top = sorted((r for r in trace.round_rows if r.parent is None), key=lambda r: r.start_ns)
        for this, following in pairwise(top):
            pause = (following.start_ns - this.start_ns - this.duration_ns) * _MS
            times["pause"][names[this.level]].append(max(0.0, pause))
    models = {}
    for name in dict.fromkeys([*verifying, *drafts]):
        draft, launch = _drafting(drafts[name]) if drafts[name] else (None, 0.0)
        forward = _curve(verifying[name]) if verifying[name] else draft
        assert forward is not None
        overhead = sum(median(times[kind][name]) for kind in ("overhead", "pause") if times[kind][name])
        models[name] = LevelCost(forward, draft, overhead, launch)
    lookups = {d: LookupCost(median(ms), median(times["update"][d] or [0.0])) for d, ms in times["lookup"].items()}
    return Timing(
        models=models,
        lookups=lookups,
        medians={m: {n: (median(ms), len(ms)) for n, ms in sorted(verifying[m].items())} for m in models},
        after={pair: median(ms / models[pair[1]].verifying(fed) for fed, ms in rows) for pair, rows in above.items()},
    )


def monotone(values: list[float], weights: list[float]) -> list[float]:
    """Return the closest non-decreasing curve by weighted squares (pool adjacent violators, Ayer et al. 1955)."""
    pools: list[list[float]] = []
    for value, weight in zip(values, weights, strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            v, w, n = pools.pop()
            pools[-1] = [(pools[-1][0] * pools[-1][1] + v * w) / (pools[-1][1] + w), pools[-1][1] + w, pools[-1][2] + n]
    return [value for value, _, n in pools for _ in range(int(n))]


def _curve(times: Mapping[int, list[float]]) -> tuple[float, ...]:
    """Return c(1), c(2), ... in ms from times by tokens fed: medians, monotone, interpolated."""
    fed = sorted(times)
    levels = monotone([median(times[m]) for m in fed], [len(times[m]) for m in fed])
    return tuple(np.interp(np.arange(1, fed[-1] + 1), fed, levels).tolist())


def _drafting(calls: list[CallRow]) -> tuple[tuple[float, ...], float]:
    """Return the cost of a drafting forward pass by tokens fed, and the fixed cost of a launch."""
    single = all(c.steps == 1 for c in calls)
    times: dict[int, list[float]] = defaultdict(list)
    for c in calls:
        times[c.fed if single else c.steps].append(c.duration_ns * _MS)
    if single:
        return _curve(times), 0.0
    # Launches: a straight line over the number of steps, through the medians; one length alone gives no intercept.
    steps = np.array(sorted(times), float)
    medians = np.array([median(times[int(n)]) for n in steps])
    weights = np.array([len(times[int(n)]) for n in steps], float)
    through_zero = float((weights * steps * medians).sum() / (weights * steps * steps).sum())
    slope, launch = np.polyfit(steps, medians, 1, w=np.sqrt(weights)) if len(steps) > 1 else (through_zero, 0.0)
    if slope <= 0:
        return (0.0,), float(np.average(medians, weights=weights))
    return ((float(slope),), float(launch)) if launch >= 0 else ((through_zero,), 0.0)
