"""Observations of a drafter from traces and imported records, or from given figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from statistics import mean, median
from typing import Any

from hsd_viz.adapters import method_of
from hsd_viz.adapters.observation import Observation, Served, even_rates
from hsd_viz.adapters.read import import_records, pooled
from hsd_viz.calibration.estimate import timings
from hsd_viz.stack import parse
from hsd_viz.trace import Trace, TraceError
from hsd_viz.words import check_range


def observe(path: Path) -> Observation:
    """Return the observation of a trace or a record of another engine. Raises: ValueError: if the file is neither."""
    try:
        return from_traces([Trace.load(path)], path.name)
    except TraceError as error:
        not_a_trace = error
    try:
        return from_traces(import_records(path), path.name)
    except ValueError as error:
        if "no record" not in str(error):
            raise
        raise ValueError(f"{path} is not a trace or a record of another engine: {not_a_trace}") from None


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
    notes: list[dict[str, Any]] = [trace.meta.get("plain") or {} for trace in traces]
    plain = [note.get("tokens_per_second") for note in notes]
    step = mean(1e3 / speed for speed in plain) if all(plain) else None
    if step is None:
        target_name = {call.level: call.name for call in calls}[target]
        step = timings(traces).medians[target_name].get(1, (None, 0))[0]
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
    times = {"step": step, "verify": verify, "draft": below, "overhead": max(0.0, whole - verify - below)}
    return replace(seen, **times, round=whole, speedups=tuple(speedups), busy=_busy(notes))


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
    methods = {trace.meta["imported"].get("method") or "draft" for trace in traces}
    if len(methods) > 1:
        raise ValueError(f"{source} mixes drafters ({', '.join(sorted(methods))}): give the records of one")
    whole = pooled(traces)
    known, rows = whole.meta["counts"], whole.round_rows
    acceptance: dict[str, Any] = {"method": methods.pop()}
    drafted, accepted = known.get("drafted"), known.get("accepted")
    # The first token is of the prefill; the other forward passes are taken to have verified a draft.
    n = max(1, round(known.get("verifications", known.get("forwards", 0) - len(traces))))
    if rows:
        acceptance["rounds"] = Counter((row.drafted, row.accepted) for row in rows)
    elif drafted is not None and (histogram := known.get("histogram")):
        depth = round(drafted / n)
        acceptance["rounds"] = {(max(depth, j), j): round(m) for j, m in enumerate(histogram) if m >= 0.5}
    elif None in (drafted, accepted) or known.keys().isdisjoint(("verifications", "forwards")):
        raise ValueError(f"{source} does not report the number of verifications: there is no tokens per forward pass")
    elif drafted:
        rates = known.get("position_rate") or even_rates(accepted / n, max(1, ceil(drafted / n)))
        acceptance |= {"rates": tuple(rates), "verifications": n, "by_mean": "position_rate" not in known}
    seen = Observation(source, **acceptance)
    # The clock of a request covers all of a round; the iterations of a server only its forward passes.
    timed = [row.duration_ns / 1e6 for row in rows if row.duration_ns is not None]
    decode, tokens = whole.meta.get("decode_ns"), known.get("tokens")
    spent = decode / 1e6 / tokens * seen.length if decode and tokens else None
    requests = []
    for trace in traces:
        counts, about = trace.meta["counts"], trace.meta["imported"]
        if verified := counts.get("verifications"):
            one = (about.get("context"), about.get("cached"), verified, counts.get("accepted") or 0)
            requests.append(Served(*one, about.get("category", ""), tuple(counts.get("histogram") or ())))
    return replace(seen, verify=mean(timed) if timed else None, round=spent, requests=tuple(requests))


def from_figures(acceptance: Sequence[float], lookahead: int | None = None) -> Observation:
    """Return the observation of acceptance as engines report it.

    Args:
        acceptance: one number up to 1 (accepted / drafted), one above 1 (the mean acceptance length), or several: P(the
            first k tokens are accepted), as vLLM and llama.cpp print it by position.
        lookahead: draft tokens per round.

    Raises: ValueError: if the figures are not possible.
    """
    source = "the acceptance given"
    if len(acceptance) > 1:
        if any(not 0 <= b <= a for a, b in zip((1.0, *acceptance), acceptance, strict=False)):
            raise ValueError(f"{source} must be from 0 to 1 and must not rise from position to position")
        return Observation(source, rates=tuple(acceptance))
    if lookahead is None:
        raise ValueError(f"{source} needs the number of draft tokens: --lookahead")
    check_range("the lookahead", lookahead, 1, 64)
    total = acceptance[0] - 1 if acceptance[0] > 1 else acceptance[0] * lookahead
    if not 0 <= total <= lookahead:
        raise ValueError(f"{source}, {acceptance[0]:g}, is not possible with {lookahead} draft tokens")
    return Observation(source, rates=even_rates(total, lookahead), by_mean=True)


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
        # Repeated pairs do not apply to given times.
        seen = replace(seen, **{"speedups": (), **given})
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
