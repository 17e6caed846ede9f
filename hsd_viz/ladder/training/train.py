"""Train the ladder: the target on the corpus, then both drafts together on the corpus and the target's distributions.

    hsd-viz ladder train --profile long --out DIR

Deterministic for a given seed, machine and thread count. The same command resumes a stopped run from its last
checkpoint; the resumed run repeats the losses of an uninterrupted one.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from .data import prepare
from .learner import Learner, Teacher
from .network import Network
from .recipe import STAGES, Profile
from .recipe import profile as find_profile
from .stage import Stage
from .storage import exclusive, load_checkpoint


def to_stderr(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def trained_target(out: Path, profile: Profile) -> Network:
    """Return the target of a training folder: the better of its last and its averaged weights.

    Raises:
        ValueError: if the target has not been trained to its end.
    """
    path = out / "target.pt"
    state = load_checkpoint(path) if path.exists() else {"step": 0, "steps": 1}
    if state["step"] < state["steps"]:
        raise ValueError(f"the drafts are distilled from the final target: finish the target in {out} first")
    learner = Learner("target", profile, profile.runs["target"], 0, "cpu")
    learner.restore(state["models"]["target"])
    return learner.best()


def train_ladder(
    profile: str | Profile,
    out: Path,
    *,
    stages: Sequence[str] = tuple(STAGES),
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    resume: bool = True,
    minutes: float | None = None,
    steps: Mapping[str, int] | None = None,
    tokenizer: Path | None = None,
    progress: Callable[[str], None] = to_stderr,
    stop_at: int | None = None,
) -> Path:
    """Train the ladder and write Hugging Face checkpoints into ``out/weights``; return that folder.

    Args:
        profile: a name (``recipe.PROFILES``) or a ``Profile``.
        stages: which of ``target`` and ``drafts`` to train; the target is always first.
        resume: continue from the checkpoints in ``out``.
        minutes: time limit of the whole ladder; the schedules are shortened to fit.
        steps: number of steps by stage instead of the profile's, also for a resumed stage. Changing it before the decay
            begins does not change the steps already taken.
        tokenizer: folder of the tokenizer to use if ``out`` contains no corpus yet; by default one is trained.
        stop_at: leave each stage at this step (for tests).

    Raises:
        ValueError: for an unknown profile, stage or device, for a checkpoint of another seed or profile, and if another
            process trains in ``out``.
    """
    started = time.perf_counter()
    plan = find_profile(profile) if isinstance(profile, str) else profile
    for name in (*stages, *(steps or ())):
        if name not in STAGES:
            raise ValueError(f"unknown stage {name!r}: choose from {', '.join(STAGES)}")
    if device not in ("cpu", "cuda") or (device == "cuda" and not torch.cuda.is_available()):
        raise ValueError(f"device {device!r} is not available")
    if threads is not None:
        torch.set_num_threads(threads)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with exclusive(out):
        data = prepare(plan, out, tokenizer)
        chosen = [Stage(name, plan, data, out, seed, device) for name in STAGES if name in stages]
        for stage in chosen:
            if resume and stage.path.exists():
                stage.restore()
            stage.steps = (steps or {}).get(stage.name, stage.steps)
        limits = _limits(chosen, started + 60 * minutes) if minutes else {}
        for stage in chosen:
            _run_stage(stage, out, limits.get(stage.name), progress, stop_at)
    return out / "weights"


def _limits(stages: list[Stage], deadline: float) -> dict[str, float]:
    """Compile all stages and divide the time that remains by their measured durations; return seconds by stage."""
    durations = {}
    for stage in stages:
        if stage.run.distillation:
            stage.teacher = Teacher(stage.blank("target"), stage.profile, stage.device)
        durations[stage.name] = stage.compile()
    left, total = deadline - time.perf_counter(), sum(durations.values())
    return {stage.name: stage.seconds + left * durations[stage.name] / total for stage in stages}


def _run_stage(
    stage: Stage, out: Path, limit: float | None, progress: Callable[[str], None], stop_at: int | None
) -> None:
    """Train one stage to its end and export its models."""
    settings = {"device": stage.device, "threads": torch.get_num_threads(), "torch": torch.__version__}
    place = {"step": stage.step, "steps": stage.steps, "seed": stage.seed, "pid": os.getpid()}
    stage.log.write("start", profile=stage.profile.name, stage=stage.name, **place, **settings)
    if stage.step < stage.steps:
        if stage.run.distillation:
            network = trained_target(out, stage.profile)
            stage.teacher = stage.teacher or Teacher(stage.blank("target"), stage.profile, stage.device)
            stage.teacher.network.load_state_dict(network.state_dict())
        if stage.profile.compile and limit is None:
            stage.compile()
    stage.fit(limit, progress, stop_at)
    if stop_at is None:
        stage.log.write("end", stage=stage.name, step=stage.step, tokens=stage.tokens)
        stage.export(out)
