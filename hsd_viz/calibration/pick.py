"""Decide by the calibration of this machine, before a decode: the stack for ``auto``, and the lookaheads ``:auto``.

``auto`` is the fastest stack by the latency law for this machine, these models and this temperature. Without a stored
calibration, a short one is measured and saved. Calibrations are shared by all temperatures of a bucket, for any top-k
and top-p.
"""

import functools
import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict
from typing import Any

from hsd_viz.calibration.calibrate import TARGET, Workload, calibration_steps
from hsd_viz.calibration.store import folder, identity, newest, sampling_identity, save
from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.select import fill, select
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.trace import Stage

#: The short calibration: about 8 000 tokens on the shipped ladder, which take 10 to 40 seconds on one thread.
SUITE, PROMPTS, TOKENS = "heldout", 8, 64
#: Acceptance changes slowly with the temperature: each of these serves the temperatures next to it.
BUCKETS = (0.0, 0.35, 0.7, 1.0)
#: A predicted gain below this share is within the error of the prediction: ``auto`` is then plain decoding.
MIN_GAIN = 0.02


def decide(
    engine: Engine, stack: Stack, choosing: bool, meta: Mapping[str, Any], measured: dict[str, Calibration | None]
) -> Generator[Stage, None, Stack]:
    """Return the fastest stack of the levels of ``stack`` (``choosing``), or ``stack`` with the fastest lookaheads for
    ``:auto``. Yields stages while ``auto`` calibrates this machine; closing the iterator cancels that. ``meta`` is that
    of a trace of ``stack``, ``measured`` holds the calibrations of this process, in case they cannot be saved.

    Raises:
        ValueError: if lookaheads are to be chosen and this machine has no calibration of the models.
    """
    if not choosing:
        if (filled := calibrated_lookaheads(stack, meta)) is not None:
            return filled
        example = Model(stack.drafts[0].name, 4)
        drafts, temperature = ",".join(m.name for m in stack.drafts), meta["sampling"]["temperature"]
        raise ValueError(
            f"'{stack}' needs a calibration of this machine: run `hsd-viz plan --models {drafts} --temperature "
            f"{temperature:g}` with the same device, dtype and threads, or write a lookahead, as in {example}"
        )
    wanted = identity(meta)
    temperature = min(BUCKETS, key=lambda bucket: abs(bucket - wanted["sampling"]["temperature"]))
    sampling = Sampling(temperature, rule=meta["sampling"].get("rule", "token"))
    bucket = {**wanted, "sampling": sampling_identity(asdict(sampling))}
    for engine_identity in (wanted, bucket):
        if (chosen := _stored(fastest, stack, engine_identity)) is not None:
            return chosen
    key = json.dumps([str(stack), bucket], sort_keys=True)
    if key not in measured:
        measured[key] = yield from _measure(engine, stack, meta, sampling)
    calibration = measured[key]
    return Stack(None, (stack.target,)) if calibration is None else fastest(stack, calibration)


def fastest(levels: Stack, calibration: Calibration) -> Stack:
    """Return the fastest stack of ``levels`` by the law. Plain decoding if no stack is predicted to gain
    ``MIN_GAIN``.
    """
    databases = () if levels.bottom is None else (str(levels.bottom),)
    choice = select(calibration.restricted([m.name for m in levels.drafts], databases))
    picked = parse((choice.picked if choice.picked.gain_over(choice.plain) >= MIN_GAIN else choice.plain).stack)
    return Stack(picked.bottom, (*picked.drafts, levels.target))


def calibrated_lookaheads(stack: Stack, meta: Mapping[str, Any]) -> Stack | None:
    """Return ``stack`` with the fastest lookaheads for ``:auto``, or ``None`` without a stored calibration for exactly
    this engine. ``meta`` is that of a trace of the stack, with any lookaheads.
    """
    # The calibration calls the target by that name, however the stack calls it.
    filled = _stored(fill, Stack(stack.bottom, (*stack.drafts, Model(TARGET))), identity(meta))
    return None if filled is None else Stack(filled.bottom, (*filled.drafts, stack.target))


def _measure(
    engine: Engine, levels: Stack, meta: Mapping[str, Any], sampling: Sampling
) -> Generator[Stage, None, Calibration | None]:
    """Yield stages of a short calibration, and return it; ``None`` if it is not possible."""
    sizes = {m["name"]: m.get("parameters") or 0 for m in meta["models"]}
    drafts = sorted((m.name for m in levels.drafts), key=sizes.__getitem__)
    databases = () if levels.bottom is None else (str(levels.bottom),)
    prompts = load_suite(SUITE).limited(PROMPTS)
    work = Workload(prompts, drafts, databases, levels.target.name, sampling=sampling, max_new_tokens=TOKENS)
    steps = calibration_steps(engine, work)
    try:
        while True:
            step = next(steps)
            yield Stage("auto: measuring this machine once", step.done, step.total)
    except StopIteration as end:
        stored = end.value
    except ValueError as error:
        yield Stage(f"auto: this machine cannot be measured ({error}): decoding without drafts")
        return None
    if stored is None or not stored.complete:
        raise KeyboardInterrupt
    try:
        save(stored)
    except ValueError as error:
        yield Stage(f"auto: {error}")
    return stored.calibration


def _stored(rule: Callable[[Stack, Calibration], Stack], stack: Stack, engine: Mapping[str, Any]) -> Stack | None:
    """Return the decision of ``rule`` by the stored calibration of an engine's identity, ``None`` without one. Cached
    until the folder changes.
    """
    try:
        return _decided(rule, stack, json.dumps(engine, sort_keys=True), str(folder()), folder().stat().st_mtime_ns)
    except OSError:
        return None


@functools.lru_cache(maxsize=64)
def _decided(
    rule: Callable[[Stack, Calibration], Stack], stack: Stack, engine: str, where: str, changed_ns: int
) -> Stack | None:
    stored = newest(json.loads(engine))
    try:
        return None if stored is None else rule(stack, stored.calibration)
    except ValueError:  # part of the stack was not measured
        return None
