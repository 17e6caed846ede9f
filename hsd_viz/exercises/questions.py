"""How a page asks an exercise: a question with worded answers, instead of a function to write."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class PageQuestion:
    """What a page asks of an exercise.

    Attributes:
        asked: the question, in Markdown; "" where it is the task of the notebook.
        values: what a field asks for, with the arguments of the function in braces; "" if the
            exercise has no fields on a page.
        lines: the words of each line that may complete the function, by the line; or what it
            returns in the case of the question.
        reasons: why each line is right, or what it would cause, by the line; empty if the mistakes
            and the last hint of the exercise explain the lines.
    """

    asked: str = ""
    values: str = ""
    lines: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def _load() -> dict[str, PageQuestion]:
    text = Path(__file__).with_name("questions.toml").read_text(encoding="utf-8")
    questions = {}
    for number, parts in tomllib.loads(text).items():
        questions[number] = PageQuestion(
            asked=parts["asked"],
            values=parts.get("values", ""),
            lines=parts["lines"],
            reasons=parts.get("reasons", {}),
        )
    return questions


#: The questions of the lessons, by exercise. The lab sheet and the puzzles have none.
QUESTIONS = _load()
