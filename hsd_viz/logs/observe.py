"""Observations of a drafter from traces and imported records, or from given figures, with times of a hardware model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from statistics import mean, median
from typing import Any

from hsd_viz.adapters import METHODS, method_of
from hsd_viz.adapters.observation import NGRAMS, PARALLEL, TIMES, Observation, Served, even_rates
from hsd_viz.adapters.read import NoRecord, import_records, pooled
from hsd_viz.bench.predict import check_setting
from hsd_viz.calibration.estimate import verifications
from hsd_viz.errors import UserError
from hsd_viz.latency.hardware import Machine, gpu_of, shape_of
from hsd_viz.latency.law import MOST
from hsd_viz.stack import parse
from hsd_viz.trace import Finished, Trace, TraceError
from hsd_viz.words import check_range

#: Decodes of a quick measurement, and their tokens.
PROMPTS, TOKENS = 6, 64


def observe(path: Path) -> Observation:
    """Return the observation of a trace or a record of another engine. Raises: ValueError: if the file is neither."""
    try:
        return from_trace(Trace.load(path), path.name)
    except TraceError as error:
        not_a_trace = error
    try:
        return from_records(import_records(path), path.name)
    except NoRecord:
        raise UserError(
            f"{path} is not a trace or a record of another engine: {not_a_trace}"
        ) from None


def from_trace(trace: Trace, source: str) -> Observation:
    """Return the observation of a run, its plain step that of plain runs beside it or of passes over one token."""
    if "counts" in trace.meta:
        return from_records([trace], source)
    target = max((row.level for row in trace.round_rows), default=0)
    depths = {row.round: row.depth for row in sorted(trace.draft_rows, key=lambda row: row.depth)}
    # Unrecorded runs have no draft rows: their drafts are chains.
    rounds = Counter(
        (depths.get(r.id, r.drafted), r.accepted) for r in trace.round_rows if r.level == target
    )
    stack = parse(str(trace.meta.get("stack_resolved") or trace.stack))
    method = "suffix" if stack.bottom and stack.bottom.name == "suffix" else "lookup"
    method = method if stack.bottom and not stack.drafts else "draft"
    seen = Observation(source, rounds, stack=str(stack), method=method)
    ms = lambda rows: sum(call.duration_ns for call in rows) / 1e6 / seen.total
    verifying = lambda call: call.kind == "verify" and call.level == target
    verify = ms(call for call in trace.call_rows if verifying(call))
    below = ms(call for call in trace.call_rows if call.round >= 0 and not verifying(call))
    # Per token, times the tokens of a round: the last round may have been cut.
    whole = (
        (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e6 / max(1, len(trace)) * seen.length
    )
    note = trace.meta.get("plain") or {}
    speedups = tuple(note.get("speedups") or ())
    if speedups:
        step = median(speedups) * whole / seen.length
    elif speed := note.get("tokens_per_second"):
        step = 1e3 / speed
    else:
        name = {call.level: call.name for call in trace.call_rows}[target]
        step = median(verifications([trace])[name].get(1) or [0.0]) or None
    verify, below = (
        min(part, whole) for part in (max(verify, min(step or 0.0, whole - below)), below)
    )
    times = {
        "step": step,
        "verify": verify,
        "draft": below,
        "overhead": max(0.0, whole - verify - below),
    }
    # How other work disturbed the measurement: a load beyond the cores, the decode's own left out.
    load, cores = note.get("load_average") or 0.0, note.get("cores") or 1
    busy = f"load average {load:.1f} on {cores} cores" if load > max(1.0, cores) else ""
    return replace(seen, **times, round=whole, speedups=speedups, busy=busy)


def measured(stack: str) -> Observation:
    """Return the observation of a few short decodes of the shipped models on this machine, in turns with plain ones."""
    from hsd_viz.engine.live import decode_beside_plain
    from hsd_viz.engine.local import load_engine
    from hsd_viz.prompts.suites import load_suite

    engine, runs = load_engine("target"), []
    engine.wait_ready()
    for prompt in load_suite("python").limited(PROMPTS + 1).prompts:
        events = [*decode_beside_plain(engine, prompt.text, stack, pairs=2, max_new_tokens=TOKENS)]
        runs += [from_trace(event.trace, stack) for event in events if isinstance(event, Finished)]
    runs = runs[1:]  # the first one warms up
    times = {name: mean(getattr(run, name) for run in runs) for name in TIMES}
    rounds = sum((Counter(run.rounds) for run in runs), Counter())
    speedups = tuple(ratio for run in runs for ratio in run.speedups)
    return replace(runs[-1], rounds=rounds, speedups=speedups, **times)


def from_records(traces: Sequence[Trace], source: str) -> Observation:
    """Return the observation of records of another engine. Raises: ValueError: if they do not belong together."""
    methods = {trace.meta["imported"].get("method") or "draft" for trace in traces}
    if len(methods) > 1:
        raise UserError(
            f"{source} mixes drafters ({', '.join(sorted(methods))}): give the records of one"
        )
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
        acceptance["rounds"] = {
            (max(depth, j), j): round(m) for j, m in enumerate(histogram) if m >= 0.5
        }
    elif None in (drafted, accepted) or known.keys().isdisjoint(("verifications", "forwards")):
        raise UserError(
            f"{source} does not report the number of verifications: there is no tokens per forward pass"
        )
    elif drafted:
        rates = known.get("position_rate") or even_rates(accepted / n, max(1, ceil(drafted / n)))
        acceptance |= {
            "rates": tuple(rates),
            "verifications": n,
            "by_mean": "position_rate" not in known,
        }
    seen = Observation(source, **acceptance)
    # The clock of a request covers all of a round; the iterations of a server only its forward passes.
    timed = [row.duration_ns / 1e6 for row in rows if row.duration_ns is not None]
    decode, tokens = whole.meta.get("decode_ns"), known.get("tokens")
    spent = decode / 1e6 / tokens * seen.length if decode and tokens else None
    requests = []
    for trace in traces if len(traces) > 1 else ():
        counts, about = trace.meta["counts"], trace.meta["imported"].get("request", {})
        histogram = tuple(counts.get("histogram") or ())
        if verified := counts.get("verifications"):
            requests.append(Served(verified, counts.get("accepted") or 0, histogram, **about))
    return replace(
        seen, verify=mean(timed) if timed else None, round=spent, requests=tuple(requests)
    )


def from_figures(acceptance: Sequence[float], lookahead: int | None = None) -> Observation:
    """Return the observation of acceptance as engines report it: accepted / drafted, a mean acceptance length (above
    1), or P(the first k are accepted). Raises: ValueError: if the figures are not possible.
    """
    source = "the acceptance given"
    if len(acceptance) > 1:
        if any(not 0 <= b <= a for a, b in zip((1.0, *acceptance), acceptance, strict=False)):
            raise UserError(
                f"{source} must be from 0 to 1 and must not rise from position to position"
            )
        return Observation(source, rates=tuple(acceptance))
    if not acceptance:
        raise UserError(
            "nothing to examine: give a trace, a record of an engine, or the acceptance of drafts"
        )
    if lookahead is None:
        raise UserError(f"{source} needs the number of draft tokens: --lookahead")
    check_range("the lookahead", lookahead, 1, 64)
    total = acceptance[0] - 1 if acceptance[0] > 1 else acceptance[0] * lookahead
    if not 0 <= total <= lookahead:
        raise UserError(
            f"{source}, {acceptance[0]:g}, is not possible with {lookahead} draft tokens"
        )
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
    """Return the observation with known figures: tokens per second with and without speculation (``speed``,
    ``plain_speed``) and ``times`` in ms (``step``, ``verify``, ...). Raises: ValueError: if they contradict each other.
    """
    given: dict[str, Any] = {name: value for name, value in times.items() if value is not None}
    if plain_speed is not None:
        given.setdefault("step", 1e3 / plain_speed)
    if speed is not None:
        given["round"] = 1e3 * seen.length / speed
    if given:
        # Repeated pairs do not apply to given times.
        seen = replace(seen, **{"speedups": (), **given})
    if given and None not in (seen.verify, seen.draft, seen.round):
        left = seen.round - seen.verify - seen.draft
        if left < -0.02 * seen.round and "overhead" not in given:
            spent = f"{seen.verify + seen.draft:.4g} ms, exceed the round of {seen.round:.4g} ms"
            raise UserError(f"verification and drafting, {spent}")
        seen = (
            replace(seen, round=None)
            if "overhead" in given
            else replace(seen, overhead=max(0.0, left))
        )
    kind = seen.method if method is None else method_of(method)
    return replace(seen, batch=batch, method=kind, draft_model=draft_model or seen.draft_model)


def with_hardware(
    seen: Observation,
    gpu: str,
    models: Sequence[str],
    tp: int = 1,
    *,
    context: int = 2048,
    weights: str = "bf16",
) -> Observation:
    """Return the observation with the times that ``tp`` cards take for a target and its draft model (``models``: names,
    a ``config.json``, or a draft head such as ``eagle3``), where they were not observed. An observed step scales the
    predicted forward passes. Raises: ValueError: for unknown names, and for models that do not fit.
    """
    names = [name.strip() for name in models]
    if not names or names[0] in ("", *METHODS):
        raise UserError(
            f"the models '{','.join(names)}' have no target: name it first, as in llama-8b,eagle3"
        )
    target, *drafts = [shape_of(name) for name in names if name not in METHODS]
    check_setting(target, tp, weights, context=(context,))
    machine, head = Machine(gpu_of(gpu), tp), drafts[0] if drafts else target.head()
    if machine.memory_share((target, head), batch=1, context=1, weights=weights) > 1:
        where = f"{tp} x {machine.gpu.name}"
        raise UserError(
            f"{target.name} does not fit into the memory of {where}: see --tp and --weights"
        )
    depth, batch = sum(seen.survival()[0]), seen.batch
    step_ms = partial(machine.step_ms, batch=batch, context=context, weights=weights)
    plain, verify, draft = step_ms(target), step_ms(target, tokens=depth + 1), step_ms(head)
    curve = tuple(step_ms(target, tokens=m) for m in range(1, 2 + max(MOST, seen.deepest)))
    drafts_taken = 0 if seen.method in NGRAMS else 1 if seen.method in PARALLEL else depth
    scale = 1.0 if seen.step is None else seen.step / plain
    times = {"step": plain, "verify": scale * verify, "draft": scale * draft * drafts_taken}
    times["overhead"] = machine.efficiency.round_us * 1e-3
    if seen.round is not None:
        # The time of a round is known: what is left of it is overhead.
        spent = sum(getattr(seen, name) or times[name] for name in ("verify", "draft"))
        times["overhead"] = max(0.0, seen.round - spent)
    return replace(
        seen, curve=curve, **{name: ms for name, ms in times.items() if getattr(seen, name) is None}
    )
