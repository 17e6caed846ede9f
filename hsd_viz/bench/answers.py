"""What stacks answered to questions: Spec-Bench's own figures, and its answer files.

Its definitions (``evaluation/speed.py`` of github.com/hemingkx/Spec-Bench) are not those of the rest of this bench:

- tokens per second of a question: new tokens over wall time, both summed over its turns, *prefill included*; of a task: the
  mean over its questions. Speed-up: the ratio of two such means.
- mean accepted tokens: tokens per forward of the target, over all steps of all questions alike. Plain decoding has 1.00.

One thing differs: Spec-Bench counts the baseline's tokens anew from its text, here they are counted as they were written.
No torch here.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hsd_viz.bench.output import Answer
    from hsd_viz.prompts.suites import Prompt


#: The answers to the turns of one question.
Answers = Sequence["Answer"]


def figures(answers: Sequence[Answers], plain: Sequence[Answers]) -> dict[str, Any]:
    """Spec-Bench's figures of one stack over some questions; ``plain[k]``: plain decoding's answers to question ``k``."""
    speed, plain_speed = (_mean([_tokens_per_second(turns) for turns in side]) for side in (answers, plain))
    steps = [n for turns in answers for turn in turns for n in turn.output.emitted]
    return {
        "questions": len(answers),
        "tokens_per_second": speed,
        "speedup": speed / plain_speed if speed is not None and plain_speed else None,
        "mean_accepted_tokens": _mean(steps),
    }


def build_section(prompts: Sequence[Prompt], answers: dict[str, Sequence[Answers]], plain: str) -> list[dict[str, Any]]:
    """Per stack, :func:`figures` by task and overall, as JSON data. ``answers[stack]`` follows ``prompts``; ``plain`` is a stack."""
    tasks = {
        task: [k for k, p in enumerate(prompts) if p.category == task]
        for task in dict.fromkeys(p.category for p in prompts)
    }
    baseline = answers[plain]
    return [
        {
            "stack": name,
            "tasks": {task: figures([own[k] for k in ks], [baseline[k] for k in ks]) for task, ks in tasks.items()},
            "overall": figures(own, baseline),
        }
        for name, own in answers.items()
    ]


def text_tables(section: Sequence[dict[str, Any]]) -> Iterator[list[list[str]]]:
    """The section for reading: one table (a list of rows) for each figure."""
    for title, key in (
        ("speed-up", "speedup"),
        ("tokens/s", "tokens_per_second"),
        ("mean accepted tokens", "mean_accepted_tokens"),
    ):
        form = "{:.1f}" if key == "tokens_per_second" else "{:.2f}"
        rows = [
            [
                s["stack"],
                *(
                    "-" if (v := block[key]) is None else form.format(v)
                    for block in (*s["tasks"].values(), s["overall"])
                ),
            ]
            for s in section
        ]
        yield [[title, *section[0]["tasks"], "overall"], *rows]


def _tokens_per_second(turns: Answers) -> float:
    return sum(len(t.output.token_ids) for t in turns) / sum(t.seconds for t in turns)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def answer_lines(
    prompts: Sequence[Prompt], answers: Sequence[Answers], model_id: str, now: Callable[[], float] = time.time
) -> Iterator[str]:
    """The answers of one stack as lines of Spec-Bench's answer file, by question number; its ``speed.py`` reads them.

    ``wall_time`` is the median over the repeats, prefill included; ``accept_lengths`` has the tokens of each step of all turns.
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
    """Where each stack's answers go: the first one's to ``path``, the others' beside it, their names before its ending."""
    taken = [path]
    for name in stacks[1:]:
        slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
        found, k = path.with_name(f"{path.stem}.{slug}{path.suffix}"), 2
        while found in taken:
            found, k = path.with_name(f"{path.stem}.{slug}-{k}{path.suffix}"), k + 1
        taken.append(found)
    return dict(zip(stacks, taken, strict=True))
