"""The answers at the top of the questions of the results: figures of the tables below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
QUESTIONS = dict(re.findall(r"^## (\d+\. [^\n]*\?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
#: Figures of answers that are goals, not measurements.
GOALS = {"4", "10"}


def numbers(text: str) -> set[str]:
    """Return the numbers with a decimal point, or of percent, without names in code."""
    return set(re.findall(r"\d+\.\d+|\d+(?= ?%)", re.sub(r"`[^`]*`|T = [\d.]+", "", text)))


def answers_of(section: str) -> list[str]:
    return re.findall(r"^\*\*(.*)\*\*$", section, re.M)


def test_there_are_ten_questions():
    assert [question.partition(".")[0] for question in QUESTIONS] == list(map(str, range(1, 11)))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_begins_with_its_answer_in_one_sentence(question):
    section = QUESTIONS[question]
    answer = answers_of(section)[0]

    assert section.startswith(f"\n**{answer}**\n")
    assert re.search(r"\d\.\d|\d+%", answer)
    assert not re.search(r"\. [A-Z]", answer)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_figures_of_an_answer_are_those_of_the_tables_below_it(question):
    section = QUESTIONS[question]
    written = re.findall(r"<!-- begin .*?<!-- end |^\|[^\n]*", section, re.M | re.S)
    in_tables = numbers(" ".join(written).replace("`", ""))

    stated = numbers(" ".join(answers_of(section))) - GOALS

    assert stated <= in_tables
