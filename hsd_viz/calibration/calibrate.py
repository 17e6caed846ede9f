"""Calibrate an engine: measure the costs of its models and how much of each other's drafts they accept.

All figures come from ordinary decodes with short stacks that take turns: their rounds are the rounds that a hierarchy
pays for.

- Acceptance of model i's tokens by model j: under the target by ``i:g > target``, between draft models by ``i:g > j:h >
  target``, at several lookaheads, and of a database's drafts by ``db > target`` and ``db > j:h > target``. Not by ``i:g
  > j``: j would then write the text, and the text of a small model repeats itself and is easier to draft than the
  target's.
- Costs: medians of the forward passes, launches, look-ups and overheads of the same rounds. Verifications at the widths
  between and beyond get their shape from forward passes timed in isolation (:mod:`~hsd_viz.calibration.forwards`).

Decodes are not recorded, so that the cost of recording is not included. Measuring starts when the engine has finished
compiling.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

from hsd_viz.calibration.estimate import Estimates, estimate, estimate_mixture, stretches
from hsd_viz.calibration.forwards import fit_curve, time_forwards
from hsd_viz.calibration.store import AcceptanceCounts, StoredCalibration, identity, load, path_of, save, texts_of
from hsd_viz.decoding.limits import PromptTooLong
from hsd_viz.decoding.settings import Sampling
from hsd_viz.latency.mixture import Mixture
from hsd_viz.progress import Progress
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.trace import Trace

TARGET = "target"
#: Tokens decoded per prompt.
TOKENS = 128
WARM_UP_TOKENS = 8
#: Lookaheads of a model directly under the target; of two models, the lower one's first; of a model over a database.
ALONE = (1, 2, 4, 8)
PAIRS = ((2, 4), (4, 8))
OVER_DATABASE = (3, 8)


def calibration_stacks(
    drafts: Sequence[str], bottoms: Sequence[str], max_levels: int | None = None, target: str = TARGET
) -> tuple[str, ...]:
    """Return the stacks to decode for draft models ``drafts`` (smallest first) under the target, and databases
    ``bottoms``.

    ``max_levels`` leaves out the stacks that only higher hierarchies need.
    """
    most, top = max_levels or 3, Model(target)
    sources = [parse(f"{bottom} > {TARGET}").bottom for bottom in bottoms]
    stacks = [Stack(None, (top,))]
    if most >= 2:
        stacks += [Stack(None, (Model(i, g), top)) for i in drafts for g in ALONE]
        stacks += [Stack(source, (top,)) for source in sources]
    if most >= 3:
        pairs = combinations(drafts, 2)
        stacks += [Stack(None, (Model(i, g), Model(j, h), top)) for i, j in pairs for g, h in PAIRS]
        stacks += [Stack(source, (Model(j, h), top)) for source in sources for j in drafts for h in OVER_DATABASE]
    return tuple(map(str, stacks))


def calibrate(
    engine: Any,
    suite: Suite,
    drafts: Sequence[str],
    bottoms: Sequence[str] = ("db",),
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    **options: Any,
) -> StoredCalibration | None:
    """Measure on the prompts of ``suite``; ``options`` as for :func:`calibration_steps`.

    Cancelled (``cancelled`` is called before each decode) or interrupted with Ctrl-C, the calibration covers the
    prompts that every stack had finished, with ``complete`` False; ``None`` without any.

    Raises:
        ValueError: for bad input, or if all texts ended at once.
    """
    steps = calibration_steps(engine, suite, drafts, bottoms, report=progress, cancelled=cancelled, **options)
    stop = False
    try:
        while True:
            step = steps.throw(KeyboardInterrupt) if stop else next(steps)
            try:
                progress(step)
                stop = cancelled()
            except KeyboardInterrupt:
                stop = True
    except StopIteration as end:
        return end.value


def calibration_steps(
    engine: Any,
    suite: Suite,
    drafts: Sequence[str],
    bottoms: Sequence[str] = ("db",),
    *,
    target: str = TARGET,
    max_levels: int | None = None,
    sampling: Sampling | None = None,
    max_new_tokens: int = TOKENS,
    report: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Generator[Progress, None, StoredCalibration | None]:
    """Yield the progress before each decode of a calibration, and return the calibration.

    ``drafts`` are the draft models, smallest first, ``target`` the last model of the stacks. ``KeyboardInterrupt`` ends
    it early. ``report`` gets progress while the engine compiles; ``cancelled`` ends the timing of isolated forward
    passes.
    """
    sampling = sampling or Sampling()
    stacks = calibration_stacks(drafts, bottoms, max_levels, target)
    total = len(stacks) * len(suite.prompts)
    created = time.time()
    texts: list[list[Trace]] = []
    shapes: dict[str, dict[int, float]] = {}
    who: dict[str, Any] = {}
    try:
        for stack in stacks:
            yield Progress(0, total, stack, "")
            decode(engine, suite.prompts[0], stack, min(WARM_UP_TOKENS, max_new_tokens), sampling)
        if hasattr(engine, "wait_ready"):
            engine.wait_ready(lambda text: report(Progress(0, total, "", "", text)))
        who = identity(probe(engine, suite.prompts[0], drafts, sampling, target).meta)
        if hasattr(engine, "fast"):
            yield Progress(0, total, "", "", "timing forward passes")
            models = {**{name: engine.fast(name) for name in drafts}, TARGET: engine.fast(target)}
            shapes = time_forwards(models, clock=_clock(engine), cancelled=cancelled)
        for k, prompt in enumerate(suite.prompts):
            found = []
            for stack in stacks:
                yield Progress(k * len(stacks) + len(found), total, stack, prompt.id)
                found.append(decode(engine, prompt, stack, max_new_tokens, at(sampling, k)))
            texts.append(found)
    except KeyboardInterrupt:
        pass
    complete = len(texts) == len(suite.prompts)
    if not any(trace.token_rows for text in texts for trace in text):
        if complete:
            raise ValueError("no token was decoded on the calibration prompts: every text ended at once")
        return None
    about = _texts(engine, suite, len(texts), drafts, bottoms, max_levels, max_new_tokens)
    return _stored(texts, (*drafts, TARGET), shapes, who, about, created, sampling.greedy, complete)


def _stored(
    texts: list[list[Trace]],
    models: Sequence[str],
    shapes: Mapping[str, Mapping[int, float]],
    who: Mapping[str, Any],
    about: Mapping[str, Any],
    created: float,
    greedy: bool,
    complete: bool,
) -> StoredCalibration:
    """Return the calibration of the decoded ``texts``."""
    found = estimate([trace for text in texts for trace in text], models)
    # With greedy decoding all stacks write the same text, so its stretches can be grouped, too.
    parts = [part for text in texts for part in stretches(text)] if greedy else texts
    return StoredCalibration(
        identity=who,
        texts=about,
        created=created,
        seconds=time.time() - created,
        mixture=_shaped(estimate_mixture(parts, found), found, shapes),
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
    note: Callable[[str], None] = lambda message: None,
) -> tuple[StoredCalibration | None, bool]:
    """Return the stored calibration if a recent one fits, else measure and store one: (calibration, whether it was
    stored).

    ``fresh`` measures again in any case. ``note`` gets a message if a stored one cannot be read or a new one cannot be
    saved.
    """
    sampling = sampling or Sampling()
    progress(Progress(0, 0, "", "", "loading the models"))
    who = identity(probe(engine, suite.prompts[0], drafts, sampling).meta)
    path = path_of(who, _texts(engine, suite, len(suite.prompts), drafts, bottoms, max_levels, max_new_tokens))
    if not fresh:
        try:
            stored = load(path)
            if stored.fresh():
                return stored, True
        except FileNotFoundError:
            pass
        except ValueError as error:
            note(f"{error}: it is measured again")
    options = {"max_levels": max_levels, "sampling": sampling, "max_new_tokens": max_new_tokens}
    found = calibrate(engine, suite, drafts, bottoms, progress=progress, cancelled=cancelled, **options)
    if found is not None and found.complete:
        try:
            save(found)
        except ValueError as error:
            note(str(error))
    return found, False


def _clock(engine: Any) -> Callable[[], int]:
    return getattr(engine, "clock", time.perf_counter_ns)


def _texts(
    engine: Any,
    suite: Suite,
    prompts: int,
    drafts: Sequence[str],
    bottoms: Sequence[str],
    max_levels: int | None,
    max_new_tokens: int,
) -> dict[str, Any]:
    """Return what is decoded, the first ``prompts`` of the suite, and the clock that times it."""
    return {
        **texts_of(suite.name, [p.text for p in suite.prompts[:prompts]], max_new_tokens),
        "levels": max_levels,
        "drafts": list(drafts),
        "bottoms": list(bottoms),
        "clock": "wall" if _clock(engine) is time.perf_counter_ns else "processor",
    }


def probe(engine: Any, prompt: Prompt, drafts: Sequence[str], sampling: Sampling, target: str = TARGET) -> Trace:
    """Decode one token with a stack of all models: loads and checks them. Its meta has the engine's identity."""
    if hasattr(engine, "wait_ready"):
        engine.wait_ready()
    return decode(engine, prompt, str(Stack(None, (*(Model(d, 1) for d in drafts), Model(target)))), 1, sampling)


def estimates_from(traces: Iterable[Trace], models: Sequence[str] | None = None) -> Estimates:
    """Return estimates from any recorded traces of one machine and one way of sampling.

    A trace calls its own target ``target``. Here that name means the largest of the targets; the targets of other
    traces get their own names. ``models`` orders the models, smallest first (default: by size).

    Raises:
        ValueError: if the traces differ in machine or sampling, or have no round.
    """
    traces = list(traces)
    if not any(trace.round_rows for trace in traces):
        raise ValueError("the traces have no round to estimate from: decode a prompt with a stack first")
    for what in ("device_name", "dtype", "threads", "sampling"):
        values = {str({**v, "seed": None} if isinstance(v := trace.meta.get(what), dict) else v) for trace in traces}
        if len(values) > 1:
            raise ValueError(
                f"the traces differ in their {what.replace('_', ' ')}: estimates need one machine and one way of sampling"
            )
    targets = {t["model"]: t.get("parameters") or 0 for trace in traces if (t := _target(trace))}
    largest = max(targets, key=targets.__getitem__, default=None)
    return estimate([_named(trace, largest) for trace in traces], models)


def _target(trace: Trace) -> dict[str, Any] | None:
    models = trace.meta.get("models")
    return models[-1] if models and "model" in models[-1] else None


def _named(trace: Trace, target: str | None) -> Trace:
    """Return the trace, with its top level under its own name where that is not ``target``."""
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
    """Run one unrecorded decode and drop its draft rows, which are not needed here and are most of a trace."""
    try:
        trace = engine.run(prompt.text, stack, max_new_tokens=max_new_tokens, record=False, **asdict(sampling))
    except PromptTooLong as error:
        raise ValueError(f"prompt {prompt.id}: {error}") from None
    trace.draft_rows.clear()
    return trace


def at(sampling: Sampling, k: int) -> Sampling:
    """Return the sampling of prompt ``k``: another seed for each prompt, the same for every stack."""
    return replace(sampling, seed=(sampling.seed + k) % 2**63)


def acceptance_of(found: Estimates) -> tuple[AcceptanceCounts, ...]:
    """Return the counts and intervals of all edges."""
    return tuple(
        AcceptanceCounts(d, v, e.rounds, e.drafted, e.examined, e.accepted, e.histogram, e.low, e.high)
        for (d, v), e in found.edges.items()
    )


def _shaped(mixed: Mixture, found: Estimates, shapes: Mapping[str, Mapping[int, float]]) -> Mixture:
    """Return the mixture with verification curves of the shape of isolated forward passes."""
    costs = dict(mixed.pooled.costs)
    for name, shape in shapes.items():
        real = found.timing.medians.get(name)
        if real and name in costs:
            costs[name] = replace(costs[name], forward=fit_curve(shape, real))
    return mixed.priced(costs)
