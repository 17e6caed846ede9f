"""Messages name settings as the front end spells them; only front ends know options."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hsd_viz.cli import build_parser
from hsd_viz.settings.spelling import as_argument, as_option, fill_in, spelled, spelling

PACKAGE = Path(__file__).resolve().parents[2] / "hsd_viz"
#: The command line, what starts other commands, and what spells.
FRONT_ENDS = ("cli", "views/app/classroom.py", "views/app/server.py", "settings/spelling.py")
#: An option, but not within a command that is to be run, as in ``hsd-viz plan --models nano``.
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
COMMAND = re.compile(r"(hsd-viz|jupyter book) [^`'\"]*")


def texts_of(path: Path) -> list[str]:
    """Return the texts of a file: of an f-string without its values."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = []
    within: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            texts.append("".join(str(part.value) for part in parts))
            within.update(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in within:
            texts.append(node.value)
    return texts


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a parser and of its commands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from options_of(command)


@pytest.fixture(scope="module")
def options() -> set[str]:
    return set(options_of(build_parser()))


INNER_FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not path.relative_to(PACKAGE).as_posix().startswith(FRONT_ENDS)
]


def test_only_front_ends_spell_options(options):
    spelt = []
    for path in INNER_FILES:
        for text in texts_of(path):
            names = set(OPTION.findall(COMMAND.sub("", text)))
            spelt += [f"{path.name}: --{name}" for name in names if f"--{name}" in options]
    assert spelt == []


def test_each_setting_that_a_message_names_is_an_option(options):
    named = set()
    for path in INNER_FILES:
        named |= set(re.findall(r"""spelled\(["'](\w+)["']\)""", path.read_text(encoding="utf-8")))
    assert "plain_speed" in named
    assert {as_option(name) for name in named} <= options


def test_a_setting_is_an_argument_of_python_unless_a_front_end_is_set():
    assert spelled("plain_speed") == "`plain_speed`"
    with spelling(as_option):
        assert spelled("plain_speed") == "--plain-speed"
        with spelling(as_argument):
            assert spelled("plain_speed") == "`plain_speed`"
        assert spelled("from_") == "--from"
    assert spelled("plain_speed") == "`plain_speed`"


def test_settings_in_a_text_are_spelled():
    assert fill_in("with {gpu_memory}", as_option) == "with --gpu-memory"
