"""The answers at the top of the questions of the results."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

from tests.rows import select
from tools.docs import verdicts
from tools.docs.results import files

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "results.md").read_text(encoding="utf-8")


def test_every_question_begins_with_its_answer():
    questions = re.findall(r"^## (\d+)\. .*\?$", PAGE, re.M)
    begun = re.findall(r"^## (\d+)\. .*\n\n<!-- begin answer-.* -->\n\*\*.*\.\*\*\n", PAGE, re.M)

    assert questions == list(map(str, range(1, 11)))
    assert begun == questions
    assert list(verdicts.VERDICTS) == re.findall(r"<!-- begin (answer-.*) -->", PAGE)


@pytest.mark.parametrize("name", verdicts.VERDICTS)
def test_an_answer_has_a_figure_and_is_one_sentence(name):
    answer = verdicts.answer(name)

    assert re.search(r"\d\.\d|\d+%", answer)
    assert not re.search(r"\. [A-Z]", answer)
    assert answer in PAGE


@pytest.mark.parametrize(
    ("name", "file", "change"),
    [
        ("answer-fastest", "heldout-t1-cpu", ("small:4 > target", 9.0)),
        ("answer-chat", "spec-bench-t07-cpu", ("nano:1 > target", 9.0)),
    ],
)
def test_an_answer_that_the_figures_refute_is_not_written(name, file, change, monkeypatch):
    stack, speed = change
    data = copy.deepcopy(files.read(file))
    [row] = select(data["stacks"], stack=stack)
    row["speedup_over_plain"] = speed
    monkeypatch.setattr(
        verdicts, "read", lambda asked: data if asked == file else files.read(asked)
    )

    with pytest.raises(verdicts.UnsupportedAnswer, match=r"is fastest on .* at every temperature"):
        verdicts.answer(name)
