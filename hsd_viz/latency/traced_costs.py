"""Estimate costs from traces: medians by the number of tokens fed, made monotone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

import numpy as np

from hsd_viz.latency.inputs import LevelCost, LookupCost
from hsd_viz.latency.traced import MS, Pair, names_of, own_times
from hsd_viz.trace import Trace
from hsd_viz.trace.tables import observed


def verifications(traces: Iterable[Trace]) -> dict[str, dict[int, list[float]]]:
    """Return the times of verifications in ms, by model and number of tokens fed."""
    times: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trace in traces:
        for call in trace.call_rows:
            if call.kind == "verify":
                times[call.name][call.fed].append(call.duration_ns * MS)
    return times


@dataclass(slots=True)
class _Times:
    """The times of traces in ms.

    Attributes:
        lookups: the times of look-ups, by database.
        updates: the times of updates, by database.
        overheads: the times of rounds without the calls and rounds inside them, by model.
        pauses: the times between target rounds, by target.
        drafts: the times of drafting calls, by model and number of forward passes.
        above: (tokens fed, ms) of the verifications directly above a model or database, by (model
            or database, verifier).
    """

    lookups: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    updates: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    overheads: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    pauses: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    drafts: dict[str, dict[int, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    above: dict[Pair, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, trace: Trace) -> None:
        """Add the calls and rounds of a trace."""
        names, database = names_of(trace)
        names_by_level = dict(names)
        if database is not None:
            names_by_level[0] = database
        for call in trace.call_rows:
            ms = call.duration_ns * MS
            match call.kind:
                case "draft":
                    self.drafts[call.name][call.steps].append(ms)
                case "lookup":
                    self.lookups[names_by_level[0]].append(ms)
                case "update":
                    self.updates[names_by_level[0]].append(ms)
                case "verify" if call.level:
                    self.above[names_by_level[call.level - 1], call.name].append((call.fed, ms))
        exclusive_ns = own_times(trace)
        for row in trace.round_rows:
            self.overheads[names[row.level]].append(max(0.0, exclusive_ns[row.id] * MS))
        rounds_of_target = [row for row in trace.round_rows if row.parent is None]
        rounds_of_target.sort(key=lambda row: observed(row.start_ns))
        for row, following in pairwise(rounds_of_target):
            end_ns = observed(row.start_ns) + observed(row.duration_ns)
            pause = (observed(following.start_ns) - end_ns) * MS
            self.pauses[names[row.level]].append(max(0.0, pause))


def times_of(
    traces: Sequence[Trace],
) -> tuple[dict[str, LevelCost], dict[str, LookupCost], dict[Pair, float]]:
    """Return the costs of levels, as medians over the calls or rounds of traces.

    The overhead of a verification is the time of its round without the calls and rounds inside it;
    for the target, the pause before the next round is added. It includes the time of a drafting
    loop between its forward passes.

    Returns:
        The costs of models by name, the costs of databases by name, and the cost of a verification
        relative to the verifier's curve by (model or database, verifier directly above it).
    """
    times = _Times()
    for trace in traces:
        times.add(trace)
    verified = verifications(traces)
    models = {}
    for name in dict.fromkeys([*verified, *times.drafts]):
        overhead = _typical(times.overheads, name) + _typical(times.pauses, name)
        models[name] = _level_cost(verified.get(name), times.drafts.get(name), overhead)
    lookups = {}
    for name in times.lookups:
        lookups[name] = LookupCost(_typical(times.lookups, name), _typical(times.updates, name))
    relative_costs = {}
    for pair, rows in times.above.items():
        verifier = models[pair[1]]
        relative_costs[pair] = median(ms / verifier.verifying(fed) for fed, ms in rows)
    return models, lookups, relative_costs


def _typical(times: Mapping[str, list[float]], name: str) -> float:
    """Return the median time of a name; 0 if it has no times."""
    return median(times.get(name) or [0.0])


def _level_cost(
    verified: Mapping[int, list[float]] | None,
    drafted: Mapping[int, list[float]] | None,
    overhead: float,
) -> LevelCost:
    """Return the costs of a model. A model that never verified has the cost of drafting for it.

    Args:
        verified: the times of its verifications in ms by tokens fed; ``None`` if there are none.
        drafted: the times of its drafting calls in ms by forward passes; ``None`` if there are
            none. At least one of both is given.
        overhead: the time of a round beside its forward pass, in ms.
    """
    if drafted is None:
        assert verified is not None
        return LevelCost(forward=_curve(verified), overhead=overhead)
    pass_ms, launch_ms = _drafting(drafted)
    forward = (pass_ms,) if verified is None else _curve(verified)
    return LevelCost(forward=forward, draft=(pass_ms,), overhead=overhead, draft_overhead=launch_ms)


def monotone(values: list[float], weights: list[float]) -> list[float]:
    """Return the closest non-decreasing curve by weighted least squares (pool adjacent violators,
    Ayer et al. 1955).
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
    """Return c(1), c(2), ... in ms from times by tokens fed: monotone, interpolated medians."""
    fed = sorted(times)
    levels = monotone([median(times[m]) for m in fed], [len(times[m]) for m in fed])
    return tuple(np.interp(np.arange(1, fed[-1] + 1), fed, levels).tolist())


def _drafting(times: Mapping[int, list[float]]) -> tuple[float, float]:
    """Return the cost of a drafting forward pass and the fixed cost of a launch, in ms.

    They are the slope and the intercept of a straight line through the median times by number of
    forward passes. A single length does not determine an intercept, which is then 0.
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
