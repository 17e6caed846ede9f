"""What a report answers in words, and what it warns of: from the saved reports, and from reports that were tampered with."""

import gzip
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from hsd_viz.bench.page import COLUMNS, ONCE, answer, page, tables, text_parts, warnings
from hsd_viz.bench.report import Report, impossible, kind, read_report
from hsd_viz.tables import Table
from hsd_viz.terminal import plain

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "reports"


@pytest.fixture
def report():
    """A report whose figures do not change when the published ones are measured again."""
    return read_report(gzip.decompress((FIXTURES / "heldout-greedy.json.gz").read_bytes()).decode(), "x")


def words(report) -> str:
    return "".join(text for text, _ in answer(report))


def test_the_answer_names_the_fastest_and_who_may_be_as_fast(report):
    best, second, third = report.ranked[:3]
    least, name = best["speedup_over_plain_ci"][0], "speedup_over_plain"
    assert third[name] < least < second[name]
    said, low = words(report), best["low_repetition"]
    assert said.startswith(f"Fastest: {best['stack']}, {best[name]:.2f}×")
    assert f"on the {low['outputs']} prompts" in said and f"{low[name]:.2f}×" in said
    assert second["stack"] in said and third["stack"] not in said
    assert [text for text, strong in answer(report) if strong] == [best["stack"]]


def test_the_answer_says_when_nothing_is_faster(report):
    report = replace(report, stacks=tuple(s for s in report.stacks if kind(s["stack"]) in ("plain", "hf")))
    assert words(report).startswith("Nothing measured is faster than plain decoding; the fastest that drafts: hf-")
    assert answer(replace(report, stacks=report.stacks[:1])) == []


def test_a_busy_machine_and_impossible_speed_ups_are_warned_of_everywhere(report):
    assert list(warnings(report)) == []
    quiet, data = report, report.to_dict()
    data["machine"]["load_average"] = data["machine"]["cores"] + 1.5
    slow = next(s for s in data["stacks"] if s["stack"] == "lookup > target")
    slow["speedup_over_plain"] = slow["mean_acceptance_length"] * 1.2
    report = msgspec.convert(data, Report)
    busy, wrong = warnings(report)
    rows = {row[0]: row[1] for row in next(iter(tables(report))).cells()}
    assert rows["lookup > target"] == "-" != rows["db > target"]
    assert "2 cores (load average 3.5" in busy and "lookup > target" in wrong and "db > target" not in wrong
    for shown in (page(report), plain(text_parts(report))):
        assert "Not plausible" in shown or "not plausible" in shown
        assert "load average 3.5" in shown
    assert "plausible" not in page(quiet)


def test_no_draft_is_faster_than_its_acceptance_length():
    assert impossible(2.07, 1.80) and impossible(5.75, 3.43)
    assert not any(impossible(*pair) for pair in ((1.02, 1.00), (1.0, 1.0), (None, 2.0), (2.0, None)))


def test_rows_stand_by_speed_up_and_columns_by_importance(report):
    first = next(iter(tables(report)))
    assert tuple(first.rows[0]) == ("stack", *(name for name in COLUMNS if name not in ("repetition", "same as plain")))
    speeds = [float(row[1].split(" [")[0]) for row in first.cells()[1:]]
    assert speeds == sorted(speeds, reverse=True)
    assert list(first.kinds) == [kind(row[0]) for row in first.rows[1:]] and {"plain", "hf"} < set(first.kinds)


def test_what_is_the_same_for_all_is_noted_once(report):
    first = next(iter(tables(report)))
    assert first.note == "the same for all stacks: repetition 52%, same as plain 24/24"
    rows = [["stack", "repetition", "runtime", "n"], ["a", 0.51, "native", 1], ["b", 0.52, "native", 1]]
    rows.append(["c", None, None, None])
    shown = Table("", rows, forms={"repetition": ("{:.0%}", 1.0)})
    assert shown.dense(ONCE).cells() == shown.cells() and shown.cells()[3] == ["c", "-", "-", "-"]
    assert Table("", rows[:3]).dense(ONCE).rows == [["stack", "repetition", "n"], ["a", 0.51, 1], ["b", 0.52, 1]]


def test_an_impossible_speed_up_is_neither_the_answer_nor_a_bar(report):
    data = report.to_dict()
    best = max(data["stacks"], key=lambda s: s["speedup_over_plain"] or 0)
    best["speedup_over_plain"] = best["mean_acceptance_length"] * 2
    disturbed = msgspec.convert(data, Report)
    assert best["stack"] in words(report) and best["stack"] not in words(disturbed)
    first = next(tables(disturbed))
    bars = {row[0]: widths[1] for row, widths in zip(first.rows[1:], first.widths(), strict=True)}
    assert bars.pop(best["stack"]) == 0 and max(bars.values()) <= 1 and min(bars.values()) > 0
    for stack in data["stacks"]:
        stack["speedup_over_plain"] = stack["mean_acceptance_length"] * 2
    assert "every one measured is impossible" in words(msgspec.convert(data, Report))


def test_no_interval_is_shown_for_few_prompts(report):
    data = report.to_dict()
    for stack in data["stacks"]:
        stack["outputs"] = 4
    few = msgspec.convert(data, Report)
    assert "[" in words(report) and "[" not in words(few) and "cannot show how far" in words(few)
    assert few.to_dict() == data, "the file keeps what was measured"
