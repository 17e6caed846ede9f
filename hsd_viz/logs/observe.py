"""What the doctor knows of a drafter: its rounds, and the times of a round.

Read from traces, bench reports and imported records, or measured on a pair of models.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from operator import mul
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from hsd_viz.bench.profile import FORWARD
from hsd_viz.calibration.estimate import Estimates, estimate
from hsd_viz.calibration.timing import database_of
from hsd_viz.latency.inputs import Calibration
from hsd_viz.stack import parse
from hsd_viz.trace import Trace, TraceError
from hsd_viz.words import check_range

#: Largest batch that is considered.
MOST_BATCH = 4096
#: Decodes of a quick measurement.
PROMPTS, TOKENS = 4, 48


@dataclass(frozen=True, slots=True)
class Observation:
    """What was observed of a drafter. Times in ms at batch size 1, ``None`` where they were not observed.

    ``rounds`` counts verifications by (depth of the draft, accepted tokens), rounds without a draft included. ``step``
    is a plain step of the target, ``verify`` the forward pass of a round, ``draft`` the drafting of a round,
    ``overhead`` its other time. ``database``: whether the drafter is a database or an n-gram method. ``exact`` is False
    where only the means of ``rounds`` were observed: there are then no intervals and no acceptance by position.
    """

    source: str
    rounds: Mapping[tuple[int, int], int]
    step: float | None = None
    verify: float | None = None
    draft: float | None = None
    overhead: float | None = None
    batch: int = 1
    database: bool = False
    exact: bool = True
    calibration: Calibration | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.rounds or not any(depth for depth, _ in self.rounds):
            raise ValueError(f"{self.source} has no round with a draft: there is nothing to explain")
        for name in ("step", "verify", "draft", "overhead"):
            if (value := getattr(self, name)) is not None:
                check_range(f"the {name} time", value, 0.0)
        check_range("the batch", self.batch, 1, MOST_BATCH)
        if self.step == 0:
            raise ValueError("the time of a step must be more than 0")

    @property
    def depth(self) -> float:
        """Mean depth of the draft of a round."""
        return sum(depth * n for (depth, _), n in self.rounds.items()) / sum(self.rounds.values())

    @property
    def slope(self) -> float | None:
        """Cost of one more token in a forward pass, relative to a step, at batch size 1."""
        if self.step is None or self.verify is None:
            return None
        return max(0.0, self.verify / self.step - 1) / self.depth

    def by_position(self) -> list[tuple[int, int]]:
        """Return by position k: rounds that accepted k or more, and rounds whose draft reached k."""
        return [(taken, drafted) for taken, drafted, _ in self._places()]

    def _places(self) -> list[tuple[int, int, int]]:
        """Return by position k, from 1: rounds that accepted k or more, that drafted k, and that examined k."""
        deepest = max(depth for depth, _ in self.rounds)
        count = lambda reached, k: sum(n for kind, n in self.rounds.items() if reached(*kind) >= k)
        reaches = (lambda _, accepted: accepted), (lambda depth, _: depth), (lambda depth, a: min(depth, a + 1))
        return [tuple(count(reached, k) for reached in reaches) for k in range(1, deepest + 1)]

    def survival(self) -> list[float]:
        """Return S(k), the probability that the first k tokens of a draft are accepted, k = 1, 2, ... A product of
        conditional acceptances; of equal ones where only means were observed.
        """
        if not self.exact:
            deepest = max(depth for depth, _ in self.rounds)
            mean = sum(a * n for (_, a), n in self.rounds.items()) / sum(self.rounds.values())
            low, high = 0.0, 1.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if sum(middle**k for k in range(1, deepest + 1)) < mean else (low, middle)
            return [high**k for k in range(1, deepest + 1)]
        return list(accumulate((taken / seen if seen else 0.0 for taken, _, seen in self._places()), mul))

    def extra(self) -> dict[str, float | None]:
        """Return the extra time of a round by cause, in plain steps of the same batch."""
        slope, step = self.slope, self.step
        scale = 1.0 if slope is None else 1 + slope * (self.batch - 1)
        alone = None if slope is None else slope * self.depth
        full = None if slope is None else slope * self.batch * self.depth / scale
        relative = lambda ms: None if ms is None or step is None else ms / (step * scale)
        return {
            "drafting": relative(self.draft),
            "verification": None if alone is None or full is None else min(alone, full),
            "batch": None if alone is None or full is None else max(0.0, full - alone),
            "overhead": relative(self.overhead),
        }


def observe(path: Path, stack: str | None = None) -> Observation:
    """Return the observation of a trace, a bench report (``stack``: one of its rows) or a record of another engine.
    Raises: ValueError: if the file is none of these.
    """
    try:
        return from_traces([Trace.load(path)], path.name)
    except TraceError as error:
        not_a_trace = error
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and isinstance(data.get("stacks"), list):
        return from_report(data, stack, path.name)
    from hsd_viz.logs.engines import import_records

    try:
        return from_traces(import_records(path), path.name)
    except ValueError as error:
        known = "a trace, a bench report or a record of another engine"
        raise ValueError(f"{path} is not {known}: {not_a_trace if data is None else error}") from None


def from_traces(traces: Sequence[Trace], source: str) -> Observation:
    """Return the observation of runs with one stack; imported records have the times that they report. A plain step is
    that of the plain runs measured with them, else of forward passes over one token, else not observed.
    """
    if "counts" in traces[0].meta:
        return _imported(traces, source)
    target = max((row.level for row in traces[0].round_rows), default=0)
    rounds: Counter = Counter()
    for trace in traces:
        depths: dict[int, int] = {}
        for row in trace.draft_rows:
            depths[row.round] = max(depths.get(row.round, 0), row.depth)
        # Unrecorded runs have no draft rows: their drafts are chains.
        rounds.update((depths.get(r.id, r.drafted), r.accepted) for r in trace.round_rows if r.level == target)
    database = database_of(traces[0])
    found = Observation(source, rounds, database=database is not None and target == 1)
    calls = [call for trace in traces for call in trace.call_rows]
    names = {call.level: call.name for call in calls}
    inputs = estimate(traces)
    alone = inputs.timing.medians[names[target]].get(1, (None, 0))[0]
    plain = [(trace.meta.get("plain") or {}).get("tokens_per_second") for trace in traces]
    step = mean(1e3 / speed for speed in plain) if all(plain) else alone
    n = sum(rounds.values())
    ms = lambda chosen: sum(call.duration_ns for call in chosen) / 1e6 / n
    verify = ms(c for c in calls if c.kind == "verify" and c.level == target)
    below = ms(c for c in calls if c.round >= 0 and not (c.kind == "verify" and c.level == target))
    wall = sum(trace.meta["wall_ns"] - trace.meta["prefill_ns"] for trace in traces) / 1e6 / n
    verify = max(verify, min(step or 0.0, wall - below))
    return replace(
        found,
        step=step,
        verify=verify,
        draft=below,
        overhead=max(0.0, wall - verify - below),
        calibration=_with_step(inputs, names[target], step) if step and (inputs.edges or inputs.tiers) else None,
    )


def _with_step(found: Estimates, target: str, step: float) -> Calibration:
    """Return the inputs of the law with this time of a plain step, a straight line up to the first width observed."""
    inputs = found.calibration()
    cost, first = inputs.costs[target], min(found.timing.medians[target], default=1)
    one = min(max(0.0, step - cost.overhead), cost.forward[first - 1])
    line = np.interp(np.arange(1, first + 1), [1, max(first, 2)], [one, cost.forward[first - 1]])
    curve = (*line.tolist(), *cost.forward[first:])
    return replace(inputs, costs={**inputs.costs, target: replace(cost, forward=curve)})


def _imported(traces: Sequence[Trace], source: str) -> Observation:
    """Return the observation of records of another engine."""
    rounds: Counter = Counter()
    verify, exact = [], True
    for trace in traces:
        counts = trace.meta["counts"]
        if trace.round_rows:
            rounds.update((row.drafted, row.accepted) for row in trace.round_rows)
            verify += [row.duration_ns / 1e6 for row in trace.round_rows if row.duration_ns is not None]
        elif (histogram := counts.get("histogram")) and (drafted := counts.get("drafted")) is not None:
            depth = round(drafted / max(1, counts["verifications"]))
            rounds.update({(max(depth, j), j): round(n) for j, n in enumerate(histogram) if n})
        elif {"drafted", "accepted", "verifications"} <= counts.keys():
            exact = False
            rounds.update(_even(*(round(counts[name]) for name in ("verifications", "drafted", "accepted"))))
        else:
            raise ValueError(
                f"{source} does not report the number of verifications: there is no tokens per forward pass"
            )
    return Observation(source, rounds, verify=mean(verify) if verify else None, exact=exact)


def _even(verifications: int, drafted: int, accepted: int) -> Counter:
    """Return rounds with these sums, as equal as possible: only their means are known."""
    if not verifications:
        return Counter()
    depth, least = -(-drafted // verifications), accepted // verifications
    more = accepted - least * verifications
    return Counter({(max(depth, least + 1), least + 1): more, (depth, least): verifications - more})


def from_report(data: dict[str, Any], stack: str | None, source: str) -> Observation:
    """Return the observation of a row of a bench report: the first one with a drafter, or the one named ``stack``. Only
    means are known; the time of a round that is not drafting counts as verification. A row with a draft model needs a
    profile (``bench --profile``), which separates them.
    """
    rows = {row["stack"]: row for row in data["stacks"]}
    names = [name for name in rows if name != "target" and not name.startswith("hf-")]
    if "target" not in rows or not names or (stack is not None and stack not in rows):
        raise ValueError(f"{source} has no row '{stack or 'target'}': it has {', '.join(rows)}")
    name = stack or names[0]
    row, plain = rows[name], rows["target"]
    length, rate, speed = (row[key] for key in ("mean_acceptance_length", "acceptance_rate", "tokens_per_second"))
    if not rate or not length or length <= 1:
        raise ValueError(f"the row '{name}' of {source} has no accepted tokens: there is nothing to divide")
    scale = 1000
    rounds = _even(scale, round(scale * (length - 1) / rate), round(scale * (length - 1)))
    step, whole = 1e3 / plain["tokens_per_second"], 1e3 * length / speed
    parts = {part: time["mean_us"] / 1e3 for part, time in ((row.get("profile") or {}).get("parts") or {}).items()}
    if parts:
        verify = parts.get(f"{FORWARD}target", 0.0)
        draft = parts.get("drafting", 0.0) + sum(t for p, t in parts.items() if p.startswith(FORWARD)) - verify
        overhead = max(0.0, whole - verify - draft)
        return Observation(source, rounds, step, verify, draft, overhead, exact=False)
    if parse(name).drafts:
        raise ValueError(f"the row '{name}' of {source} has no profile: run `hsd-viz bench --profile`, or give a trace")
    draft = 1e3 * (row.get("draft_seconds_per_round") or 0.0)
    return Observation(source, rounds, step, max(step, whole - draft), draft, database=True, exact=False)


def measure(target: str, stack: str) -> Observation:
    """Return the observation of a few short decodes with ``stack`` on this machine."""
    from hsd_viz.engine import note_plain
    from hsd_viz.engine.local import load_engine
    from hsd_viz.prompts.suites import load_suite

    engine = load_engine(target)
    engine.wait_ready()
    traces = []
    for k, prompt in enumerate(load_suite("python").limited(PROMPTS + 1).prompts):
        plain, trace = (engine.run(prompt.text, name, max_new_tokens=TOKENS) for name in ("target", stack))
        note_plain(trace, plain)
        if k:  # the first prompt warms up
            traces.append(trace)
    return from_traces(traces, stack)
