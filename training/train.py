"""Train the ladder: the target on the corpus, then both drafts together on the corpus and the
target's distributions.

    python -m training train --profile long --out DIR

Deterministic for a given seed, machine and thread count. The same command resumes a stopped run
from its last checkpoint; the resumed run repeats the losses of an uninterrupted one.
"""

import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import Qwen3ForCausalLM

from hsd_viz.disk import write_whole
from hsd_viz.terminal import Status, print_line
from training import data as text
from training.learner import Learner, Teacher
from training.model import build, export
from training.recipe import STAGES, TrainingProfile
from training.recipe import profile as find_profile
from training.storage import RunLog, exclusive, load_checkpoint, save_checkpoint


class TrainingStage:
    """The models that are trained together on the same batches, and the position they have
    reached.
    """

    def __init__(
        self,
        name: str,
        profile: TrainingProfile,
        data: text.Data,
        out: Path,
        seed: int,
        device: str,
    ) -> None:
        self.name = name
        self.profile = profile
        self.run = profile.runs[name]
        self.data = data
        self.seed = seed
        self.device = device
        self.path = out / f"{name}.pt"
        self.log = RunLog(out)
        self.learners = [Learner(model, profile, self.run, seed, device) for model in STAGES[name]]
        self.teacher: Teacher | None = None
        self.step = 0
        self.steps = self.run.steps
        self.seconds = 0.0
        self.processor_seconds = 0.0
        self.summed = 0

    @property
    def tokens(self) -> int:
        """Tokens each model has seen."""
        return self.step * self.run.batch

    def batch_at(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets of a step, [windows, length] each."""
        run = self.run
        chunk = self.profile.chunk
        chunks = text.step_chunks(self.data.train, step, run.batch // chunk, chunk, self.seed)
        rows = text.add_repeats(
            text.cut(chunks, run.window_at(step, self.steps)), run.repeats, step, self.seed
        )
        rows = text.split_breaks(rows, self.data.breaks, run.splits, step, self.seed)
        ids = torch.from_numpy(rows).to(self.device)
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def compile(self) -> float:
        """Compile all window lengths, so that no later step waits; return the estimated seconds
        of the stage.
        """
        lengths = [window for _, window in self.run.windows]
        edges = [*(share for share, _ in self.run.windows), 1.0]
        seconds = 0.0
        for length, share in zip(lengths, np.diff(edges), strict=True):
            ids = torch.zeros(
                self.run.batch // length, length, dtype=torch.long, device=self.device
            )
            self._timed_step(ids)
            seconds += float(share) * min(self._timed_step(ids) for _ in range(2))
        for learner in self.learners:
            learner.network.zero_grad(set_to_none=True)
        return seconds * self.steps

    def _timed_step(self, ids: torch.Tensor) -> float:
        started = time.perf_counter()
        sum(loss.item() for loss in self._backward(ids, ids))
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    def _backward(self, ids: torch.Tensor, targets: torch.Tensor) -> list[torch.Tensor]:
        rows = self.teacher.logits(ids) if self.teacher else None
        return [learner.backward(ids, targets, rows) for learner in self.learners]

    def one_step(self) -> None:
        """Take one optimizer step with every model."""
        losses = self._backward(*self.batch_at(self.step))
        for learner, loss in zip(self.learners, losses, strict=True):
            learner.loss_sum += loss
            learner.update(self.step, self.steps)
        self.step += 1
        self.summed += 1

    def state(self) -> dict[str, Any]:
        """Return the checkpoint."""
        keys = ("step", "steps", "seconds", "processor_seconds", "summed", "seed")
        models = {learner.name: learner.state() for learner in self.learners}
        return {"profile": self.profile.name, "models": models} | {
            key: getattr(self, key) for key in keys
        }

    def restore(self) -> None:
        """Continue from the checkpoint.

        Raises:
            ValueError: if the checkpoint is of another seed or profile.
        """
        state = load_checkpoint(self.path)
        if (state["seed"], state["profile"]) != (self.seed, self.profile.name):
            description = f"profile {state['profile']} and seed {state['seed']}"
            raise ValueError(
                f"{self.path} was trained with {description}: choose another directory"
            )
        for learner in self.learners:
            learner.restore(state["models"][learner.name])
        for key in ("step", "steps", "seconds", "processor_seconds", "summed"):
            setattr(self, key, state[key])

    def fit(self, limit: float | None, progress: Status, stop_at: int | None = None) -> None:
        """Train to the end, with checkpoints. ``limit``: seconds of the whole stage; the decay is
        brought forward so that it ends in time.
        """
        windows = text.heldout_windows(self.data.heldout, 16, min(self.profile.chunk, 1024))
        begun = time.perf_counter() - self.seconds
        processor_begin = time.process_time() - self.processor_seconds
        first_step = self.step
        earlier = self.seconds
        saved = self.seconds
        stays = 1 - self.run.decay
        while self.step < self.steps:
            self.one_step()
            self.seconds = time.perf_counter() - begun
            self.processor_seconds = time.process_time() - processor_begin
            if (
                limit is not None
                and self.step < stays * self.steps
                and self.seconds > stays * limit
            ):
                self.steps = min(self.steps, math.ceil(self.step / stays))
            is_last = self.step == self.steps
            if is_last or self.step % self.profile.evaluate_every == 0:
                heldout = {learner.name: learner.measure(windows) for learner in self.learners}
                self.log.write(
                    "heldout", stage=self.name, step=self.step, tokens=self.tokens, heldout=heldout
                )
            if is_last or self.step % self.profile.log_every == 0:
                progress(self._report((self.step - first_step) / (self.seconds - earlier)))
            if is_last or self.seconds - saved >= self.profile.checkpoint_seconds:
                save_checkpoint(self.path, self.state())
                saved = self.seconds
            if stop_at is not None and self.step >= stop_at and not is_last:
                return

    def _report(self, speed: float) -> str:
        """Write the mean losses since the last report to the log and return a line of progress;
        ``speed``: steps/s.
        """
        losses = {}
        for learner in self.learners:
            losses[learner.name] = learner.loss_sum.item() / self.summed
        for learner in self.learners:
            learner.loss_sum.zero_()
        self.summed = 0
        rate = self.run.rate_at(self.step - 1, self.steps)
        self.log.write(
            "step",
            stage=self.name,
            step=self.step,
            tokens=self.tokens,
            loss=losses,
            rate=round(rate, 4),
            window=self.run.window_at(self.step - 1, self.steps),
            seconds=round(self.seconds, 1),
            processor_seconds=round(self.processor_seconds, 1),
        )
        losses_text = "  ".join(map(_losses_of, self.learners, losses.values()))
        minutes_left = (self.steps - self.step) / speed / 60
        reached = f"{self.name} {self.step}/{self.steps}  {self.tokens / 1e6:.2f} M tokens"
        rates = f"{speed * self.run.batch:.0f} tokens/s  {minutes_left:.0f} min left"
        return f"{reached}  {losses_text}  {rates}"

    def record(self) -> dict[str, Any]:
        """Return the part of the run that is shipped beside the weights."""
        values = {}
        for key in ("step", "steps", "seconds", "processor_seconds", "seed", "tokens"):
            values[key] = getattr(self, key)
        return {"profile": self.profile.name, **values, "run": asdict(self.run)}

    def export(self, out: Path) -> None:
        """Write the Hugging Face checkpoints of this stage into ``out/weights``."""
        for learner in self.learners:
            folder = out / "weights" / learner.name
            export(learner.best(), out / "tokenizer", folder)
            record = {**self.record(), "heldout": learner.heldout}
            write_whole(folder / "training.json", json.dumps(record, indent=1) + "\n")


def _losses_of(learner: Learner, loss: float) -> str:
    """Return the name of a model with its loss and its held-out losses."""
    heldout = ", ".join(f"{kind} {value:.3f}" for kind, value in learner.heldout.items())
    return f"{learner.name} {loss:.3f} (held-out {heldout})"


def trained_target(out: Path, profile: TrainingProfile) -> Qwen3ForCausalLM:
    """Return the target of a training folder: the better of its last and its averaged weights.

    Raises:
        ValueError: if the target has not been trained to its end.
    """
    path = out / "target.pt"
    state: dict[str, Any] = {"step": 0, "steps": 1}
    if path.exists():
        state = load_checkpoint(path)
    if state["step"] < state["steps"]:
        raise ValueError(
            f"the drafts are distilled from the final target: finish the target in {out} first"
        )
    learner = Learner("target", profile, profile.runs["target"], 0, "cpu")
    learner.restore(state["models"]["target"])
    return learner.best()


def train_ladder(
    profile: str | TrainingProfile,
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
    progress: Status = print_line,
    stop_at: int | None = None,
) -> Path:
    """Train the ladder and write Hugging Face checkpoints into ``out/weights``; return that folder.

    Args:
        profile: a name (``recipe.PROFILES``) or a ``TrainingProfile``.
        stages: which of ``target`` and ``drafts`` to train; the target is always first.
        resume: continue from the checkpoints in ``out``.
        minutes: time limit of the whole ladder; the schedules are shortened to fit.
        steps: number of steps by stage instead of the profile's, also for a resumed stage. Changing
            it before the decay begins does not change the steps already taken.
        tokenizer: folder of the tokenizer to use if ``out`` contains no corpus yet; by default one
            is trained.
        stop_at: leave each stage at this step (for tests).

    Raises:
        ValueError: for an unknown profile, stage or device, for a checkpoint of another seed or
            profile, and if another process trains in ``out``.
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
        data = text.prepare(plan, out, tokenizer)
        chosen = [
            TrainingStage(name, plan, data, out, seed, device) for name in STAGES if name in stages
        ]
        for stage in chosen:
            if resume and stage.path.exists():
                stage.restore()
            stage.steps = (steps or {}).get(stage.name, stage.steps)
        limits = _limits(chosen, started + 60 * minutes) if minutes else {}
        for stage in chosen:
            _run_stage(stage, out, limits.get(stage.name), progress, stop_at)
    return out / "weights"


def _limits(stages: list[TrainingStage], deadline: float) -> dict[str, float]:
    """Compile all stages and divide the time that remains by their measured durations; return
    seconds by stage.
    """
    durations = {}
    for stage in stages:
        if stage.run.distillation:
            stage.teacher = Teacher(build("target", stage.profile), stage.profile, stage.device)
        durations[stage.name] = stage.compile()
    seconds_left = deadline - time.perf_counter()
    total = sum(durations.values())
    return {
        stage.name: stage.seconds + seconds_left * durations[stage.name] / total for stage in stages
    }


def _run_stage(
    stage: TrainingStage,
    out: Path,
    limit: float | None,
    progress: Status,
    stop_at: int | None,
) -> None:
    """Train one stage to its end and export its models."""
    stage.log.write(
        "start",
        profile=stage.profile.name,
        stage=stage.name,
        step=stage.step,
        steps=stage.steps,
        seed=stage.seed,
        pid=os.getpid(),
        device=stage.device,
        threads=torch.get_num_threads(),
        torch=torch.__version__,
    )
    if stage.step < stage.steps:
        if stage.run.distillation:
            network = trained_target(out, stage.profile)
            stage.teacher = stage.teacher or Teacher(
                build("target", stage.profile), stage.profile, stage.device
            )
            stage.teacher.network.load_state_dict(network.state_dict())
        if stage.profile.compile and limit is None:
            stage.compile()
    stage.fit(limit, progress, stop_at)
    if stop_at is None:
        stage.log.write("end", stage=stage.name, step=stage.step, tokens=stage.tokens)
        stage.export(out)
