"""Answers to the questions of Spec-Bench: its own figures, and its answer files.

Its definitions (``evaluation/speed.py`` of github.com/hemingkx/Spec-Bench) differ from those of the rest of this bench:

- tokens per second of a question: new tokens over wall time, both summed over its turns, *prefill included*; of a task:
  the mean over its questions. Speed-up: the ratio of two such means.
- mean accepted tokens: tokens per forward pass of the target, over all steps of all questions. Plain decoding has 1.00.

One difference remains: Spec-Bench tokenizes the baseline's text again to count its tokens; here they are counted as
decoded.
"""

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.bench.output import PLAIN, Answer
from hsd_viz.prompts.suites import Prompt

#: The answers to the turns of one question.
Answers = Sequence[Answer]


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """Spec-Bench's figures of one stack over some questions; ``None`` without questions."""

    questions: int
    tokens_per_second: float | None
    speedup: float | None
    mean_accepted_tokens: float | None


@dataclass(frozen=True, slots=True)
class SpecBenchResult:
    """The figures of one stack by task, and over all questions."""

    stack: str
    tasks: dict[str, TaskFigures]
    overall: TaskFigures


@dataclass(frozen=True, slots=True)
class SpecBench:
    """Spec-Bench's part of a report. ``left_out``: questions that do not fit the context, by id, with the reason."""

    template: str
    left_out: dict[str, str]
    stacks: tuple[SpecBenchResult, ...]


def task_figures(answers: Sequence[Answers], plain: Sequence[Answers]) -> TaskFigures:
    """Return the figures over some questions; ``plain[k]``: plain decoding's answers to question ``k``."""
    speed_of = lambda turns: sum(len(t.output.token_ids) for t in turns) / sum(t.seconds for t in turns)
    speed, plain_speed = (_mean(list(map(speed_of, side))) for side in (answers, plain))
    steps = [n for turns in answers for turn in turns for n in turn.output.emitted]
    speedup = speed / plain_speed if speed is not None and plain_speed else None
    return TaskFigures(len(answers), speed, speedup, _mean(steps))


def build_section(
    prompts: Sequence[Prompt], answers: Mapping[str, Sequence[Answers]], template: str, left_out: Mapping[str, str]
) -> SpecBench:
    """Return the figures per stack, by task and overall. ``answers[stack]`` follows ``prompts``."""
    tasks: dict[str, list[int]] = {}
    for k, prompt in enumerate(prompts):
        tasks.setdefault(prompt.category, []).append(k)
    plain = answers[PLAIN]
    results = [
        SpecBenchResult(
            name,
            {task: task_figures([own[k] for k in ks], [plain[k] for k in ks]) for task, ks in tasks.items()},
            task_figures(own, plain),
        )
        for name, own in answers.items()
    ]
    return SpecBench(template, dict(left_out), tuple(results))


def text_tables(section: SpecBench) -> Iterator[list[list[str]]]:
    """Yield one table (rows of cells, the head first) for each figure."""
    for title, name, form in (
        ("speed-up", "speedup", "{:.2f}"),
        ("tokens/s", "tokens_per_second", "{:.1f}"),
        ("mean accepted tokens", "mean_accepted_tokens", "{:.2f}"),
    ):
        rows = [[title, *section.stacks[0].tasks, "overall"]]
        for s in section.stacks:
            values = [getattr(block, name) for block in (*s.tasks.values(), s.overall)]
            rows.append([s.stack, *("-" if value is None else form.format(value) for value in values)])
        yield rows


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def answer_lines(
    prompts: Sequence[Prompt], answers: Sequence[Answers], model_id: str, now: Callable[[], float] = time.time
) -> Iterator[str]:
    """Yield the answers of one stack as lines of an answer file for Spec-Bench's ``speed.py``, by question number.
    ``wall_time`` is the median over the repeats, prefill included; ``accept_lengths`` has the tokens of each step of
    all turns.
    """
    for prompt, turns in sorted(zip(prompts, answers, strict=True), key=lambda pair: pair[0].origin["question_id"]):
        outputs = [turn.output for turn in turns]
        choice = {
            "index": 0,
            "turns": [turn.text for turn in turns],
            "decoding_steps": [o.target_forwards for o in outputs],
            "new_tokens": [len(o.token_ids) for o in outputs],
            "wall_time": [turn.seconds for turn in turns],
            "accept_lengths": [n for o in outputs for n in o.emitted],
        }
        row = {
            **prompt.origin,
            "answer_id": uuid.uuid4().hex,
            "model_id": model_id,
            "choices": [choice],
            "tstamp": now(),
        }
        yield json.dumps(row) + "\n"


def answer_paths(path: Path, stacks: Sequence[str]) -> dict[str, Path]:
    """Return the answer file of each stack: ``path`` for the first, else with the stack's name before its suffix."""
    taken = [path]
    for name in stacks[1:]:
        slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
        found, k = path.with_name(f"{path.stem}.{slug}{path.suffix}"), 2
        while found in taken:
            found, k = path.with_name(f"{path.stem}.{slug}-{k}{path.suffix}"), k + 1
        taken.append(found)
    return dict(zip(stacks, taken, strict=True))
