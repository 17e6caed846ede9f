"""Cost curves from the calls of traces: medians by tokens fed, made monotone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from hsd_viz.latency.inputs import LevelCost, LookupCost
from hsd_viz.stack import StackError, parse
from hsd_viz.trace import CallRow, Trace

_MS = 1e-6


@dataclass(frozen=True, slots=True)
class Timing:
    """Costs of models and databases by name; ``forwards`` counts the timed forward passes (or launches) of each model.
    ``medians`` has the times of a model's verifications by number of tokens fed: (ms, count). Its curve is interpolated
    between them, flat below the first and continues with the last step above the last.
    """

    models: Mapping[str, LevelCost]
    lookups: Mapping[str, LookupCost]
    forwards: Mapping[str, int]
    medians: Mapping[str, Mapping[int, tuple[float, int]]]


def timings(traces: Iterable[Trace]) -> Timing:
    """Return times from traces. The overhead of a verification is the time of its round without the calls and rounds
    inside it, at the target plus the pause before the next round; medians. The time of a drafting loop between its
    forward passes is part of it.
    """
    verifying: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    drafts: dict[str, list[CallRow]] = defaultdict(list)
    overheads: dict[str, list[float]] = defaultdict(list)
    pauses: dict[str, list[float]] = defaultdict(list)
    databases: dict[str, dict[str, list[float]]] = {"lookup": defaultdict(list), "update": defaultdict(list)}
    for trace in traces:
        database = database_of(trace)
        for call in trace.call_rows:
            if call.kind == "verify":
                verifying[call.name][call.fed].append(call.duration_ns * _MS)
            elif call.kind == "draft":
                drafts[call.name].append(call)
            elif call.kind in databases and database is not None:
                databases[call.kind][database].append(call.duration_ns * _MS)
        _overheads(trace, overheads, pauses)

    models = {}
    for name in dict.fromkeys([*verifying, *drafts]):
        draft, launch = _drafting(drafts[name]) if drafts[name] else (None, 0.0)
        forward = curve(verifying[name]) if verifying[name] else draft
        assert forward is not None
        overhead = sum(median(found[name]) for found in (overheads, pauses) if found[name])
        models[name] = LevelCost(forward, draft, overhead, launch)
    lookups, updates = databases.values()
    return Timing(
        models=models,
        lookups={d: LookupCost(median(lookups[d]), median(updates[d] or [0.0])) for d in lookups},
        forwards={m: sum(map(len, verifying[m].values())) + len(drafts[m]) for m in models},
        medians={m: {n: (median(ms), len(ms)) for n, ms in sorted(verifying[m].items())} for m in models},
    )


def level_names(trace: Trace) -> dict[int, str]:
    """Return the name of each level of the stack that a trace decoded with."""
    return {c.level: c.name for c in trace.call_rows}


def database_of(trace: Trace) -> str | None:
    """Return the database below the models as the stack names it, ``None`` without one."""
    name = next((c.name for c in trace.call_rows if c.kind == "lookup"), None)
    if name is None:
        return None
    try:
        return str(parse(trace.stack).bottom or name)
    except StackError:
        return name


def curve(times: Mapping[int, list[float]]) -> tuple[float, ...]:
    """Return c(1), c(2), ... in ms from times by tokens fed: medians, monotone, interpolated."""
    fed = sorted(times)
    levels = monotone([median(times[m]) for m in fed], [len(times[m]) for m in fed])
    return tuple(np.interp(np.arange(1, fed[-1] + 1), fed, levels).tolist())


def monotone(values: list[float], weights: list[float]) -> list[float]:
    """Return the closest non-decreasing curve by weighted squares (pool adjacent violators, Ayer et al. 1955)."""
    pools: list[list[float]] = []
    for value, weight in zip(values, weights, strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            v, w, n = pools.pop()
            pools[-1] = [(pools[-1][0] * pools[-1][1] + v * w) / (pools[-1][1] + w), pools[-1][1] + w, pools[-1][2] + n]
    return [value for value, _, n in pools for _ in range(int(n))]


def _drafting(calls: list[CallRow]) -> tuple[tuple[float, ...], float]:
    """Return the cost of a drafting forward pass by tokens fed, and the fixed cost of a launch."""
    single = all(c.steps == 1 for c in calls)
    times: dict[int, list[float]] = defaultdict(list)
    for c in calls:
        times[c.fed if single else c.steps].append(c.duration_ns * _MS)
    if single:
        return curve(times), 0.0
    # Launches: a straight line over the number of steps, through the medians; one length alone gives no intercept.
    steps = np.array(sorted(times), float)
    medians = np.array([median(times[int(n)]) for n in steps])
    weights = np.array([len(times[int(n)]) for n in steps], float)
    through_zero = float((weights * steps * medians).sum() / (weights * steps * steps).sum())
    if len(steps) == 1:
        return (through_zero,), 0.0
    slope, launch = np.polyfit(steps, medians, 1, w=np.sqrt(weights))
    if slope <= 0:
        return (0.0,), float(np.average(medians, weights=weights))
    return ((float(slope),), float(launch)) if launch >= 0 else ((through_zero,), 0.0)


def _overheads(trace: Trace, overheads: dict[str, list[float]], pauses: dict[str, list[float]]) -> None:
    names, own = level_names(trace), {r.id: r.duration_ns for r in trace.round_rows}
    for r in trace.round_rows:
        if r.parent in own:
            own[r.parent] -= r.duration_ns
    for c in trace.call_rows:
        if c.round in own:
            own[c.round] -= c.duration_ns
    for r in trace.round_rows:
        overheads[names[r.level]].append(max(0.0, own[r.id] * _MS))
    top = sorted((r for r in trace.round_rows if r.parent is None), key=lambda r: r.start_ns)
    for this, following in pairwise(top):
        pauses[names[this.level]].append(max(0.0, (following.start_ns - this.start_ns - this.duration_ns) * _MS))
