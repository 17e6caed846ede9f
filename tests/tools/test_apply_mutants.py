"""A fault is killed by a test that fails, that ends its process, or that does not end."""

from __future__ import annotations

import pytest

from tools.mutants.apply import PATIENCE, verdict
from tools.mutants.lists import Mutant

COUNTER = """
import os
import threading


def count_to(limit):
    count = 0
    while count < limit:
        count += 1
    return count
"""
TEST = """
from counter import count_to


def test_it_counts():
    assert count_to(3) == 3
"""


@pytest.fixture
def project(tmp_path):
    """A project of one module with its test."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "counter.py").write_text(COUNTER)
    (root / "test_counter.py").write_text(TEST)
    return root


@pytest.mark.parametrize(
    ("fault", "patience", "expected"),
    [
        pytest.param("count += 2", PATIENCE, "killed", id="a wrong result"),
        pytest.param("os.abort()", PATIENCE, "killed", id="the process ends"),
        pytest.param("threading.Event().wait()", 3, "killed", id="it does not end"),
        pytest.param("count = count + 1", PATIENCE, "survived", id="the same result"),
    ],
)
def test_the_verdict_on_a_fault(fault, patience, expected, project):
    mutant = Mutant("counter.py", "count += 1", fault, "test_counter.py::test_it_counts")

    assert verdict(mutant, project, patience) == expected
    assert (project / "counter.py").read_text() == COUNTER
