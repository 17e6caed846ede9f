"""Reports of ``hsd-viz bench`` are known to be measured with the present files, or marked."""

from __future__ import annotations

import json

import pytest

from tools.docs import basis
from tools.docs.results import files

REPORTS = sorted(
    path.stem
    for path in basis.BENCH.glob("*.json")
    if "stacks" in json.loads(path.read_text(encoding="utf-8"))
)
PAGE = (basis.ROOT / "docs" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_marked_where_costs_or_drafters_changed_since(name):
    link = f"[{name}.json](bench/{name}.json)"
    if link not in PAGE:
        pytest.skip("no table is made of it")
    about = PAGE.partition(link)[2].partition(")")[0]
    assert ("with former costs" in about) == basis.is_former(name, files.read(name))


def test_the_first_tables_are_of_the_present_drafters():
    for suite in ("spec-bench", "heldout", "copies", "copies-whole"):
        for name, report in files.reports(suite).values():
            assert not basis.is_former(name, report), name


def test_a_changed_cost_table_makes_a_report_former(monkeypatch):
    report = files.read("heldout-t07-cpu")
    assert not basis.is_former("heldout-t07-cpu", report)
    monkeypatch.setattr(basis, "present", lambda family: "other")
    assert basis.is_former("heldout-t07-cpu", report)
    assert not basis.is_former("rules-cpu", files.read("rules-cpu"))
