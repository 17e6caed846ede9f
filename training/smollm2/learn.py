"""Train a draft model for SmolLM2: ``python -m training.smollm2.learn NAME --text DIR --rows DIR --out DIR``.

The draft model learns the target's probabilities at temperature 1 from the target's own text. The
loss is the cross-entropy with them, and from ``--half`` on, by half, the total variation, which is
what a verification rejects (1 minus the overlap of the rows). The same command resumes a stopped run
from its last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from hsd_viz import disk
from hsd_viz.models.files import open_model
from training.smollm2.lessons import Batch, Lesson, batches, frequent_tokens, read_lessons, split
from training.smollm2.student import Student

#: Updates between two checkpoints, each with a measurement.
CHECKPOINT = 100
#: Lessons kept aside that a measurement reads.
MEASURED = 60


def losses(student: Student, head_places: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy with the target's rows, in nats, and the mean total variation.

    ``head_places`` is the row of the head of each token, -1 for those that it has not. What lies
    outside of the rows that are kept counts as rejected.
    """
    hidden = student.hidden(batch.tokens)[batch.texts, batch.places]
    logs = student.logits(hidden).float().log_softmax(-1)
    places = head_places[batch.row_tokens]
    present = places >= 0
    target = batch.row_logs.exp() * present
    learnt = logs.gather(1, places.clamp(min=0))
    entropy = -(target * learnt).sum(-1).mean()
    overlap = torch.minimum(target, learnt.exp()).sum(-1).mean()
    return entropy, 1 - overlap


@torch.no_grad()
def overlap_of(student: Student, head_places: Tensor, lessons: Sequence[Lesson]) -> float:
    """Return the mean overlap of the rows at temperature 1."""
    total = 0.0
    rows = 0
    for batch in batches(lessons, most_tokens=4096, seed=0):
        _, variation = losses(student, head_places, batch)
        total += (1 - variation.item()) * len(batch.places)
        rows += len(batch.places)
    return total / rows


def rate_at(step: int, steps: int, warmup: int = 30) -> float:
    """Return the learning rate as a share of its peak: rising, then half a cosine to a tenth."""
    if step < warmup:
        return (step + 1) / warmup
    done = (step - warmup) / max(1, steps - warmup)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, done)))


def optimisers_of(student: Student, rate: float, vector_rate: float) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices of the layers, AdamW for the head and the norms.

    Each group keeps its peak rate as ``peak``.
    """
    matrices = [each for name, each in student.named_parameters() if "matrices" in name]
    others = [each for name, each in student.named_parameters() if "matrices" not in name]
    optimisers = [
        torch.optim.Muon(
            matrices, lr=rate, weight_decay=0.0, momentum=0.95, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(others, lr=vector_rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["peak"] = group["lr"]
    return optimisers


def train(options: argparse.Namespace) -> None:
    """Train, write a checkpoint now and then, and print the overlap on lessons kept aside."""
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    files = open_model(options.model)
    learnt, aside = split(read_lessons(options.text, options.rows))
    written = sum(len(lesson.places) for lesson in learnt)
    measured = aside[:MEASURED]
    head_tokens = frequent_tokens(learnt, files.form.vocabulary, options.head)
    student = Student(files.form, files.tensors, options.layers, head_tokens)
    head_places = torch.full((files.form.vocabulary,), -1)
    head_places[head_tokens] = torch.arange(len(head_tokens))
    optimisers = optimisers_of(student, options.rate, options.vector_rate)
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint = options.out / f"{options.name}.pt"
    step = 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        student.load_state_dict(state["student"])
        for optimiser, kept in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)
        step = state["step"]
    print(f"{len(learnt)} lessons, {written} written tokens; step {step}", flush=True)
    began = time.monotonic()
    seen = 0
    epoch = 0
    at = 0
    while step < options.steps:
        for batch in batches(learnt, options.batch, seed=1 + epoch):
            at += 1
            if at <= step:
                continue
            for optimiser in optimisers:
                for group in optimiser.param_groups:
                    group["lr"] = group["peak"] * rate_at(step, options.steps)
            with torch.autocast("cpu", torch.bfloat16):
                entropy, variation = losses(student, head_places, batch)
            share = 0.5 if step >= options.half * options.steps else 0.0
            loss = (1 - share) * entropy + share * variation
            student.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            for optimiser in optimisers:
                optimiser.step()
            step += 1
            seen += len(batch.places)
            if step % 20 == 0:
                rate = seen / (time.monotonic() - began)
                print(
                    f"step {step}: cross-entropy {entropy.item():.3f}, "
                    f"overlap {1 - variation.item():.3f}, {rate:.0f} written tokens per second",
                    flush=True,
                )
            if step % CHECKPOINT == 0 or step == options.steps:
                overlap = overlap_of(student, head_places, measured)
                print(
                    f"step {step}: overlap {overlap:.4f} on {len(measured)} kept aside", flush=True
                )
                state = {
                    "student": student.state_dict(),
                    "optimisers": [optimiser.state_dict() for optimiser in optimisers],
                    "step": step,
                    "head_tokens": head_tokens,
                }
                temporary = checkpoint.with_suffix(".new")
                torch.save(state, temporary)
                temporary.replace(checkpoint)
                facts = {"name": options.name, "step": step, "overlap": overlap}
                facts |= {"layers": options.layers, "head": options.head}
                facts |= {"seconds": time.monotonic() - began, "written": written}
                disk.write_whole(options.out / f"{options.name}.json", json.dumps(facts) + "\n")
            if step == options.steps:
                break
        epoch += 1


def main() -> None:
    """Train a draft model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", metavar="NAME", help="nano or small, or a name of an experiment")
    parser.add_argument("--model", type=Path, required=True, metavar="FILE.gguf")
    parser.add_argument("--text", type=Path, required=True, metavar="DIR")
    parser.add_argument("--rows", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--layers", type=int, nargs="+", default=[0], help="of the target; -1: new")
    parser.add_argument("--head", type=int, default=8192, metavar="N", help="tokens of the head")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=4096, help="tokens in a step, at most")
    parser.add_argument("--rate", type=float, default=2e-3, help="of the matrices of layers")
    parser.add_argument("--vector-rate", type=float, default=2e-3, help="of the head and norms")
    parser.add_argument("--half", type=float, default=0.5, help="total variation from here on")
    parser.add_argument("--threads", type=int, default=1)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
