"""``docs/llms.txt``: its links lead to pages that exist, and its commands are commands."""

from __future__ import annotations

import re
from pathlib import Path

from hsd_viz.cli import COMMANDS
from hsd_viz.stack import parse

DOCS = Path(__file__).resolve().parent.parent / "docs"
TEXT = (DOCS / "llms.txt").read_text(encoding="utf-8")


def test_it_has_the_form_that_readers_expect():
    lines = [line for line in TEXT.splitlines() if line]
    assert lines[0].startswith("# ")
    assert lines[1].startswith("> ")
    assert TEXT.count("\n## ") >= 3


def test_its_links_exist():
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    assert len(links) > 15
    assert [link for link in links if not (DOCS / link).is_file()] == []


def test_its_commands_and_stacks_are_valid():
    assert set(re.findall(r"hsd-viz ([a-z]\w*)", TEXT)) <= set(COMMANDS)
    for stack in re.findall(r"`([^`]*> target|target)`", TEXT):
        parse(stack)
