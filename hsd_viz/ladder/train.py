"""Train the ladder: the target on the corpus, then each draft on the corpus with the target's distributions as a guide.

    hsd-viz ladder train --profile cpu --out checkpoints/cpu

Deterministic given the seed, the machine and the thread count. A run that was stopped goes on where it last saved.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from .data import Data, heldout_windows, prepare, step_windows
from .muon import optimisers
from .network import Network, cross_entropy, distillation_loss
from .recipe import NAMES, Profile, Run
from .recipe import profile as find_profile


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands. Losses in nats a token; ``eta`` in seconds; ``heldout`` is the last one measured."""

    model: str
    step: int
    steps: int
    tokens: int
    loss: float
    heldout: float | None
    tokens_per_second: float
    eta: float

    def __str__(self) -> str:
        held = f"  held-out {self.heldout:.3f}" if self.heldout is not None else ""
        speed = f"{self.tokens_per_second:6.0f} tok/s  {self.eta / 60:5.1f} min left"
        return f"{self.model:>6}  step {self.step}/{self.steps}  {self.tokens / 1e6:6.2f} M tokens  loss {self.loss:.3f}{held}  {speed}"


def to_stderr(progress: Progress) -> None:
    """Print one line of progress."""
    print(progress, file=sys.stderr, flush=True)


def rate_at(step: int, steps: int, run: Run) -> float:
    """The learning rate at ``step`` as a share of its peak: rise, stay, fall in a line to ``run.floor``."""
    rise = min(1.0, (step + 1) / max(1, run.warmup))
    left = (steps - step) / max(1.0, run.decay * steps)
    return rise * (run.floor + (1 - run.floor) * min(1.0, left))


def _save(path: Path, state: dict) -> None:
    # Written under another name first: a run killed while saving must find the last good checkpoint.
    fresh = path.with_suffix(".tmp")
    torch.save(state, fresh)
    os.replace(fresh, path)


def _autocast(device: str) -> torch.autocast:
    return torch.autocast(device, torch.bfloat16)


@torch.no_grad()
def heldout_loss(network: Network, windows: np.ndarray, device: str, batch: int = 4) -> float:
    """Mean loss in nats over ``windows`` [count, window + 1]."""
    total = 0.0
    for start in range(0, len(windows), batch):
        ids = torch.from_numpy(windows[start : start + batch]).to(device)
        with _autocast(device):
            logits = network(ids[:, :-1])
        total += cross_entropy(logits, ids[:, 1:].contiguous()).item() * len(ids)
    return total / len(windows)


def load_network(path: Path, profile: Profile, name: str, device: str = "cpu") -> Network:
    """The network of a training checkpoint, in float32."""
    network = Network(profile.sizes[name], profile.vocabulary)
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)["network"])
    return network.to(device)


class _Trainer:
    """One model's run: network, optimisers and the place it has reached."""

    def __init__(
        self, name: str, profile: Profile, data: Data, out: Path, seed: int, device: str, teacher: Network | None
    ) -> None:
        self.name, self.profile, self.run, self.data, self.seed, self.device = (
            name,
            profile,
            profile.runs[name],
            data,
            seed,
            device,
        )
        self.path = out / f"{name}.pt"
        generator = torch.Generator().manual_seed(seed)
        self.network = Network(profile.sizes[name], profile.vocabulary, generator).to(device)
        self.optimisers = optimisers(self.network, self.run)
        self.step, self.steps, self.seconds, self.heldout = 0, self.run.steps, 0.0, None
        self.history: list[list[float]] = []  # [step, running training loss, held-out loss]
        self.ends: list[int] = []  # steps at which the run had ended before it went on
        self.guides: list[int] = []  # steps the target had taken when it guided this draft
        wrap = (lambda f: torch.compile(f, dynamic=False)) if profile.compile else (lambda f: f)
        self._plain, self._guided = wrap(self._plain_loss), wrap(self._guided_loss)
        self._teach = wrap(self._teacher_logits)
        self.teacher = teacher

    def _plain_loss(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with _autocast(self.device):
            logits = self.network(ids)
        return cross_entropy(logits, targets)

    def _guided_loss(self, ids: torch.Tensor, targets: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        with _autocast(self.device):
            logits = self.network(ids)
        return distillation_loss(logits, teacher, targets, self.run.distil_weight)

    def _teacher_logits(self, ids: torch.Tensor) -> torch.Tensor:
        assert self.teacher is not None
        with _autocast(self.device):
            return self.teacher(ids)

    def state(self) -> dict:
        return {
            "network": self.network.state_dict(),
            "optimisers": [o.state_dict() for o in self.optimisers],
            "step": self.step,
            "steps": self.steps,
            "seconds": self.seconds,
            "heldout": self.heldout,
            "history": self.history,
            "ends": self.ends,
            "guides": self.guides,
            "rng": torch.get_rng_state(),
            "seed": self.seed,
            "profile": self.profile.name,
            "run": asdict(self.run),
        }

    def restore(self, unlimited: bool) -> None:
        """Go on from the checkpoint; without a time limit (``unlimited``) to the recipe's full length."""
        state = torch.load(self.path, map_location="cpu", weights_only=True)
        if (state["seed"], state["profile"]) != (self.seed, self.profile.name):
            raise ValueError(
                f"{self.path} was trained with profile {state['profile']} and seed {state['seed']}: choose another directory"
            )
        self.network.load_state_dict(state["network"])
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.step, self.steps, self.seconds = state["step"], state["steps"], state["seconds"]
        self.heldout, self.history, self.ends, self.guides = (
            state[key] for key in ("heldout", "history", "ends", "guides")
        )
        if unlimited and self.steps < self.run.steps:
            # The limit is gone: rise to the full rate again and fall at the recipe's own end.
            if self.step == self.steps:
                self.ends.append(self.step)
            self.steps = self.run.steps
        torch.set_rng_state(state["rng"])

    def one_step(self) -> float:
        """Take one optimiser step; returns the loss it started from, in nats."""
        run, window = self.run, self.profile.window
        rows = step_windows(self.data.train, self.step, run.windows, window, self.seed)
        pairs = np.stack([rows[:, :-1], rows[:, 1:]])
        if self.step < (1 - self.profile.long_share) * self.steps:
            pairs = pairs.reshape(2, -1, window // 2)
        ids, targets = torch.from_numpy(pairs).to(self.device)
        if self.teacher is not None and self.step >= run.distil_from * self.steps:
            with torch.no_grad():
                teacher = self._teach(ids)
            loss = self._guided(ids, targets, teacher)
        else:
            loss = self._plain(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), run.clip)
        share = rate_at(self.step, self.steps, run)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group["peak"] * share
            optimiser.step()
        self.network.zero_grad(set_to_none=True)
        self.step += 1
        return loss.item()

    def fit(self, minutes: float | None, progress: Callable[[Progress], None], stop_at: int | None = None) -> None:
        """Train to the end, saving as it goes. ``minutes`` brings the falling of the rate forward so that it ends in time."""
        windows = heldout_windows(self.data.heldout, 16, self.profile.window)
        started, base, first = time.perf_counter(), self.seconds, self.step
        saved, mean, every = started, math.nan, max(1, min(50, self.steps // 10))
        tokens_a_step = self.run.windows * self.profile.window
        while self.step < self.steps:
            loss = self.one_step()
            mean = loss if math.isnan(mean) else 0.95 * mean + 0.05 * loss
            now = time.perf_counter()
            self.seconds = base + now - started
            stays = 1 - self.run.decay
            if minutes is not None and self.step < stays * self.steps and self.seconds > 60 * minutes * stays:
                self.steps = min(self.steps, math.ceil(self.step / stays))
            done = self.step == self.steps
            if done or self.step % (4 * every) == 0:
                self.heldout = heldout_loss(self.network, windows, self.device)
                self.history.append([self.step, mean, self.heldout])
            if done or self.step % every == 0:
                speed = (self.step - first) * tokens_a_step / (now - started)
                left = (self.steps - self.step) * tokens_a_step / speed
                progress(
                    Progress(
                        self.name, self.step, self.steps, self.step * tokens_a_step, mean, self.heldout, speed, left
                    )
                )
            if done or now - saved >= self.profile.checkpoint_seconds:
                _save(self.path, self.state())
                saved = time.perf_counter()
            if stop_at is not None and self.step >= stop_at and not done:
                return


# How a time limit is shared out; the drafts are small and learn from the target, so most of it goes to the target.
_SHARES = {"target": 0.70, "small": 0.19, "nano": 0.11}


def train_ladder(
    profile: str | Profile,
    out: Path,
    *,
    models: Sequence[str] = ("target", "small", "nano"),
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    resume: bool = True,
    minutes: float | None = None,
    progress: Callable[[Progress], None] = to_stderr,
    stop_at: int | None = None,
) -> Path:
    """Train ``models`` (the target always first) and write Hugging Face checkpoints into ``out/weights``; returns that folder.

    ``profile``: ``cpu``, ``gpu``, ``tiny``, or a ``Profile``.
    ``minutes``: a limit for the whole ladder; the schedules are then shortened to fit.
    ``resume``: go on from ``out/<model>.pt`` where there is one; a run that a limit had shortened goes on to its full length when
    there is no limit now. ``stop_at``: leave each run at this step (for tests).
    Raises ValueError for an unknown profile, model or device, and for a checkpoint of another seed or profile.
    """
    from .export import export, training_record

    plan = find_profile(profile) if isinstance(profile, str) else profile
    for name in models:
        if name not in NAMES:
            raise ValueError(f"unknown model {name!r}: choose from {', '.join(NAMES)}")
    if device not in ("cpu", "cuda") or (device == "cuda" and not torch.cuda.is_available()):
        raise ValueError(f"device {device!r} is not available here")
    if threads is not None:
        torch.set_num_threads(threads)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    data = prepare(plan, out)
    for name in sorted(models, key=NAMES.index, reverse=True):
        teacher_path = out / "target.pt"
        teacher = None
        if name != "target" and plan.runs[name].distil_from < 1:
            if not teacher_path.exists():
                raise ValueError(f"{name} learns from the target: train the target into {out} first")
            teacher = load_network(teacher_path, plan, "target", device).eval()
        torch.manual_seed(seed)
        trainer = _Trainer(name, plan, data, out, seed, device, teacher)
        if resume and trainer.path.exists():
            trainer.restore(unlimited=minutes is None)
        if teacher is not None:
            trainer.guides = sorted(
                {*trainer.guides, torch.load(teacher_path, weights_only=True, map_location="cpu")["step"]}
            )
        trainer.fit(minutes * _SHARES[name] if minutes else None, progress, stop_at)
        if stop_at is None:
            export(trainer.network, plan, out / "tokenizer", out / "weights" / name)
            (out / "weights" / name / "training.json").write_text(
                json.dumps(training_record(trainer.state(), plan), indent=1)
            )
    return out / "weights"
