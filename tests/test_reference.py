"""The generated reference pages are up to date and complete."""

from __future__ import annotations

import argparse

import pytest

import hsd_viz
from hsd_viz.cli import build_parser
from tools import reference


@pytest.mark.parametrize("path", reference.PAGES, ids=lambda path: path.name)
def test_the_file_is_up_to_date(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = path.read_text(encoding="utf-8")
    assert text == reference.PAGES[path](), (
        f"{path.name} is out of date: run `python -m tools.reference`"
    )


def test_every_command_and_option_is_documented():
    text = reference.cli_reference()

    def check(parser):
        assert f"`{parser.prog}`" in text
        for action in parser._actions:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    assert f"`{option}" in text
            for child in (
                action.choices.values() if isinstance(action, argparse._SubParsersAction) else ()
            ):
                check(child)

    check(build_parser())


def test_every_public_name_is_documented():
    text = reference.python_reference()
    for name in hsd_viz.__all__:
        if name != "__version__":
            assert f"`{name}`" in text or f"`hsd_viz.{name}`" in text
    assert ":func:`" not in text
    assert "``" not in text.replace("```", "")
