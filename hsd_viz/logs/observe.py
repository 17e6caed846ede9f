"""What the doctor knows of a drafter: its rounds, and the times of a round.

Read from traces, bench reports and imported records, given as figures, or measured on a pair of models.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from statistics import mean, median
from typing import Any

from hsd_viz.adapters import method_of
from hsd_viz.adapters.read import import_records
from hsd_viz.adapters.signatures import Served
from hsd_viz.bench.output import FORWARD
from hsd_viz.calibration.estimate import estimate
from hsd_viz.disk import read_limited
from hsd_viz.latency.inputs import Calibration
from hsd_viz.logs.profile import AcceptanceProfile, cells_of
from hsd_viz.stack import parse
from hsd_viz.trace import Trace, TraceError
from hsd_viz.words import check_range

#: Pairs of decodes of a quick measurement (after one to warm up), and their tokens.
PROMPTS, TOKENS = 8, 64
TIMES = ("step", "verify", "draft", "overhead", "round")
#: Rounds that stand for a rate without counts.
SCALE = 1000
#: Drafters whose time does not grow with the length of the draft.
PARALLEL = ("lookup", "suffix", "dflash", "medusa")
#: Limits of a record: beyond them it is damaged.
MOST_BATCH, MOST_DRAFT, MOST_ROUNDS = 4096, 1024, 10**12


@dataclass(frozen=True, slots=True)
class Observation:
    """What was observed of a drafter. Times in ms at the batch size of the run, ``None`` where they were not observed.

    ``rounds`` counts verifications by (depth of the draft, accepted tokens), rounds without a draft included. ``step``
    is a plain step of the target; ``verify`` the forward pass of a round, ``draft`` its drafting, ``overhead`` the rest
    of it, ``round`` all three. ``exact`` is False where only the means of ``rounds`` were observed: there are then no
    intervals and, without ``rates`` (P(the first k tokens are accepted), k = 1, 2, ...), no acceptance by position.
    ``method`` is the drafter as a serving engine has it, ``stack`` the stack of a run of this project. ``speedups`` are
    repeated measurements; ``busy`` says how other work disturbed them ("": not noticed), ``requests`` the single
    requests of a record.
    """

    source: str
    rounds: Mapping[tuple[int, int], int]
    step: float | None = None
    verify: float | None = None
    draft: float | None = None
    overhead: float | None = None
    round: float | None = None
    batch: int = 1
    method: str = "draft"
    draft_model: str = "DRAFT"
    stack: str = ""
    exact: bool = True
    rates: tuple[float, ...] = ()
    speedups: tuple[float, ...] = ()
    busy: str = ""
    requests: tuple[Served, ...] = ()
    calibration: Calibration | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not any(depth for depth, _ in self.rounds):
            raise ValueError(f"{self.source} has no round with a draft: there is nothing to explain")
        check_range("the longest draft", self.deepest, 1, MOST_DRAFT)
        check_range("the number of rounds", self.total, 1, MOST_ROUNDS)
        for name in TIMES:
            if (value := getattr(self, name)) is not None:
                check_range(f"the {name} time", value, 0.0)
        check_range("the batch", self.batch, 1, MOST_BATCH)
        if self.step == 0 or self.round == 0:
            raise ValueError("the time of a step and of a round must be more than 0")

    @property
    def total(self) -> int:
        """The number of rounds."""
        return sum(self.rounds.values())

    @property
    def deepest(self) -> int:
        """The longest draft: the lookahead, or the limit of a database."""
        return max(depth for depth, _ in self.rounds)

    @property
    def length(self) -> float:
        """Tokens per forward pass of the target."""
        return 1 + sum(a * n for (_, a), n in self.rounds.items()) / self.total

    def parts(self) -> dict[str, float | None]:
        """Return drafting, verification (beyond a plain step) and overhead of a round, in plain steps."""
        step = self.step
        relative = lambda ms: None if ms is None or step is None else max(0.0, ms) / step
        extra = None if self.verify is None or step is None else self.verify - step
        return {
            "drafting": relative(self.draft),
            "verification": relative(extra),
            "overhead": relative(self.overhead),
        }

    def whole(self) -> float | None:
        """Return the time of a round in plain steps, ``None`` where a part of it was not observed."""
        if self.step is not None and self.round is not None:
            return self.round / self.step
        return None if None in self.parts().values() else self.least()

    def least(self) -> float:
        """Return the least time of a round in plain steps: what was not observed takes none."""
        return 1 + sum(part or 0.0 for part in self.parts().values())

    def by_position(self) -> list[tuple[int, int]]:
        """Return by position k: rounds that accepted k or more, and rounds whose draft reached k."""
        count = lambda place, k: sum(n for kind, n in self.rounds.items() if kind[place] >= k)
        return [(count(1, k), count(0, k)) for k in range(1, self.deepest + 1)]

    def survival(self) -> tuple[list[float], list[float]]:
        """Return P(a round drafts k tokens or more) and P(it accepts k or more), k = 1, 2, ..., ``deepest``."""
        places = self.by_position()
        reached = [drafted / self.total for _, drafted in places]
        if self.exact:
            return reached, [taken / self.total for taken, _ in places]
        if self.rates:
            return reached, [*self.rates, *([0.0] * len(places))][: len(places)]
        # Only the mean is known: equal conditional acceptance.
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            below = sum(r * middle**k for k, r in enumerate(reached, 1)) < self.length - 1
            low, high = (middle, high) if below else (low, middle)
        return reached, [r * high**k for k, r in enumerate(reached, 1)]

    def rates_by_position(self) -> list[float]:
        """Return the share of the rounds that drafted k tokens that accepted k; () where only its mean is known."""
        if not (self.exact or self.rates):
            return []
        return [taken / reached if reached else 0.0 for reached, taken in zip(*self.survival(), strict=True)]


def profile_of(seen: Observation) -> AcceptanceProfile:
    """Return the acceptance by position of an observation, for :func:`hsd_viz.predict` or as
    ``speculation_profile.json``. Raises: ValueError: if only its mean is known.
    """
    if not (rates := seen.rates_by_position()):
        raise ValueError(f"{seen.source} has no acceptance by position, only its mean")
    histogram: Counter[int] = Counter()
    for (_, accepted), n in seen.rounds.items() if seen.exact else ():
        histogram[accepted + 1] += n
    about = {"rounds": seen.total, "source": seen.source} if seen.exact else {"source": seen.source}
    marginal = tuple(accumulate(rates, min))
    histogram = dict(sorted(histogram.items()))
    return AcceptanceProfile(marginal, seen.method, "", "", histogram, about, cells_of(seen.requests))


def observe(path: Path, stack: str | None = None) -> Observation:
    """Return the observation of a trace, a bench report (``stack``: one of its rows) or a record of another engine.
    Raises: ValueError: if the file is none of these.
    """
    try:
        return from_traces([Trace.load(path)], path.name)
    except TraceError as error:
        not_a_trace = error
    try:
        data = json.loads(read_limited(path))
    except (OSError, ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and isinstance(data.get("stacks"), list):
        return from_report(data, stack, path.name)
    try:
        return from_traces(import_records(path), path.name)
    except ValueError as error:
        if "no record" not in str(error):
            raise
        known = "a trace, a bench report or a record of another engine"
        raise ValueError(f"{path} is not {known}: {not_a_trace if data is None else error}") from None


def from_traces(traces: Sequence[Trace], source: str) -> Observation:
    """Return the observation of runs with one stack; imported records have the times that they report. A plain step is
    that of the plain runs measured with them, else of forward passes over one token, else not observed.
    """
    if "counts" in traces[0].meta:
        return _imported(traces, source)
    target = max((row.level for row in traces[0].round_rows), default=0)
    rounds: Counter[tuple[int, int]] = Counter()
    for trace in traces:
        depths: dict[int, int] = {}
        for row in trace.draft_rows:
            depths[row.round] = max(depths.get(row.round, 0), row.depth)
        # Unrecorded runs have no draft rows: their drafts are chains.
        rounds.update((depths.get(r.id, r.drafted), r.accepted) for r in trace.round_rows if r.level == target)
    name = str(traces[0].meta.get("stack_resolved") or traces[0].stack)
    seen = Observation(source, rounds, stack=name, method=_method(name))
    calls = [call for trace in traces for call in trace.call_rows]
    estimates = estimate(traces)
    notes: list[dict[str, Any]] = [trace.meta.get("plain") or {} for trace in traces]
    plain = [note.get("tokens_per_second") for note in notes]
    step = mean(1e3 / speed for speed in plain) if all(plain) else None
    if step is None:
        target_name = {call.level: call.name for call in calls}[target]
        step = estimates.timing.medians[target_name].get(1, (None, 0))[0]
    ms = lambda rows: sum(call.duration_ns for call in rows) / 1e6 / seen.total
    verifying = lambda call: call.kind == "verify" and call.level == target
    verify = ms(call for call in calls if verifying(call))
    below = ms(call for call in calls if call.round >= 0 and not verifying(call))
    wall = sum(trace.meta["wall_ns"] - trace.meta["prefill_ns"] for trace in traces) / 1e6
    # Per token, times the tokens of a round: the last round may have been cut.
    whole = wall / max(1, sum(map(len, traces))) * seen.length
    speedups = [ratio for note in notes for ratio in note.get("speedups") or ()]
    if speedups and step is not None and len(traces) == 1:
        step = median(speedups) * whole / seen.length
    verify, below = (min(part, whole) for part in (max(verify, min(step or 0.0, whole - below)), below))
    return replace(
        seen,
        step=step,
        verify=verify,
        draft=below,
        overhead=max(0.0, whole - verify - below),
        round=whole,
        speedups=tuple(speedups),
        busy=_busy(notes),
        calibration=estimates.calibration() if estimates.edges or estimates.tiers else None,
    )


def _method(stack: str) -> str:
    """Return the drafter of a stack as a serving engine has it."""
    parsed = parse(stack)
    if parsed.bottom is None or parsed.drafts:
        return "draft"
    return "suffix" if parsed.bottom.name == "suffix" else "lookup"


def _busy(notes: Sequence[Mapping[str, Any]]) -> str:
    """Return how other work disturbed a measurement, if it did: a load beyond the cores, the decode's own left out."""
    loads = [(note["load_average"], note["cores"]) for note in notes if note.get("load_average") and note.get("cores")]
    load, cores = max(loads, default=(0.0, 1), key=lambda pair: pair[0] / pair[1])
    return f"load average {load:.1f} on {cores} cores" if load > max(1.0, cores) else ""


def _imported(traces: Sequence[Trace], source: str) -> Observation:
    """Return the observation of records of another engine. Raises: ValueError: if they do not belong together."""
    engines = sorted({trace.meta["imported"]["engine"] for trace in traces})
    if len(engines) > 1:
        raise ValueError(f"{source} mixes records of {', '.join(engines)}: give those of one engine")
    rounds: Counter[tuple[int, int]] = Counter()
    verify, rates, tokens, ms, exact = [], [], 0.0, 0.0, True
    requests: list[Served] = []
    for trace in traces:
        counts, duration = trace.meta["counts"], trace.meta.get("decode_ns")
        about, n = trace.meta["imported"], counts.get("verifications") or 0
        if trace.round_rows:
            rounds.update((row.drafted, row.accepted) for row in trace.round_rows)
            verify += [row.duration_ns / 1e6 for row in trace.round_rows if row.duration_ns is not None]
        elif (histogram := counts.get("histogram")) and (drafted := counts.get("drafted")) is not None:
            depth = round(drafted / max(1, n))
            rounds.update({(max(depth, j), j): round(count) for j, count in enumerate(histogram) if count >= 0.5})
        elif {"drafted", "accepted"} <= counts.keys() and not counts.keys().isdisjoint(("verifications", "forwards")):
            exact, drafts, drafted = False, round(n), round(counts["drafted"])
            if "verifications" not in counts:
                # The first token is of the prefill; the other forward passes are taken to have verified a draft.
                drafts = max(1, round(counts["forwards"]) - 1)
                drafted = max(drafts, drafted)
            rounds.update(_even(drafts, drafted, round(counts["accepted"])))
            rates.append(counts.get("position_rate"))
        else:
            raise ValueError(
                f"{source} does not report the number of verifications: there is no tokens per forward pass"
            )
        if n:
            one = (about.get("context"), about.get("cached"), n, counts.get("accepted") or 0)
            requests.append(Served(*one, about.get("category", ""), tuple(counts.get("histogram") or ())))
        if duration and counts.get("tokens"):
            tokens, ms = tokens + counts["tokens"], ms + duration / 1e6
    alone = rates[0] if len(rates) == 1 and len(traces) == 1 and rates[0] else ()
    methods = {trace.meta["imported"].get("method") or "draft" for trace in traces}
    if len(methods) > 1:
        raise ValueError(f"{source} mixes drafters ({', '.join(sorted(methods))}): give the records of one")
    seen = Observation(source, rounds, exact=exact, rates=tuple(alone), method=methods.pop())
    # The clock of a request covers all of a round; the iterations of a server only its forward passes.
    whole = ms / tokens * seen.length if tokens else None
    return replace(seen, verify=mean(verify) if verify else None, round=whole, requests=tuple(requests))


def _even(verifications: int, drafted: int, accepted: int) -> Counter[tuple[int, int]]:
    """Return rounds with these sums, as equal as possible: only their means are known."""
    if not verifications:
        return Counter()
    depth, least = -(-drafted // verifications), accepted // verifications
    more = accepted - least * verifications
    parts = {(max(depth, least + 1), least + 1): more, (max(depth, least), least): verifications - more}
    return Counter(parts) + Counter()


def from_figures(acceptance: Sequence[float], lookahead: int | None = None, **known: Any) -> Observation:
    """Return the observation of acceptance as engines report it.

    Args:
        acceptance: one number up to 1 (accepted / drafted), one above 1 (the mean acceptance length), or several: P(the
            first k tokens are accepted), as vLLM and llama.cpp print it by position.
        lookahead: draft tokens per round.
        known: further fields of :class:`Observation`.

    Raises: ValueError: if the figures are not possible.
    """
    source = "the acceptance given"
    if len(acceptance) > 1:
        if any(not 0 <= b <= a for a, b in zip((1.0, *acceptance), acceptance, strict=False)):
            raise ValueError(f"{source} must be from 0 to 1 and must not rise from position to position")
        lookahead, total = len(acceptance), sum(acceptance)
        known["rates"] = tuple(acceptance)
    elif lookahead is None:
        raise ValueError(f"{source} needs the number of draft tokens: --lookahead")
    else:
        check_range("the lookahead", lookahead, 1, 64)
        total = acceptance[0] - 1 if acceptance[0] > 1 else acceptance[0] * lookahead
        if not 0 <= total <= lookahead:
            raise ValueError(f"{source}, {acceptance[0]:g}, is not possible with {lookahead} draft tokens")
    return Observation(source, _even(SCALE, SCALE * lookahead, round(SCALE * total)), exact=False, **known)


def with_times(
    seen: Observation,
    *,
    speed: float | None = None,
    plain_speed: float | None = None,
    batch: int = 1,
    method: str | None = None,
    draft_model: str | None = None,
    **times: float | None,
) -> Observation:
    """Return the observation with figures that are known otherwise: tokens per second with and without speculation,
    and the ``times`` of a round in ms. Raises: ValueError: if they contradict each other.
    """
    given: dict[str, Any] = {name: value for name, value in times.items() if value is not None}
    if plain_speed is not None:
        given.setdefault("step", 1e3 / plain_speed)
    if speed is not None:
        given["round"] = 1e3 * seen.length / speed
    if given:
        # Measured curves and repeated pairs do not apply to given times.
        seen = replace(seen, **{"calibration": None, "speedups": (), **given})
    if given and seen.verify is not None and seen.draft is not None and seen.round is not None:
        left = seen.round - seen.verify - seen.draft
        if "overhead" in given:
            seen = replace(seen, round=None)
        elif left < -0.02 * seen.round:
            raise ValueError(
                f"verification and drafting, {seen.verify + seen.draft:.4g} ms, exceed the round of {seen.round:.4g} ms"
            )
        else:
            seen = replace(seen, overhead=max(0.0, left))
    kind = seen.method if method is None else method_of(method)
    return replace(seen, batch=batch, method=kind, draft_model=draft_model or seen.draft_model)


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
    rounds = _even(SCALE, round(SCALE * (length - 1) / rate), round(SCALE * (length - 1)))
    step, whole = 1e3 / plain["tokens_per_second"], 1e3 * length / speed
    known: dict[str, Any] = {"step": step, "round": whole, "exact": False, "stack": name, "method": _method(name)}
    parts = {part: time["mean_us"] / 1e3 for part, time in ((row.get("profile") or {}).get("parts") or {}).items()}
    if parts:
        target = parts.get(f"{FORWARD}target", 0.0)
        verify = min(whole, target)
        draft = sum(time for part, time in parts.items() if part == "drafting" or part.startswith(FORWARD)) - target
        draft = min(whole - verify, max(0.0, draft))
        known |= {"verify": verify, "draft": draft, "overhead": max(0.0, whole - verify - draft)}
    elif not parse(name).drafts:
        draft = min(whole, 1e3 * (row.get("draft_seconds_per_round") or 0.0))
        known |= {"draft": draft, "verify": whole - draft, "overhead": 0.0}
    return Observation(source, rounds, **known)


def measure(target: str, stack: str) -> Observation:
    """Return the observation of a few short decodes with ``stack`` on this machine, in turns with plain decoding."""
    from hsd_viz.engine.beside import note_plain
    from hsd_viz.engine.local import load_engine
    from hsd_viz.prompts.suites import load_suite

    engine = load_engine(target)
    engine.wait_ready()
    traces, speedups = [], []
    for k, prompt in enumerate(load_suite("python").limited(PROMPTS + 1).prompts):
        plain, trace = (engine.run(prompt.text, name, max_new_tokens=TOKENS) for name in ("target", stack))
        if k:  # the first prompt warms up
            note_plain(trace, plain)
            traces.append(trace)
            speeds = [run.metrics()["tokens_per_second"] for run in (trace, plain)]
            speedups += [speeds[0] / speeds[1]] if all(speeds) else []
    return replace(from_traces(traces, stack), speedups=tuple(speedups))
