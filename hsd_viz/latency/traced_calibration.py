"""Estimate the inputs of the latency law from traces."""

from collections.abc import Iterable

from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.traced import names_of
from hsd_viz.latency.traced_acceptance import (
    estimate_edge,
    estimate_tier,
    over_databases,
    rounds_of,
    unsure_stops,
)
from hsd_viz.latency.traced_costs import times_of
from hsd_viz.trace import Trace


def estimate(traces: Iterable[Trace], models: Iterable[str] | None = None) -> Calibration:
    """Return the inputs of the law, estimated from traces.

    Args:
        traces: traces with the same target, machine, kind of text and sampling.
        models: the names of the models, smallest first, the target last; by default sorted by the
            parameter counts in the traces.

    Raises:
        UserError: if no forward pass of a model was timed.
    """
    traces = list(traces)
    rounds, looked_up = rounds_of(traces)
    costs, lookups, after_models = times_of(traces)
    edges = {}
    for pair, rows in rounds.items():
        edges[pair] = estimate_edge(rows)
    tiers = {}
    for pair, counts in looked_up.items():
        tiers[pair] = estimate_tier(counts)
    return Calibration(
        models=tuple(models) if models is not None else _by_size(traces),
        costs=costs,
        edges=edges,
        tiers=tiers,
        lookups=lookups,
        over=over_databases(traces),
        after=after_models,
        stops=unsure_stops(traces),
    )


def _by_size(traces: list[Trace]) -> tuple[str, ...]:
    """Return the models sorted by parameter count, the target last.

    Models without a count are in the order of their levels.
    """
    sizes: dict[str, tuple[bool, float, int]] = {}
    for trace in traces:
        names, database = names_of(trace)
        parameters = {m["name"]: m.get("parameters") or 0 for m in trace.meta.get("models", ())}
        for level, name in names.items():
            if level or database is None:
                sizes.setdefault(name, (level == max(names), parameters.get(name, 0), level))
    return tuple(sorted(sizes, key=sizes.__getitem__))
