"""Acceptance from traces: what each level really accepted of the level below it.

On-policy alone: only rounds in which the one model's tokens stood before the other count. A curve taken over all positions of a text
would be too high, for real rounds begin right after a rejection, where the text is hard. Rounds are pooled over traces.

A draft's later tokens are only looked at when the earlier ones were accepted, and drafts differ in length: so S(k) is a product
of conditional acceptances, each the share of those looked at (Kaplan & Meier 1958). A round cut short by the end of the text
tells about the tokens it kept and nothing behind them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hsd_viz.calibration.timing import Timing, timings
from hsd_viz.latency.acceptance import Edge, Tier
from hsd_viz.latency.calibration import Calibration
from hsd_viz.stack import StackError, parse
from hsd_viz.trace import RoundRow, Trace

#: A place in the draft counts for itself when so many tokens were looked at there; those behind it share one figure.
ENOUGH = 40
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class EdgeEstimate:
    """How one model's tokens fared before another, over ``rounds`` rounds.

    ``histogram[k]`` counts rounds that accepted k. ``low`` and ``high`` bound the conditional acceptance accepted / examined (Wilson
    1927, 95 %). ``curve`` is the measured survival curve, ``even`` the law of independent acceptance at the same rate.
    """

    rounds: int
    drafted: int
    examined: int
    accepted: int
    histogram: tuple[int, ...]
    low: float
    high: float
    curve: Edge

    @property
    def acceptance(self) -> float:
        """Conditional acceptance, accepted / examined."""
        return self.accepted / self.examined

    @property
    def even(self) -> Edge:
        return Edge(tail=self.acceptance)


@dataclass(frozen=True, slots=True)
class TierEstimate:
    """How a database's drafts fared before one verifier, over ``rounds`` look-ups."""

    rounds: int
    tier: Tier


@dataclass(frozen=True, slots=True)
class Estimates:
    """All that a set of traces says: acceptance by (draft, verifier), (database, verifier), and times."""

    models: tuple[str, ...]
    edges: dict[tuple[str, str], EdgeEstimate]
    tiers: dict[tuple[str, str], TierEstimate]
    timing: Timing

    def calibration(self, *, curves: bool = True) -> Calibration:
        """For the law and the selector; ``curves=False`` takes acceptance as independent.

        Raises ``ValueError`` where no forward of a model was timed.
        """
        return Calibration(
            models=self.models,
            costs=dict(self.timing.models),
            edges={pair: e.curve if curves else e.even for pair, e in self.edges.items()},
            tiers={pair: t.tier for pair, t in self.tiers.items()},
            lookups=dict(self.timing.lookups),
        )


def estimate(traces: Iterable[Trace], models: Iterable[str] | None = None) -> Estimates:
    """Estimates from ``traces``, all of one target, machine, kind of text and sampling.

    ``models`` orders the models, smallest first, the target last (default: by parameter count, as the traces give it).
    """
    traces = list(traces)
    rounds, looked_up = rounds_of(traces)
    return Estimates(
        models=tuple(models) if models is not None else _by_size(traces),
        edges={pair: edge_estimate(rows) for pair, rows in rounds.items() if any(r.examined for r in rows)},
        tiers={
            pair: TierEstimate(c.total(), Tier.counted((m, a, n) for (m, a), n in c.items()))
            for pair, c in looked_up.items()
        },
        timing=timings((trace, level_names(trace), bottom_of(trace)) for trace in traces),
    )


def rounds_of(traces: Iterable[Trace]) -> tuple[dict[tuple[str, str], list[RoundRow]], dict[tuple[str, str], Counter]]:
    """What traces tell of acceptance: rounds by (draft, verifier); by (database, verifier) how often (drafted, accepted) occurred."""
    rounds: dict[tuple[str, str], list[RoundRow]] = {}
    looked_up: dict[tuple[str, str], Counter] = {}
    for trace in traces:
        # Who drafts for a round of `auto` is chosen by what that promises: no fair sample of anybody's acceptance.
        if str(trace.meta.get("stack", "")).lstrip().startswith("auto"):
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
    return rounds, looked_up


def edge_estimate(rows: Iterable[RoundRow]) -> EdgeEstimate:
    """One edge's figures from its rounds (chains that were not empty)."""
    rows = list(rows)
    counts = Counter(r.accepted for r in rows)
    drafted, examined, accepted = (sum(getattr(r, name) for r in rows) for name in ("drafted", "examined", "accepted"))
    longest = max(r.examined for r in rows)
    looked = [sum(r.examined >= k for r in rows) for k in range(1, longest + 1)]
    passed = [sum(r.accepted >= k for r in rows) for k in range(1, longest + 1)]
    known = sum(n >= ENOUGH for n in looked)
    survival, kept = [], 1.0
    for hit, seen in zip(passed[:known], looked[:known], strict=True):
        kept *= hit / seen
        survival.append(kept)
    # Behind the curve: what its last two places and all later ones say together.
    behind = max(0, known - 2)
    low, high = wilson(accepted, examined)
    return EdgeEstimate(
        rounds=len(rows),
        drafted=drafted,
        examined=examined,
        accepted=accepted,
        histogram=tuple(counts[k] for k in range(max(counts) + 1)),
        low=low,
        high=high,
        curve=Edge(tuple(survival), sum(passed[behind:]) / sum(looked[behind:])),
    )


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a rate (Wilson 1927); (0, 1) without trials."""
    if not trials:
        return 0.0, 1.0
    rate, z2 = hits / trials, _Z * _Z
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z * math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def level_names(trace: Trace) -> dict[int, str]:
    """Who stands on each level of the stack that a trace decoded with."""
    return {c.level: c.name for c in trace.call_rows}


def bottom_of(trace: Trace) -> str | None:
    """The database beneath the models as the stack names it, ``None`` where there is none."""
    name = next((c.name for c in trace.call_rows if c.kind == "lookup"), None)
    if name is None:
        return None
    try:
        return str(parse(trace.meta["stack"]).bottom or name)
    except StackError:
        return name


def _by_size(traces: list[Trace]) -> tuple[str, ...]:
    """Models by parameter count, the target last; those without a count come in the order of their levels."""
    sizes: dict[str, tuple[int, float, int]] = {}
    for trace in traces:
        bottom = next((0 for c in trace.call_rows if c.kind == "lookup"), None)
        names = {level: name for level, name in level_names(trace).items() if level != bottom}
        parameters = {m["name"]: m.get("parameters") or 0 for m in trace.meta.get("models", ())}
        for level, name in names.items():
            sizes.setdefault(name, (level == max(names), parameters.get(name, 0), level))
    return tuple(sorted(sizes, key=sizes.__getitem__))
