"""Exercises on a page: a solution with one line left out, which the learner completes by choice.

The wrong lines are the known mistakes of ``exercises.toml`` that change this line only, so a choice
that is wrong is answered with the name of its mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from hsd_viz.exercises.check import TEXTS, name_of
from hsd_viz.exercises.editions import solutions
from hsd_viz.exercises.questions import QUESTIONS

#: The most wrong lines that are offered.
_MAX_WRONG = 3


class Choice(NamedTuple):
    """A line that may complete a solution.

    Attributes:
        line: its text.
        mistake: what is wrong with it; "" for the right one.
        words: what it says, without code; "" if it has no words.
    """

    line: str
    mistake: str
    words: str = ""


class Completion(NamedTuple):
    """A solution without one of its lines.

    Attributes:
        before: the lines above the one that is left out.
        indent: the blanks before that line.
        after: the lines below it.
        choices: the lines that are offered; one is right.
    """

    before: list[str]
    indent: str
    after: list[str]
    choices: list[Choice]


def completion_of(number: str) -> Completion | None:
    """Return an exercise as a choice: the line of its solution with the most known mistakes is left
    out. ``None``: no mistake changes a single line.
    """
    lines = solutions()[number].source.splitlines()
    wrong: dict[int, list[Choice]] = {}
    for place, choice in _changed_lines(number, lines):
        wrong.setdefault(place, []).append(choice)
    if not wrong:
        return None
    place = max(wrong, key=lambda candidate: len(wrong[candidate]))
    right = lines[place].strip()
    choices = [Choice(right, ""), *wrong[place][:_MAX_WRONG]]
    if number in QUESTIONS:
        words = QUESTIONS[number].lines
        choices = [choice._replace(words=words[choice.line]) for choice in choices]
    # In the same order each time, and the right line is not always in the same place.
    Random(number).shuffle(choices)
    indent = lines[place].removesuffix(right)
    return Completion(lines[:place], indent, lines[place + 1 :], choices)


def _changed_lines(number: str, lines: list[str]) -> Iterator[tuple[int, Choice]]:
    """Yield each mistake that changes one line: its place and the line."""
    source = "\n".join(lines)
    for old, new, name in TEXTS[number]["mistakes"]:
        changed = source.replace(old, new).splitlines()
        if len(changed) != len(lines):
            continue
        places = [k for k, line in enumerate(lines) if changed[k] != line]
        if len(places) == 1:
            [place] = places
            yield place, Choice(changed[place].strip(), name_of(name))
