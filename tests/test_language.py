"""Docs, docstrings, comments and messages are plain technical English, after
``tools/language.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rows import column
from tools.language import ROOT, files, findings

#: Files and directories that are not clean yet and therefore not checked. Remove a line once it is
#: clean.
PENDING = ("hsd_viz/ladder/MODEL_CARD.md",)


def pending(path: Path) -> bool:
    inside = path.relative_to(ROOT)
    return any(Path(name) in (inside, *inside.parents) for name in PENDING)


@pytest.mark.parametrize(
    "path", [p for p in files() if not pending(p)], ids=lambda path: str(path.relative_to(ROOT))
)
def test_wording(path):
    problems = findings(path)
    assert not problems, "\n".join(map(str, problems))


@pytest.mark.parametrize(
    ("suffix", "source", "words"),
    [
        (".py", '"""It is no list."""', ["is no"]),
        (".py", '"""There is no GPU, and it is no longer needed; pass `whatever`."""', []),
        (".py", "told = {'tells': 'told'}  # the word stands for `anew it stands`", []),
        (".py", "x = 1\n# the value\n# stands here", ["stands"]),
        (".py", 'f"{n} tokens a round, learnt {n}"', ["learnt", "tokens a round"]),
        (".py", '"one " "sentence is one\\nsentence"', ["one sentence", "one\nsentence"]),
        (
            ".md",
            "Text goes on.\n```\nnobody here\n```\nWhatever `nobody says` stands.",
            ["goes on", "Whatever", "stands"],
        ),
        (
            ".md",
            "A level hands its tokens up, [somebody](http://nobody.org/a) said.",
            ["hands its tokens up", "somebody"],
        ),
        (
            ".js",
            "const told = 1; // it is told here\nlabel('nobody said') + `${told}`",
            ["told", "nobody"],
        ),
        ("", "all: ## what somebody runs\n\techo nobody said", ["somebody"]),
    ],
)
def test_what_is_found(tmp_path, suffix, source, words):
    path = tmp_path / f"file{suffix}"
    path.write_text(source)
    assert sorted(column(findings(path), "words")) == sorted(words)


def test_a_finding_names_its_line(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("fine\n\n```\ncode\n```\n`code`\nit is told\n")
    assert [(f.line, f.words) for f in findings(path)] == [(7, "told")]
