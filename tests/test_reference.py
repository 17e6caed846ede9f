"""The generated reference pages are up to date and complete."""

from __future__ import annotations

import argparse

import pytest

import hsd_viz
from hsd_viz.cli import build_parser
from tools.reference.__main__ import PAGES
from tools.reference.commands import cli_reference
from tools.reference.python import python_reference


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_file_is_up_to_date(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = path.read_text(encoding="utf-8")
    assert text == PAGES[path](), f"{path.name} is out of date: run `python -m tools.reference`"


def test_every_command_and_option_is_documented():
    text = cli_reference()

    def check(parser):
        assert f"`{parser.prog}`" in text
        for action in parser._actions:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    assert f"`{option}" in text
            if isinstance(action, argparse._SubParsersAction):
                for child in action.choices.values():
                    check(child)

    check(build_parser())


def test_every_public_name_is_documented():
    text = python_reference()
    for name in hsd_viz.__all__:
        if name != "__version__":
            assert f"`{name}`" in text or f"`hsd_viz.{name}`" in text
    assert ":func:`" not in text
    assert "``" not in text.replace("```", "")
