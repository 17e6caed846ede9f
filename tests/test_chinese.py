"""The Chinese README, glossary and game: commands, links and terms are those of the English
ones, and nothing is missing.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from tests.rows import column

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "reference"
#: An English page, and the Chinese one.
PAIRS = {
    "README": (ROOT / "README.md", ROOT / "README.zh-CN.md"),
    "glossary": (GLOSSARY / "glossary.md", GLOSSARY / "glossary.zh-CN.md"),
}
GAME = ROOT / "js" / "game"
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
    return [list(map(str.strip, line.strip("|").split("|"))) for line in lines[2:]]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_each_page_links_the_other(pair):
    english, chinese = pair
    assert f"[简体中文]({chinese.name})" in text_of(english)
    assert f"[English]({english.name})" in text_of(chinese)


def test_the_readme_has_the_same_commands():
    english, chinese = map(text_of, PAIRS["README"])
    assert commands(chinese) == commands(english)


def sections(text: str) -> int:
    return len(re.findall(r"^## ", text, re.M))


def code(text: str) -> str:
    """Return the Python code of a page, without its comments and line breaks."""
    [block] = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    return ast.unparse(ast.parse(block))


def files(text: str) -> set[str]:
    """Return the files and addresses that a page links or shows, without those of the language."""
    linked = set(re.findall(r'\]\(([^)#]+)|src(?:set)?="([^"]+)"', text))
    names = {first or second for first, second in linked}
    return {name for name in names if not name.startswith(("README", "docs/reference/glossary"))}


def figures(text: str) -> set[str]:
    """Return the decimals, percentages and sizes of a page."""
    return set(re.findall(r"\d+(?:\.\d+)?(?: ?%| MB)|\d+\.\d+", text))


@pytest.mark.parametrize("part", [sections, code, files, figures])
def test_the_readme_has_the_same_parts(part):
    english, chinese = map(text_of, PAIRS["README"])
    assert part(chinese) == part(english)


@pytest.mark.parametrize(
    "name", ["2502.05609", "2510.19705", "2601.05724", "uvx hsd-viz --open", "hsd-viz mcp"]
)
def test_the_readme_names_the_same_papers_and_ways_in(name):
    english, chinese = map(text_of, PAIRS["README"])
    assert name in english
    assert name in chinese


def test_the_glossary_has_every_term_in_the_same_order():
    english, chinese = (rows(text_of(path)) for path in PAIRS["glossary"])
    assert [row[1] for row in chinese] == [row[0] for row in english]
    for term, _, meaning in chinese:
        assert CHINESE.search(term)
        assert CHINESE.search(meaning)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_no_paragraph_is_left_in_english(pair):
    prose = re.sub(
        r"^```.*?^```|<[^>]*>|`[^`]*`|\[[^\]]*\]\([^)]*\)", "", text_of(pair[1]), flags=re.S | re.M
    )
    for paragraph in re.split(r"\n\s*\n", prose):
        words = re.findall(r"[A-Za-z]{4,}", paragraph)
        assert len(words) < 12 or CHINESE.search(paragraph), paragraph[:200]


# --- the game -------------------------------------------------------------------------------------


def english_of(source: Path) -> dict[str, str]:
    """Return what the game or its dart board says in English, from its source."""
    text = text_of(source)
    body = text[text.index("ENGLISH = {") : text.index("};")]
    # Long texts are written in pieces.
    body = re.sub(r'" \+\s+"', "", body)
    return dict(re.findall(r'^  (\w+):\s+"(.*)",$', body, re.M))


def chinese_of_the_game() -> dict[str, dict[str, str]]:
    return json.loads(text_of(ROOT / "hsd_viz" / "views" / "game.zh-CN.json"))


def places(text: str) -> set[str]:
    """Return the names of the values in a text."""
    return set(re.findall(r"\{(\w+)", text))


@pytest.mark.parametrize(
    ("part", "source"),
    [("strings", GAME / "strings.ts"), ("darts", GAME.parent / "darts" / "strings.ts")],
    ids=["game", "darts"],
)
def test_each_text_of_the_game_is_in_chinese(part, source):
    english = english_of(source)
    chinese = chinese_of_the_game()[part]
    assert list(chinese) == list(english)
    for key, text in english.items():
        assert places(chinese[key]) == places(text), key
        assert CHINESE.search(chinese[key]) or not re.search("[A-Za-z]{3}", text), key


def test_each_text_of_the_game_has_its_lesson_in_chinese():
    games = json.loads(text_of(ROOT / "hsd_viz" / "views" / "page.json"))["about"]["games"]
    lessons = chinese_of_the_game()["lessons"]
    assert list(lessons) == column(games, "name")
    for lesson in lessons.values():
        assert CHINESE.search(lesson)


def test_the_game_has_no_words_beside_those_that_are_translated():
    """Text between tags, or in a label, comes from ``strings``."""
    sources = [*GAME.glob("*.ts"), *(GAME.parent / "darts").glob("*.ts")]
    text = "\n".join(text_of(path) for path in sources if not path.name.endswith(".test.ts"))
    between = re.findall(r"[^=-]>\s*([A-Za-z]{3,}[^<>$`{}()]*)</", text)
    labels = re.findall(r'(?:aria-label|placeholder|title)="([^"$]*)"', text)
    assert [*between, *labels] == []
