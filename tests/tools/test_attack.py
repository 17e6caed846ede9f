"""The attack on every door, in small, and that it notices faults."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from hsd_viz.errors import UserError
from tools.attack import run
from tools.attack.door import Door, command

#: Inputs of each door in the everyday tests.
COUNT = 20


@pytest.mark.parametrize("name", run.DOORS)
def test_no_input_of_a_door_is_a_fault(name):
    results = list(run.attack(name, COUNT, seed=1, seconds=60))
    assert len(results) > COUNT // 4
    assert not [(number, error) for number, kind, error in results if kind == "uncaught"]


@pytest.mark.slow
@pytest.mark.parametrize("name", run.DOORS)
def test_no_input_of_a_longer_attack_is_a_fault(name):
    results = list(run.attack(name, 150, seed=2, seconds=600))
    assert not [(number, error) for number, kind, error in results if kind == "uncaught"]


class Panic(BaseException):
    """What a library in Rust raises."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (None, "opened"),
        (UserError("one line"), "refused"),
        (UserError("two\nlines"), "uncaught"),
        (ValueError("a fault"), "uncaught"),
        (Panic("a fault"), "uncaught"),
        (SystemExit(2), "uncaught"),
    ],
)
def test_outcomes(error, kind):
    def attempt(content: bytes) -> None:
        if error is not None:
            raise error

    assert run.outcome(Door(lambda chance: b"", attempt), b"")[0] == kind


def test_a_command_that_reports_a_fault_is_uncaught(tmp_path, monkeypatch):
    import hsd_viz.cli

    door = Door(lambda chance: b"", command(tmp_path, "x.json", "doctor", "FILE"))
    assert run.outcome(door, b"[]")[0] == "refused"
    for code in (0, 1, 130):
        monkeypatch.setattr(hsd_viz.cli, "main", lambda words, code=code: code)
        assert run.outcome(door, b"")[0] == ("uncaught" if code else "opened")


def test_the_same_number_is_the_same_input():
    made = []
    for _ in range(2):
        door = run.DOORS["logs"]
        chance = Random("logs 1 7")
        made.append(door(Path("x")).make(chance))
    assert made[0] == made[1]
