"""The generated reference pages are up to date and complete."""

from __future__ import annotations

import argparse

import pytest

import hsd_viz
from hsd_viz.cli import build_parser
from tools import reference


@pytest.mark.parametrize(("name", "render"), [("cli", reference.cli_reference), ("python", reference.python_reference)])
def test_the_page_is_up_to_date(name, render, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = (reference.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert text == render(), f"docs/reference/{name}.md is out of date: run `python -m tools.reference`"


def test_every_command_and_option_is_documented():
    text = reference.cli_reference()

    def check(parser):
        assert f"`{parser.prog}`" in text
        for action in parser._actions:
            assert all(f"`{option}" in text for option in action.option_strings if option not in ("-h", "--help"))
            for child in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
                check(child)

    check(build_parser())


def test_every_public_name_is_documented():
    text = reference.python_reference()
    assert all(f"`{name}`" in text or f"`hsd_viz.{name}`" in text for name in hsd_viz.__all__ if name != "__version__")
    assert ":func:`" not in text and "``" not in text.replace("```", "")
