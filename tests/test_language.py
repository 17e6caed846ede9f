"""Docs, docstrings, comments and messages are plain technical English, by the rules of
``tools/language/wording.py``.
"""

from __future__ import annotations

import pytest

from tests.rows import column
from tools.language.findings import ROOT, files, findings
from tools.language.wording import RULES, Rule

pytestmark = pytest.mark.checked


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_none_of_the_words(path):
    places = findings(path)

    assert not places, "\n".join(map(str, places))


@pytest.fixture
def words_in(tmp_path):
    """Return a function that returns the words to replace in a text, by the suffix of its file."""

    def words_in(text: str, suffix: str = ".md") -> list[str]:
        path = tmp_path / f"file{suffix}"
        path.write_text(text, encoding="utf-8")
        return column(findings(path), "words")

    return words_in


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.example)
def test_a_rule_finds_its_example_and_nothing_else(words_in, rule: Rule):
    assert len(words_in(rule.example)) == 1
    assert not words_in(rule.allowed)
    assert not words_in(f"Write {rule.instead} here.")


@pytest.mark.parametrize(
    ("suffix", "source", "words"),
    [
        pytest.param(".py", '"""It is no list."""', ["is no"], id="docstring"),
        pytest.param(".py", "x = 1\n# the value\n# stands here", ["stands"], id="comment"),
        pytest.param(".py", "told = {'tells': 'told'}  # the word is `anew`", [], id="names"),
        pytest.param(
            ".py", 'f"it has {n} tokens a round"', ["tokens a round"], id="text with values"
        ),
        pytest.param(".py", '"one " "sentence"', ["one sentence"], id="text in parts"),
        pytest.param(".py", '"it is one\\nsentence"', ["one\nsentence"], id="over a line break"),
        pytest.param(".md", "Text.\n```\nnobody here\n```\nIt goes on.", ["goes on"], id="fence"),
        pytest.param(
            ".md", "The text `nobody says` stands there.", ["stands"], id="code in Markdown"
        ),
        pytest.param(".md", "So [it](http://nobody.org/a) said.", [], id="link"),
        pytest.param(".js", "const told = 1; // it is told", ["told"], id="comment of a script"),
        pytest.param(".js", "label('nobody said') + `${told}`", ["nobody"], id="text of a script"),
        pytest.param("", "all: ## what somebody runs\n\techo told", ["somebody"], id="Makefile"),
    ],
)
def test_prose_is_checked_and_code_is_not(words_in, suffix, source, words):
    assert words_in(source, suffix) == words


def test_a_finding_names_its_place_the_words_and_what_to_write(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("fine\n\n```\ncode\n```\n`code`\nit is told\n")

    (place,) = findings(path)

    assert str(place) == (
        f"{path}:7: 'told': write 'report, detect, specify, show' (programs are not persons)"
    )
