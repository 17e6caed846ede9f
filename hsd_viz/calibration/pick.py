"""Decide by the stored calibration of this machine: the stack for ``auto``, and lookaheads that a stack leaves out.

``auto`` is the fastest stack by the latency law for this machine, these models and this temperature. Without a stored
calibration, a short one is measured and saved. Calibrations are shared by all temperatures of a bucket, for any top-k
and top-p.
"""

import functools
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hsd_viz.calibration.calibrate import TARGET, Workload, calibration_steps
from hsd_viz.calibration.store import StoredCalibration, folder, identity, newest, sampling_identity, save
from hsd_viz.decoding.settings import Sampling
from hsd_viz.latency.mixture import Mixture, choose, fill
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import DraftSource, Model, Stack, parse
from hsd_viz.trace import Stage

#: The short calibration: about 8 000 tokens on the shipped ladder, which take 10 to 40 seconds on one thread.
SUITE, PROMPTS, TOKENS = "heldout", 8, 64
#: Acceptance changes slowly with the temperature: each of these serves the temperatures next to it.
BUCKETS = (0.0, 0.35, 0.7, 1.0)
#: A predicted gain below this share is within the error of the prediction: ``auto`` is then plain decoding.
MIN_GAIN = 0.02


def is_auto(stack: Stack) -> bool:
    """Return whether the draft source of ``stack`` is ``auto``."""
    return stack.bottom is not None and stack.bottom.name == "auto"


def candidates(stack: Stack, target: str, ladder: Sequence[str]) -> Stack:
    """Return the levels that ``auto`` may use, as a stack: the database, the draft models, the target. By default these
    are the databases and all models of the ladder below ``target``.
    """
    named = () if stack.bottom is None else stack.bottom.items
    items = named or ("db", *(ladder[: ladder.index(target)] if target in ladder else ()))
    source = DraftSource("db") if "db" in items else None
    return Stack(source, (*(Model(item) for item in items if item != "db"), stack.target))


def pick(
    engine: Any, levels: Stack, meta: Mapping[str, Any], measured: dict[str, Mixture | None]
) -> Generator[Stage, None, Stack]:
    """Yield stages while this machine is calibrated, if it is not, and return the fastest stack of ``levels``. ``meta``
    is that of a trace of ``levels``. ``measured`` holds the calibrations of this process, in case they cannot be saved.
    Closing the iterator cancels the calibration.
    """
    wanted = identity(meta)
    temperature = min(BUCKETS, key=lambda bucket: abs(bucket - wanted["sampling"]["temperature"]))
    sampling = Sampling(temperature, rule=meta["sampling"].get("rule", "token"))
    bucket = {**wanted, "sampling": sampling_identity(asdict(sampling))}
    for machine_and_models in (wanted, bucket):
        if (found := _decide(fastest, levels, machine_and_models)) is not None:
            return found
    key = json.dumps([str(levels), bucket], sort_keys=True)
    if key not in measured:
        measured[key] = yield from _measure(engine, levels, meta, sampling)
    mixture = measured[key]
    return Stack(None, (levels.target,)) if mixture is None else fastest(levels, mixture)


def _measure(
    engine: Any, levels: Stack, meta: Mapping[str, Any], sampling: Sampling
) -> Generator[Stage, None, Mixture | None]:
    """Yield stages of a short calibration, and return its mixture; ``None`` if it is not possible."""
    sizes = {m["name"]: m.get("parameters") or 0 for m in meta["models"]}
    drafts = sorted((m.name for m in levels.drafts), key=sizes.__getitem__)
    databases = () if levels.bottom is None else (str(levels.bottom),)
    prompts, target = load_suite(SUITE).limited(PROMPTS), levels.target.name
    work = Workload(prompts, drafts, databases, target, sampling=sampling, max_new_tokens=TOKENS)
    steps = calibration_steps(engine, work)
    try:
        while True:
            step = next(steps)
            yield Stage("auto: measuring this machine once", step.done, step.total)
    except StopIteration as end:
        stored: StoredCalibration | None = end.value
    except ValueError as error:
        yield Stage(f"auto: this machine cannot be measured ({error}): decoding without drafts")
        return None
    if stored is None or not stored.complete:
        raise KeyboardInterrupt
    try:
        save(stored)
    except ValueError as error:
        yield Stage(f"auto: {error}")
    return stored.mixture


def fastest(levels: Stack, mixture: Mixture) -> Stack:
    """Return the fastest stack of ``levels`` by the law. Plain decoding if no stack is predicted to gain
    ``MIN_GAIN``.
    """
    drafts = [m.name for m in levels.drafts]
    databases = () if levels.bottom is None else (str(levels.bottom),)
    choice = choose(mixture.each(lambda calibration: calibration.restricted(drafts, databases)))
    picked = parse((choice.picked if choice.picked.gain_over(choice.plain) >= MIN_GAIN else choice.plain).stack)
    return Stack(picked.bottom, (*picked.drafts, levels.target))


def calibrated_lookaheads(stack: Stack, meta: Mapping[str, Any]) -> Stack | None:
    """Return ``stack`` with all lookaheads, or ``None`` without a stored calibration for exactly this engine. ``meta``
    is that of a trace of the stack, with any lookaheads.
    """
    # The calibration calls the target by that name, however the stack calls it.
    found = _decide(fill, Stack(stack.bottom, (*stack.drafts, Model(TARGET))), identity(meta))
    return None if found is None else Stack(found.bottom, (*found.drafts, stack.target))


def _decide(
    rule: Callable[[Stack, Mixture], Stack], stack: Stack, machine_and_models: Mapping[str, Any]
) -> Stack | None:
    """Return the decision of ``rule`` by the stored calibration of identity ``machine_and_models``. Cached until the
    folder changes.
    """
    try:
        state = folder().stat().st_mtime_ns
    except OSError:
        return None
    return _decided(rule, stack, json.dumps(machine_and_models, sort_keys=True), str(folder()), state)


@functools.lru_cache(maxsize=64)
def _decided(
    rule: Callable[[Stack, Mixture], Stack], stack: Stack, machine_and_models: str, where: str, state: int
) -> Stack | None:
    stored = newest(json.loads(machine_and_models))
    try:
        return None if stored is None else rule(stack, stored.mixture)
    except ValueError:  # part of the stack was not measured
        return None
