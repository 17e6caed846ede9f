"""Compare designs of a draft model for SmolLM2, each trained for the same time: ``python -m
training.smollm2 designs``.

A design is what its layers begin as, the number of tokens of its head, and its loss. Each learns
for as many seconds of processor time. Its overlap with the target is measured on conversations kept
aside, its pass is timed by the native runtime in turns with the target's, and the law says what the
two bring: the overlap is taken as the probability that a token is accepted, independent of those
before it. A design that is finished is not repeated when the same command is given again.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from hsd_viz import disk, machine
from hsd_viz.latency.inputs import Edge, LevelCost
from hsd_viz.latency.law import draft, mean, verify
from hsd_viz.models.files import open_model
from hsd_viz.native.model import NativeModel, NativeSession
from hsd_viz.native.weights import load
from training.smollm2.export import write
from training.smollm2.learn import DraftTraining
from training.smollm2.lessons import endless
from training.smollm2.options import LearningOptions

#: The name of the run of a design.
_RUN = "design"
#: Updates that are timed, and thrown away, to know how many fit into the time of a design.
TIMED = 3
#: Lookaheads that the law tries.
LOOKAHEADS = range(1, 9)
#: Tokens of the text before a pass that is timed, and passes of each kind.
CONTEXT = 128
PASSES = 30


@dataclass(frozen=True, slots=True)
class Design:
    """A draft model to be tried.

    Attributes:
        name: What the table calls it.
        layers: The layers of the target that its own begin as; -1: one from scratch.
        head: Tokens of its head; 0: all.
        half: The share of the updates before the total variation counts; 1: never, 0: always.
    """

    name: str
    layers: tuple[int, ...]
    head: int = 8192
    half: float = 0.5


DESIGNS = (
    Design("two layers", (0, 1)),
    Design("one layer", (0,)),
    Design("three layers", (0, 1, 2)),
    Design("six layers", (0, 1, 2, 3, 4, 5)),
    Design("first and last layer", (0, 29)),
    Design("two layers from scratch", (-1, -1)),
    Design("head of 4 096", (0, 1), head=4096),
    Design("head of 16 384", (0, 1), head=16384),
    Design("whole head", (0, 1), head=0),
    Design("cross-entropy alone", (0, 1), half=1.0),
    Design("total variation from the start", (0, 1), half=0.0),
)


@dataclass(frozen=True, slots=True)
class TrainedDesign:
    """The figures of a trained design.

    Attributes:
        overlap: The mean of Σ min(p, q) at temperature 1 on conversations kept aside.
        steps: Updates.
        seen: The number of written tokens that it was trained on.
        seconds: Processor time of the updates.
    """

    overlap: float
    steps: int
    seen: int
    seconds: float


def train_design(
    design: Design, options: LearningOptions, seconds: float, folder: Path
) -> TrainedDesign:
    """Train a design for ``seconds`` of processor time and write its checkpoint."""
    form = open_model(options.model).form
    options = replace(
        options, layers=design.layers, head=design.head or form.vocabulary, half=design.half
    )
    # The number of updates decides the learning rate of each, so it is known beforehand.
    trial = DraftTraining(_RUN, options)
    lessons = trial.lessons
    began = time.process_time()
    for batch in islice(endless(lessons, options.batch), TIMED):
        trial.learn(batch)
    steps = max(1, round(seconds * TIMED / (time.process_time() - began)))
    options = replace(options, steps=steps)
    run = DraftTraining(_RUN, options)
    began = time.process_time()
    for batch in islice(endless(run.lessons, options.batch), options.steps):
        run.learn(batch)
    spent = time.process_time() - began
    write(folder, form, run.student.state_dict(), run.student.head_tokens)
    return TrainedDesign(run.measure(), run.step, run.seen, spent)


def pass_times(sessions: dict[str, NativeSession], widths: tuple[int, ...]) -> dict[str, float]:
    """Return the median milliseconds of a pass over one token, of each model in turns.

    The last session is the target's; its passes over more tokens are called by their number.
    """
    target = list(sessions)[-1]
    # Which tokens are read does not change the time; every vocabulary has the first ones.
    for session in sessions.values():
        session.forward([1] * CONTEXT, 1)
    times: dict[str, list[float]] = {}
    for _ in range(PASSES):
        for name, session in sessions.items():
            for width in widths if name == target else (1,):
                began = time.perf_counter()
                session.forward([2] * width, width)
                spent = 1000 * (time.perf_counter() - began)
                session.truncate(CONTEXT)
                key = str(width) if name == target else name
                times.setdefault(key, []).append(spent)
    return {name: median(values) for name, values in times.items()}


def best(overlap: float, cost: float, target: list[float]) -> tuple[float, int]:
    """Return the largest speed-up by the law and its lookahead.

    Args:
        overlap: the probability that a token of the draft is accepted.
        cost: milliseconds of a pass of the draft model.
        target: milliseconds of a pass of the target over 1, 2, ... tokens.
    """
    speedups = []
    for lookahead in LOOKAHEADS:
        call = draft(lookahead, LevelCost((cost,)))
        target_round = verify(call, Edge(tail=overlap), LevelCost(tuple(target)))
        speedups.append(
            (mean(target_round.tokens) * target[0] / sum(target_round.times), lookahead)
        )
    return max(speedups)


def measured_costs(folders: dict[str, Path], model: Path) -> dict[str, float]:
    """Return the milliseconds of a pass of each draft model, and of the target by its width."""
    models = {name: NativeModel(load(path)) for name, path in folders.items()}
    models["target"] = NativeModel(load(model))
    sessions = {name: model_of_name.session() for name, model_of_name in models.items()}
    return pass_times(sessions, tuple(range(1, max(LOOKAHEADS) + 2)))


def compare(options: LearningOptions, seconds: float, path: Path) -> dict[str, Any]:
    """Train all designs that are not in the file, time them, and return the file's content.

    Args:
        options: the settings of the trainings, of which a design has its own.
        seconds: the processor time of a design.
        path: the file.
    """
    content = json.loads(path.read_text()) if path.exists() else {"designs": {}}
    for design in DESIGNS:
        folder = options.out / design.name.replace(" ", "-")
        if design.name in content["designs"] and (folder / "model.safetensors").exists():
            continue
        result = train_design(design, options, seconds, folder)
        content["designs"][design.name] = {
            "layers": list(design.layers),
            "head": design.head,
            "total_variation_from": design.half,
            "overlap": result.overlap,
            "steps": result.steps,
            "seen": result.seen,
            "seconds": result.seconds,
        }
        save(content, path)
        print(f"{design.name}: overlap {result.overlap:.3f}, {result.steps} updates", flush=True)
    folders = {name: options.out / name.replace(" ", "-") for name in content["designs"]}
    costs = measured_costs(folders, options.model)
    target = [costs[str(width)] for width in range(1, max(LOOKAHEADS) + 2)]
    for name, facts in content["designs"].items():
        facts["pass_ms"] = costs[name]
        facts["cost"] = costs[name] / target[0]
        facts["speedup"], facts["lookahead"] = best(facts["overlap"], costs[name], target)
    return {
        **content,
        "target_ms": target,
        "seconds": seconds,
        "machine": machine.describe(options.threads),
    }


def save(content: dict[str, Any], path: Path) -> None:
    """Write a comparison."""
    disk.write_whole(path, json.dumps(content, indent=1) + "\n")


def lines_of(comparison: dict[str, Any]) -> list[str]:
    """Return a line for each design, fastest first."""
    lines = []
    designs = comparison["designs"].items()
    for name, facts in sorted(designs, key=lambda item: -item[1]["speedup"]):
        lines.append(
            f"{name:32} overlap {facts['overlap']:.3f}  cost {facts['cost']:.3f}  "
            f"speed-up {facts['speedup']:.3f} at lookahead {facts['lookahead']}"
        )
    return lines
