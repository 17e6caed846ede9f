"""Train a draft model for SmolLM2.

    python -m training.smollm2 learn NAME --model FILE.gguf --text DIR --rows DIR --out DIR

The draft model learns the target's probabilities at temperature 1 from the target's own text. The
loss is the cross-entropy with them, and from ``--half`` on, by half, the total variation, which is
what a verification rejects (1 minus the overlap of the rows). The same command resumes a stopped
run from its last checkpoint.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hsd_viz import disk
from hsd_viz.models.files import open_model
from training.optimizers import make_optimizers, set_rates
from training.schedules import cosine_schedule
from training.smollm2.lessons import (
    Lesson,
    LessonBatch,
    batch_of,
    endless,
    frequent_tokens,
    groups,
    read_lessons,
    split,
)
from training.smollm2.options import LearningOptions
from training.smollm2.student import Student

#: Updates between two checkpoints, each with a measurement, and between two lines.
CHECKPOINT = 100
SHOWN = 20
#: Lessons kept aside that a measurement reads.
MEASURED = 60


def losses(student: Student, head_places: Tensor, batch: LessonBatch) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy with the target's rows, in nats, and the mean total variation.

    ``head_places`` is the row of the head of each token, -1 for those that it has not. What lies
    outside of the rows that are kept counts as rejected.
    """
    hidden = student.hidden(batch.tokens)[batch.texts, batch.places]
    logs = student.logits(hidden).float().log_softmax(-1)
    places = head_places[batch.row_tokens]
    present = places >= 0
    target = batch.row_logs.exp() * present
    predicted = logs.gather(1, places.clamp(min=0))
    entropy = -(target * predicted).sum(-1).mean()
    overlap = torch.minimum(target, predicted.exp()).sum(-1).mean()
    return entropy, 1 - overlap


@torch.no_grad()
def overlap_of(student: Student, head_places: Tensor, lessons: Sequence[Lesson]) -> float:
    """Return the mean overlap of the rows at temperature 1."""
    total = 0.0
    rows = 0
    for group in groups(lessons, most_tokens=4096, seed=0):
        batch = batch_of(group)
        _, variation = losses(student, head_places, batch)
        total += (1 - variation.item()) * len(batch.places)
        rows += len(batch.places)
    return total / rows


class DraftTraining:
    """A draft model in training.

    Attributes:
        name: The name of the run.
        options: Those of the command.
        student: The draft model.
        head_places: The row of the head of each token ``[vocabulary]``; -1: it has none.
        lessons: The lessons to train on.
        heldout: The lessons to measure on.
        step: Updates done.
        seen: The number of written tokens trained on; repeated ones count each time.
        seconds: Time of all parts of the run.
    """

    def __init__(self, name: str, options: LearningOptions) -> None:
        torch.manual_seed(0)
        torch.set_num_threads(options.threads)
        self.name = name
        self.options = options
        files = open_model(options.model)
        self.lessons, heldout = split(read_lessons(options.text, options.rows))
        self.heldout = heldout[:MEASURED]
        checkpoint = torch.load(self.checkpoint) if self.checkpoint.exists() else None
        # A run keeps its head where the text has grown since.
        self._head_tokens = (
            frequent_tokens(self.lessons, files.form.vocabulary, options.head)
            if checkpoint is None
            else checkpoint["head_tokens"]
        )
        self.student = Student(files.form, files.tensors, options.layers, self._head_tokens)
        self.head_places = torch.full((files.form.vocabulary,), -1)
        self.head_places[self._head_tokens] = torch.arange(len(self._head_tokens))
        self._optimizers = self._make_optimizers()
        self.step = 0
        self.seen = 0
        self.seconds = 0.0
        if checkpoint is not None:
            self._resume(checkpoint)

    def _make_optimizers(self) -> list[torch.optim.Optimizer]:
        matrices: list[torch.nn.Parameter] = []
        others: list[torch.nn.Parameter] = []
        for name, parameter in self.student.named_parameters():
            (matrices if "matrices" in name else others).append(parameter)
        return make_optimizers(
            matrices,
            others,
            matrix_rate=self.options.rate,
            vector_rate=self.options.vector_rate,
        )

    @property
    def checkpoint(self) -> Path:
        """The file from which a stopped run goes on."""
        return self.options.out / f"{self.name}.pt"

    @property
    def written(self) -> int:
        """Tokens that the target has written in the lessons."""
        return sum(len(lesson.places) for lesson in self.lessons)

    def learn(self, batch: LessonBatch) -> tuple[float, float]:
        """Update the student by a batch; return the cross-entropy and the overlap before it."""
        began = time.monotonic()
        options = self.options
        set_rates(self._optimizers, cosine_schedule(self.step, options.steps))
        with torch.autocast("cpu", torch.bfloat16):
            entropy, variation = losses(self.student, self.head_places, batch)
        share = 0.5 if self.step >= options.half * options.steps else 0.0
        self.student.zero_grad()
        ((1 - share) * entropy + share * variation).backward()
        torch.nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
        for optimizer in self._optimizers:
            optimizer.step()
        self.step += 1
        self.seen += len(batch.places)
        self.seconds += time.monotonic() - began
        return entropy.item(), 1 - variation.item()

    def measure(self) -> float:
        """Return the overlap on the lessons kept aside."""
        return overlap_of(self.student, self.head_places, self.heldout)

    def save(self, facts: dict[str, Any]) -> None:
        """Write a checkpoint, and ``facts`` beside it."""
        state = {
            "student": self.student.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
            "step": self.step,
            "seen": self.seen,
            "seconds": self.seconds,
            "head_tokens": self._head_tokens,
        }
        temporary = self.checkpoint.with_suffix(".new")
        torch.save(state, temporary)
        temporary.replace(self.checkpoint)
        path = self.options.out / f"{self.name}.json"
        disk.write_whole(path, json.dumps(facts) + "\n")

    def _resume(self, state: dict[str, Any]) -> None:
        self.student.load_state_dict(state["student"])
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.step = state["step"]
        self.seen = state["seen"]
        self.seconds = state["seconds"]


def train(name: str, options: LearningOptions) -> None:
    """Train, write a checkpoint now and then, and print the overlap on lessons kept aside."""
    options.out.mkdir(parents=True, exist_ok=True)
    run = DraftTraining(name, options)
    print(f"{len(run.lessons)} lessons, {run.written} written tokens; step {run.step}", flush=True)
    for batch in endless(run.lessons, options.batch, begin=run.step):
        if run.step >= options.steps:
            break
        entropy, overlap = run.learn(batch)
        if run.step % SHOWN == 0:
            rate = run.seen / run.seconds
            print(
                f"step {run.step}: cross-entropy {entropy:.3f}, overlap {overlap:.3f}, "
                f"{rate:.0f} written tokens per second",
                flush=True,
            )
        if run.step % CHECKPOINT == 0 or run.step == options.steps:
            aside = run.measure()
            print(f"step {run.step}: overlap {aside:.4f} on {len(run.heldout)} kept aside")
            run.save(
                {
                    "name": name,
                    "step": run.step,
                    "overlap": aside,
                    "layers": list(options.layers),
                    "head": options.head,
                    "seen": run.seen,
                    "seconds": run.seconds,
                    "written": run.written,
                }
            )
