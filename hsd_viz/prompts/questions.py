"""Read questions to chat models in the format of Spec-Bench (Xia et al. 2024, arXiv 2401.07851).

Each line is a JSON object with ``question_id``, ``category`` and ``turns``. The 480 questions of
Spec-Bench are six tasks of 80. The eight categories of MT-bench, with two turns per question, form
a single task.
"""

import json
import re
from pathlib import Path
from typing import Any

from hsd_viz.disk import read_text
from hsd_viz.errors import INVALID_JSON, UserError, first_line
from hsd_viz.prompts import Prompt, Suite

#: The descriptions of the tasks of Spec-Bench, by name.
TASKS = {
    "mt_bench": (
        "Multi-turn conversation: the eight categories of MT-bench, two turns per question."
    ),
    "translation": "German to English.",
    "summarization": (
        "News articles to summarize: long prompts, much of whose text recurs in the answer."
    ),
    "qa": "Short knowledge questions.",
    "math_reasoning": "Grade-school word problems.",
    "rag": "Questions with retrieved passages to answer them from.",
}
MT_BENCH = frozenset(
    ["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"]
)


def read_questions(path: Path) -> Suite:
    """Read a file of questions as a suite. The categories of MT-bench become the task ``mt_bench``.

    Raises:
        UserError: if a row is malformed, with file and line in the message, or if the file contains
            no question.
    """
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(read_text(path, "question").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except INVALID_JSON as error:
            raise UserError(f"{path}, line {number}: not JSON ({first_line(error)})") from None
        try:
            prompt = _question(row)
            if prompts.setdefault(prompt.id, prompt) is not prompt:
                raise UserError(f"question_id {prompt.id} occurs twice")
        except ValueError as error:
            raise UserError(f"{path}, line {number}: {error}") from None
    if not prompts:
        raise UserError(
            f"the question file {path} contains no question: write a JSON object per line"
        )
    names = dict.fromkeys(p.category for p in prompts.values())
    tasks = {task: words for task, words in TASKS.items() if task in names}
    categories = tasks | {c: f"The category {c} of {path.name}." for c in names if c not in tasks}
    return Suite(path.name, categories, tuple(prompts.values()))


def _is_text(value: Any) -> bool:
    """Return whether a value is a text of valid Unicode that is not blank."""
    if not isinstance(value, str) or not value.strip():
        return False
    return not re.search("[\ud800-\udfff]", value)


def _question(row: Any) -> Prompt:
    """Check the parsed JSON of a row, and return it as a prompt.

    Raises:
        UserError: if the row is not a question.
    """
    if not isinstance(row, dict):
        raise UserError("a question must be a JSON object with question_id, category and turns")
    number = row.get("question_id")
    category: Any = row.get("category")
    turns = row.get("turns")
    if not _is_text(str(number) if type(number) is int else number):
        raise UserError(f"question_id must be an integer or a text, not {number!r}")
    if not _is_text(category):
        raise UserError(f"category must be a non-empty text, not {category!r}")
    if not isinstance(turns, list) or not turns or not all(map(_is_text, turns)):
        raise UserError(
            f"turns must be a list of non-empty texts of valid Unicode, not {str(turns)[:80]!r}"
        )
    task = "mt_bench" if category in MT_BENCH else category
    return Prompt(
        str(number), task, turns[0], {"question_id": number, "category": category}, tuple(turns)
    )
