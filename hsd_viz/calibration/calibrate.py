"""Calibration: what the models of one engine cost here, and how much of each other's drafts they accept.

Everything comes from decodes like any other, of short stacks that take turns: their rounds are the rounds that a hierarchy pays
for. What is measured where:

- acceptance of model i's tokens by model j: under the target by ``i:g > target``, between draft models by ``i:g > j:h > target``, at
  several lookaheads, and of a database's drafts by ``db > target`` and ``db > j:h > target``. Not by ``i:g > j`` alone: j would then
  write the text, and a small model's text repeats itself and is easier to draft than the target's;
- costs: medians of the same rounds' forwards, launches, look-ups and overheads. Verifications at the widths between and beyond get
  their shape from forwards by themselves (:mod:`~hsd_viz.calibration.forwards`).

Recording is off: its cost is no part of a decode's. Nothing is measured while the engine still compiles.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from hsd_viz.calibration.estimate import Estimates, estimate
from hsd_viz.calibration.forwards import fitted, isolated
from hsd_viz.calibration.mixture import Mixture, mixture, stretches
from hsd_viz.calibration.store import Acceptance, StoredCalibration, identity, load, path_of, save, texts_of
from hsd_viz.decoding.limits import PromptTooLong
from hsd_viz.decoding.settings import Sampling
from hsd_viz.progress import Progress
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.trace import Trace

TARGET = "target"
#: Tokens decoded of each prompt.
TOKENS = 128
WARM_UP_TOKENS = 8
#: Lookaheads of a model right under the target; those of two models, the lower one's first; those of a model over a database.
ALONE = (1, 2, 4, 8)
PAIRS = ((2, 4), (4, 8))
OVER_DATABASE = (3, 8)


def calibration_stacks(drafts: Sequence[str], bottoms: Sequence[str], max_levels: int | None = None) -> tuple[str, ...]:
    """The stacks to decode for draft models ``drafts`` (smallest first) under the target, and databases ``bottoms``.

    ``max_levels`` leaves out what only higher stacks need.
    """
    most = max_levels or 3
    target = Model(TARGET)
    beneath = [parse(f"{bottom} > {TARGET}").bottom for bottom in bottoms]
    stacks = [Stack(None, (target,))]
    if most >= 2:
        stacks += [Stack(None, (Model(i, g), target)) for i in drafts for g in ALONE]
        stacks += [Stack(bottom, (target,)) for bottom in beneath]
    if most >= 3:
        stacks += [
            Stack(None, (Model(i, g), Model(j, h), target)) for i, j in combinations(drafts, 2) for g, h in PAIRS
        ]
        stacks += [Stack(bottom, (Model(j, h), target)) for bottom in beneath for j in drafts for h in OVER_DATABASE]
    return tuple(map(str, stacks))


def calibrate(
    engine: Any,
    suite: Suite,
    drafts: Sequence[str],
    bottoms: Sequence[str] = ("db",),
    *,
    max_levels: int | None = None,
    sampling: Sampling | None = None,
    max_new_tokens: int = TOKENS,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> StoredCalibration | None:
    """Measure on the prompts of ``suite``; ``drafts`` are the draft models, smallest first.

    Cut short (``cancelled`` is asked before each decode; Ctrl-C) it stands on the prompts that every stack had finished, with ``complete``
    False; ``None`` where there is none. Raises ``ValueError`` with one sentence for bad input.
    """
    sampling = sampling or Sampling()
    stacks = calibration_stacks(drafts, bottoms, max_levels)
    total = len(stacks) * len(suite.prompts)
    begun = time.time()
    texts: list[list[Trace]] = []
    shapes: dict[str, dict[int, float]] = {}
    complete = False
    who: dict[str, Any] = {}
    try:
        for stack in stacks:
            progress(Progress(0, total, stack, ""))
            decode(engine, suite.prompts[0], stack, min(WARM_UP_TOKENS, max_new_tokens), sampling)
        if hasattr(engine, "wait_ready"):
            engine.wait_ready(lambda text: progress(Progress(0, total, "", "", text)))
        who = identity(probe(engine, suite.prompts[0], drafts, sampling).meta)
        if hasattr(engine, "fast"):
            progress(Progress(0, total, "", "", "forwards by themselves"))
            clock = getattr(engine, "clock", time.perf_counter_ns)
            shapes = isolated({name: engine.fast(name) for name in (*drafts, TARGET)}, clock=clock, cancelled=cancelled)
        for k, prompt in enumerate(suite.prompts):
            found = []
            for stack in stacks:
                if cancelled():
                    break
                progress(Progress(k * len(stacks) + len(found), total, stack, prompt.id))
                found.append(decode(engine, prompt, stack, max_new_tokens, at(sampling, k)))
            if len(found) < len(stacks):
                break
            texts.append(found)
        complete = len(texts) == len(suite.prompts)
    except KeyboardInterrupt:
        pass
    if not any(trace.token_rows for text in texts for trace in text):
        if complete:
            raise ValueError("nothing was decoded on the calibration prompts: every text ended at once")
        return None
    found = estimate([trace for text in texts for trace in text], (*drafts, TARGET))
    prompts = [p.text for p in suite.prompts[: len(texts)]]
    # Under greedy decoding all stacks write the same text, so its parts can be told apart.
    alike = [part for text in texts for part in stretches(text)] if sampling.greedy else texts
    return StoredCalibration(
        identity=who,
        texts=_texts(engine, suite.name, prompts, drafts, bottoms, max_levels, max_new_tokens),
        created=begun,
        seconds=time.time() - begun,
        mixture=_shaped(mixture(alike, found), found, shapes),
        acceptance=acceptance_of(found),
        lookups={f"{b} > {v}": tier.rounds for (b, v), tier in found.tiers.items()},
        forwards=dict(found.timing.forwards),
        isolated=shapes,
        complete=complete,
    )


def calibrated(
    engine: Any,
    suite: Suite,
    drafts: Sequence[str],
    bottoms: Sequence[str] = ("db",),
    *,
    fresh: bool = False,
    max_levels: int | None = None,
    sampling: Sampling | None = None,
    max_new_tokens: int = TOKENS,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    note: Callable[[str], None] = lambda sentence: None,
) -> tuple[StoredCalibration | None, bool]:
    """The kept calibration where a young one fits, else a new one, which is then kept: (it, whether it had been kept).

    ``fresh`` measures anew in any case. ``note`` gets a sentence where a kept one cannot be read or a new one cannot be kept.
    """
    sampling = sampling or Sampling()
    progress(Progress(0, 0, "", "", "loading the models"))
    who = identity(probe(engine, suite.prompts[0], drafts, sampling).meta)
    prompts = [p.text for p in suite.prompts]
    path = path_of(who, _texts(engine, suite.name, prompts, drafts, bottoms, max_levels, max_new_tokens))
    if not fresh:
        try:
            kept = load(path)
            if kept.fresh():
                return kept, True
        except FileNotFoundError:
            pass
        except ValueError as error:
            note(f"{error}: it is measured anew")
    found = calibrate(
        engine,
        suite,
        drafts,
        bottoms,
        max_levels=max_levels,
        sampling=sampling,
        max_new_tokens=max_new_tokens,
        progress=progress,
        cancelled=cancelled,
    )
    if found is not None and found.complete:
        try:
            save(found)
        except ValueError as error:
            note(str(error))
    return found, False


def _texts(
    engine: Any,
    suite: str,
    prompts: list[str],
    drafts: Sequence[str],
    bottoms: Sequence[str],
    max_levels: int | None,
    max_new_tokens: int,
) -> dict[str, Any]:
    """What is decoded, and by which clock it is timed."""
    wall = getattr(engine, "clock", time.perf_counter_ns) is time.perf_counter_ns
    about = {
        "levels": max_levels,
        "drafts": list(drafts),
        "bottoms": list(bottoms),
        "clock": "wall" if wall else "processor",
    }
    return {**texts_of(suite, prompts, max_new_tokens), **about}


def probe(engine: Any, prompt: Prompt, drafts: Sequence[str], sampling: Sampling) -> Trace:
    """One token by a stack of all models: loads and checks them; the meta of its trace is the engine's identity."""
    if hasattr(engine, "wait_ready"):
        engine.wait_ready()
    return decode(engine, prompt, str(Stack(None, (*(Model(d, 1) for d in drafts), Model(TARGET)))), 1, sampling)


def estimates_from(traces: Iterable[Trace], models: Sequence[str] | None = None) -> Estimates:
    """Estimates from any recorded traces of one machine and one way of sampling.

    A trace calls its own target ``target``. Here that is the largest of their targets alone; what was the target of other traces
    goes by its own name. ``models`` orders the models, smallest first (default: by size). Raises ``ValueError`` with one sentence
    where the traces do not go together or tell of no round.
    """
    traces = list(traces)
    if not any(trace.round_rows for trace in traces):
        raise ValueError("the traces hold no round to estimate from: decode a prompt with a stack first")
    for what in ("device_name", "dtype", "threads", "sampling"):
        values = {str({**v, "seed": None} if isinstance(v := trace.meta.get(what), dict) else v) for trace in traces}
        if len(values) > 1:
            raise ValueError(
                f"the traces differ in their {what.replace('_', ' ')}: estimates are of one machine and one way of sampling"
            )
    targets = {t["model"]: t.get("parameters") or 0 for trace in traces if (t := _target(trace))}
    largest = max(targets, key=targets.__getitem__, default=None)
    return estimate([_named(trace, largest) for trace in traces], models)


def _target(trace: Trace) -> dict[str, Any] | None:
    models = trace.meta.get("models")
    return models[-1] if models and "model" in models[-1] else None


def _named(trace: Trace, target: str | None) -> Trace:
    """The trace, its top level under its own name where it is not ``target``."""
    own = _target(trace)
    if own is None or own["model"] == target:
        return trace
    top = max(c.level for c in trace.call_rows)
    models = [*trace.meta["models"][:-1], {**own, "name": own["model"]}]
    out = Trace({**trace.meta, "models": models})
    out.token_rows, out.draft_rows, out.round_rows = trace.token_rows, trace.draft_rows, trace.round_rows
    out.call_rows = [c._replace(name=own["model"]) if c.level == top else c for c in trace.call_rows]
    return out


def decode(engine: Any, prompt: Prompt, stack: str, max_new_tokens: int, sampling: Sampling) -> Trace:
    """One decode without details, its draft tokens forgotten: nothing here needs them and they are most of a trace."""
    try:
        trace = engine.run(
            prompt.text,
            stack,
            max_new_tokens=max_new_tokens,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            seed=sampling.seed,
            record=False,
        )
    except PromptTooLong as error:
        raise ValueError(f"prompt {prompt.id}: {error}") from None
    trace.draft_rows.clear()
    return trace


def at(sampling: Sampling, k: int) -> Sampling:
    """The sampling of prompt ``k``: another seed for each, the same one for every stack."""
    return replace(sampling, seed=(sampling.seed + k) % 2**63)


def acceptance_of(found: Estimates) -> tuple[Acceptance, ...]:
    """The edges' counts and intervals."""
    return tuple(
        Acceptance(d, v, e.rounds, e.drafted, e.examined, e.accepted, e.histogram, e.low, e.high)
        for (d, v), e in found.edges.items()
    )


def _shaped(mixed: Mixture, found: Estimates, shapes: dict[str, dict[int, float]]) -> Mixture:
    """The same with verification curves of the isolated forwards' shape."""
    costs = dict(mixed.pooled.costs)
    for name, shape in shapes.items():
        real = found.timing.medians.get(name)
        if real and name in costs:
            costs[name] = replace(costs[name], forward=fitted(shape, real))
    return mixed.priced(costs)
