"""The list of mutants is of faults that can be applied, and the tool tells a killed one from one that survives."""

import re

import pytest

from tools.mutants import LIST, ROOT, Mutant, listed, main


def test_every_mutant_can_be_applied_and_names_a_test():
    rows = [
        line
        for line in LIST.read_text(encoding="utf-8").splitlines()
        if line.startswith(("| hsd_viz", "| js", "| benchmarks"))
    ]
    found = listed()
    assert len(found) == len(rows) >= 60
    for mutant in found:
        source = (ROOT / mutant.file).read_text(encoding="utf-8")
        assert mutant.applied(source) != source
        if mutant.file.endswith(".py"):
            compile(mutant.applied(source), mutant.file, "exec")
        file, _, test = mutant.test.partition("::")
        defined = (
            rf"^def {re.escape(test.split('[')[0])}\b" if file.endswith(".py") else re.escape(test)
        )
        assert re.search(defined, (ROOT / file).read_text(encoding="utf-8"), re.M)


def test_a_text_that_is_gone_is_one_line():
    with pytest.raises(ValueError, match=r"x\.py has 0 times 'a': update tests/mutants.md"):
        Mutant("x.py", "a", "b", "t").applied("c")


@pytest.mark.parametrize("room", ["verify", "hsd_viz", "js/rule_lab", ""])
def test_a_room_without_faults_is_refused_in_one_line(room, capsys):
    assert main(["--only", "decoding", "--only", room]) == 2
    out, err = capsys.readouterr()
    assert (
        not out
        and err.startswith(f"there are no faults of {room!r}: use --only with")
        and err.count("\n") == 1
    )


def test_every_room_has_faults_and_only_its_own():
    rooms = {mutant.room for mutant in listed()}
    packages = {path.parent.name for path in (ROOT / "hsd_viz").glob("*/__init__.py")}
    assert packages <= rooms and {"js", "stack"} <= rooms
    assert {
        Mutant(f"hsd_viz/{file}", "", "", "").room for file in ("native/src/a.hpp", "native/b.py")
    } == {"native"}


@pytest.mark.slow
def test_every_mutant_is_killed():
    assert main([]) == 0
