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
    found = listed([])
    assert len(found) == len(rows) >= 60
    for mutant in found:
        source = (ROOT / mutant.file).read_text(encoding="utf-8")
        assert mutant.applied(source) != source
        if mutant.file.endswith(".py"):
            compile(mutant.applied(source), mutant.file, "exec")
        file, _, test = mutant.test.partition("::")
        defined = rf"^def {re.escape(test.split('[')[0])}\b" if file.endswith(".py") else re.escape(test)
        assert re.search(defined, (ROOT / file).read_text(encoding="utf-8"), re.M)


def test_a_text_that_is_gone_is_one_line():
    with pytest.raises(ValueError, match=r"x\.py has 0 times 'a': update tests/mutants.md"):
        Mutant("x.py", "a", "b", "t").applied("c")


@pytest.mark.slow
def test_every_mutant_is_killed():
    assert main([]) == 0
