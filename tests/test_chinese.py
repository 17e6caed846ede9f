"""The Chinese README and glossary: commands, links and terms are those of the English ones, and nothing is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "reference"
#: An English page, and the Chinese one.
PAIRS = {
    "README": (ROOT / "README.md", ROOT / "README.zh-CN.md"),
    "glossary": (GLOSSARY / "glossary.md", GLOSSARY / "glossary.zh-CN.md"),
}
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """Return the commands of code blocks, without the comments beside them."""
    blocks = re.findall(r"^```\n(.*?)^```", text, re.S | re.M)
    lines = "".join(blocks).splitlines()
    return [re.split(r"\s+#", line)[0].rstrip() for line in lines]


def rows(text: str) -> list[list[str]]:
    """Return the cells of a table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_each_page_links_the_other(pair):
    english, chinese = pair
    assert f"[简体中文]({chinese.name})" in text_of(english)
    assert f"[English]({english.name})" in text_of(chinese)


def test_the_readme_has_the_same_commands():
    english, chinese = map(text_of, PAIRS["README"])
    assert commands(chinese) == commands(english)


@pytest.mark.parametrize(
    "name", ["2502.05609", "2510.19705", "2601.05724", "uvx hsd-viz --open", "hsd-viz mcp"]
)
def test_the_readme_names_the_same_papers_and_ways_in(name):
    english, chinese = map(text_of, PAIRS["README"])
    assert name in english and name in chinese


def test_the_glossary_has_every_term_in_the_same_order():
    english, chinese = (rows(text_of(path)) for path in PAIRS["glossary"])
    assert [row[1] for row in chinese] == [row[0] for row in english]
    for term, _, meaning in chinese:
        assert CHINESE.search(term) and CHINESE.search(meaning)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_no_paragraph_is_left_in_english(pair):
    prose = re.sub(
        r"^```.*?^```|<[^>]*>|`[^`]*`|\[[^\]]*\]\([^)]*\)", "", text_of(pair[1]), flags=re.S | re.M
    )
    for paragraph in re.split(r"\n\s*\n", prose):
        words = re.findall(r"[A-Za-z]{4,}", paragraph)
        assert len(words) < 12 or CHINESE.search(paragraph), paragraph[:200]
