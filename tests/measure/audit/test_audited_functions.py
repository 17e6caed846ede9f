"""The files of ``hsd-viz audit function``: each is the one that was named, and what fails in it is
reported as its own.
"""

from __future__ import annotations

import pytest

from hsd_viz.cli import main

LEVELS = {"right": -1, "wrong": 0}


def decoder(level: int) -> str:
    """Return a file with a decoder that samples from the model of a level; -1 is the target."""
    return (
        "def decode(task):\n"
        "    text = list(task.prompt)\n"
        "    while not task.ended(text):\n"
        f"        text.append(task.random.choice(3, p=task.row({level}, text)))\n"
        "    return text[len(task.prompt):]\n"
    )


@pytest.mark.parametrize("name", ["mydecoder.py", "random.py"])
def test_each_file_has_its_own_verdict(name, tmp_path, capsys):
    """Two files of one name, which may be that of a module of Python."""
    functions = []
    for folder, level in LEVELS.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(decoder(level))
        functions.append(f"{tmp_path}/{folder}/{name}:decode")
    assert main(["audit", "function", *functions]) == 1
    right, wrong, *_ = capsys.readouterr().out.splitlines()
    assert right.startswith(f"{functions[0]}: lossless")
    assert "not lossless" in wrong


def test_a_file_finds_its_neighbours_and_has_a_module(tmp_path):
    (tmp_path / "neighbour_of_decoder.py").write_text(decoder(-1))
    (tmp_path / "with_neighbour.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from neighbour_of_decoder import decode\n"
        "@dataclass\n"
        "class State:\n"
        "    text: list[int]\n"
    )
    assert main(["audit", "function", f"{tmp_path}/with_neighbour.py:decode"]) == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def decode(task) return []", "SyntaxError: "),
        ("decode = lost", "NameError: name 'lost' is not defined"),
        ("import sys\nsys.exit(0)", "SystemExit: 0"),
        ("import no_such_package", "No module named 'no_such_package'"),
        (None, "No such file"),
    ],
)
def test_a_file_that_fails_is_bad_input(text, reason, tmp_path, capsys):
    file = tmp_path / "broken.py"
    if text is not None:
        file.write_text(text)
    assert main(["audit", "function", f"{file}:decode"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"hsd-viz: cannot import {file}: ")
    assert reason in line


def test_a_decoder_that_exits_has_no_verdict(tmp_path, capsys):
    file = tmp_path / "exits.py"
    file.write_text("def decode(task): raise SystemExit(0)")
    assert main(["audit", "function", f"{file}:decode"]) == 2
    assert f"{file}:decode failed: SystemExit: 0" in capsys.readouterr().err
